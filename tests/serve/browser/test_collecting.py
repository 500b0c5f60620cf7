"""From no model to live, on the page alone."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from tests.serve.browser.plant import STEP, now, rows_until, serving, wait_for
from tests.serve.browser.watching import open_page, sideways, told


@pytest.fixture
def watched(chromium: Any) -> Any:
    found = open_page(chromium)
    yield found
    found.page.context.close()


@pytest.mark.slow
def test_a_source_collects_learns_and_goes_live(
    watched: Any, plant_model: Path, tmp_path: Path, artifacts: Path
) -> None:
    page = watched.page
    with serving(tmp_path / "data", plant_model) as running:
        page.goto(running.url)
        page.click("text=Add a source")
        page.fill("#source-name", "line-3")
        page.click("text=Collect rows")
        told(page, "line-3 collects rows.")
        page.wait_for_selector("h1:has-text('line-3')")
        page.wait_for_selector("text=Nothing has come in yet.")
        rows = rows_until(now() - 20 * STEP)
        for row in rows:
            row["values"]["broken"] = None
        gone = len(rows) // 3
        sent = rows[:gone] + rows[gone + 60 :]
        with running.client() as client:
            assert client.post("/sources/line-3/rows", json={"rows": sent}).status_code == 200
            # The page sees by itself that rows have come.
            page.wait_for_selector(".period-facts >> text=Rows")
            page.wait_for_selector(".period-facts >> text=/1: .* from/")
            page.wait_for_selector("li:has-text('broken') >> text=it will be left out")
            assert page.locator(".period-signals svg").count() >= 2
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 900})
                assert sideways(page) == 0
                page.screenshot(path=artifacts / f"collecting-{width}.png", full_page=True)
            page.set_viewport_size({"width": 1280, "height": 900})
            half = dt.datetime.fromisoformat(rows[len(rows) // 2]["time"])
            page.evaluate(
                """(at) => {
                  const input = document.getElementById("fit-end"), t = new Date(at);
                  t.setMinutes(t.getMinutes() - t.getTimezoneOffset());
                  input.value = t.toISOString().slice(0, 16);
                  input.dispatchEvent(new Event("change"));
                }""",
                half.isoformat(),
            )
            page.click("button:has-text('Fit from this period')")
            told(page, "Training has begun.")
            page.wait_for_selector(".fits >> text=would alarm", timeout=400_000)
            page.click(".fits button:has-text('Activate')")
            told(page, "is scored now")
            # The page is that of a live source now.
            page.wait_for_selector("h2:has-text('Timeline')")
            shown = wait_for(lambda: (s := client.get("/sources/line-3").json())["score"] and s)
            assert shown["state"] in {"ok", "alarm", "warm-up"}
            page.goto(f"{running.url}/#/")
            page.wait_for_selector(".source:has-text('line-3') .spark")
        assert watched.complaints == []
