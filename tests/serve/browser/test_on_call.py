"""What somebody on call does: find the source, see what is wrong, say who looks after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.browser.plant import STEP, Running, now, rows_until, serving
from tests.serve.browser.watching import open_page, sideways

pytestmark = pytest.mark.slow

LONG = "a-source-whose-name-nobody-can-break-" + 50 * "x"
SETTINGS = """
[runbooks]
"*" = "https://wiki.example.org/what-to-do"

[models]
boiler = "{model}"
{long} = "{model}"
"""


@pytest.fixture(scope="module")
def fleet(plant_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("fleet") / "data"
    settings = SETTINGS.format(model=plant_model, long=LONG)
    with serving(folder, plant_model, settings=settings) as running:
        running.post(rows_until(now() - STEP, rows=300))
        running.post(rows_until(now() - STEP, rows=300), LONG)
        # The last rows are those of the fault.
        running.post(rows_until(now() - STEP, rows=445), "boiler")
        yield running


@pytest.mark.parametrize("width", [1280, 390])
def test_the_overview_says_what_is_wrong_with_few_requests(chromium, fleet, artifacts, width):
    watched = open_page(chromium, width=width, dark=width == 390)
    page = watched.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("/api/v1")[2]))
    page.goto(fleet.url)
    page.wait_for_selector(".source .spark")
    first = page.locator(".source").first.inner_text()
    assert "boiler" in first
    assert "alarm" in first
    assert "pump_vibration, since " in first.replace("\n", " ")
    assert len([path for path in asked if path.startswith("/sources")]) == 1
    assert page.locator(".period").inner_text().startswith("1 of 3 sources in alarm.")
    page.fill("#search", "boil")
    page.wait_for_function("document.querySelectorAll('.source:not([hidden])').length === 1")
    page.fill("#search", "")
    page.select_option("#which", "other")
    page.wait_for_function("document.querySelectorAll('.source:not([hidden])').length === 2")
    page.screenshot(path=artifacts / f"on-call-overview-{width}.png", full_page=True)
    for name in ("#/", f"#/sources/{LONG}", "#/models", "#/incidents"):
        page.goto(f"{fleet.url}/{name}")
        page.wait_for_selector("main .card")
        page.wait_for_timeout(500)
        assert sideways(page) == 0, name
    assert watched.complaints == []
    page.context.close()


def test_an_incident_is_looked_after(chromium, fleet):
    watched = open_page(chromium)
    page = watched.page
    page.goto(f"{fleet.url}/#/incidents?state=open")
    page.select_option("#grade", "high")
    page.click(".incident-list a.open")
    page.click("button:has-text('Acknowledge')")
    page.wait_for_selector("text=Acknowledged by this machine")
    page.fill("#assignee", "Ada")
    page.click("button:has-text('Assign')")
    page.fill("#note", "the pump was <b>loud</b>")
    page.click("button:has-text('Add')")
    page.wait_for_selector(".notes li:has-text('the pump was <b>loud</b>')")
    assert page.locator("a:has-text('Runbook')").get_attribute("href") == (
        "https://wiki.example.org/what-to-do"
    )
    page.click("nav >> text=Incidents")
    page.wait_for_selector(".incident-list a.open:has-text('acknowledged'):has-text('Ada')")
    page.click("nav >> text=Health")
    page.wait_for_selector(".verdict:has-text('All is well.')")
    # A % that stands for nothing is an address that leads nowhere, not a blank page.
    page.evaluate("location.hash = '#/sources/%E0%A4%A'")
    page.wait_for_selector("text=This address leads nowhere.")
    assert watched.complaints == []
    page.context.close()
