"""The page of an incident draws its spread along the influences that the settings name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve.browser.plant import FAULT, SIGNALS, STEP, now, rows_until, serving
from tests.serve.browser.watching import open_page

pytestmark = pytest.mark.slow

SETTINGS = """
[structure.plant]
influences = "edges.csv"
"""
EDGES = (
    "cause,effect\npump_vibration,pump_power\npump_power,tank_level <m>\ninlet_flow,pump_power\n"
)


def test_who_acted_on_whom_is_drawn_in_order(chromium, plant_model, artifacts, tmp_path: Path):
    (tmp_path / "edges.csv").write_text(EDGES)
    rows = rows_until(now() - 20 * STEP)
    for number, row in enumerate(rows[FAULT]):
        values = row["values"]
        values["pump_power"] += 4 if number < 3 else -12  # not from the first row on
        if number >= 6:
            values[SIGNALS[3]] += 12
    with serving(tmp_path / "data", plant_model, settings=SETTINGS) as running:
        running.post(rows)
        with running.client() as client:
            found = client.get("/incidents").json()["items"]
        worst = max(found, key=lambda one: one["peak"])
        for width in (1280, 390):
            watched = open_page(chromium, width=width, dark=width == 390)
            page = watched.page
            page.goto(f"{running.url}/#/incidents/{worst['id']}")
            card = page.locator("section", has_text="Along what you know").last
            card.locator("svg.flow").wait_for()
            assert card.locator("path.tie").count() == 2
            told = card.locator("g.box").all_text_contents()
            assert "first" in told[0]
            assert all(" later" in one for one in told[1:])
            card.screenshot(path=artifacts / f"known-influences-{width}.png")
            assert watched.complaints == []
            page.close()
