"""Every page at both widths, clicked through like a newcomer would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.serve.browser.plant import Running
from tests.serve.browser.watching import Watched, drawn, open_page, sideways

pytestmark = pytest.mark.slow


@pytest.fixture(params=[(1280, False), (390, True)], ids=["1280-light", "390-dark"])
def watched(chromium, plant_service, request) -> Iterator[Watched]:
    width, dark = request.param
    made = open_page(chromium, width=width, dark=dark)
    made.page.goto(plant_service.url)
    yield made
    made.page.context.close()


def keep(watched: Watched, artifacts: Any, name: str) -> None:
    page = watched.page
    width = page.viewport_size["width"]
    page.screenshot(path=artifacts / f"{name}-{width}.png", full_page=True)
    assert sideways(page) == 0, f"{name} scrolls sideways at {width}"


def test_click_through(watched, artifacts):
    page = watched.page
    page.wait_for_selector(".source .spark")
    page.wait_for_selector("#link-state:has-text('Live')")
    keep(watched, artifacts, "overview")

    page.click(".source")
    page.wait_for_selector("h1:has-text('plant')")
    drawn(page, "[aria-label^='Score of plant'] canvas")
    drawn(page, "[aria-label^='pump_vibration,'] canvas")
    page.wait_for_selector(".flag")
    page.click("summary:has-text('Signals')")
    assert page.locator(".checks label").all_inner_texts()[3].strip() == "tank_level <m>"
    page.check("label:has-text('tank_level <m>') input")
    drawn(page, "[aria-label^='tank_level <m>,'] canvas")
    page.check("label:has-text('tank, hot & deep') input")
    drawn(page, "[aria-label^='tank, hot & deep,'] canvas")
    page.wait_for_selector("section[aria-label=Drift] .culprits, section[aria-label=Drift] .state")
    keep(watched, artifacts, "source")

    page.click("nav >> text=Incidents")
    page.wait_for_selector(".incident-list a")
    keep(watched, artifacts, "incidents")
    page.select_option("#which", "open")
    # Other tests may have left one open.
    page.wait_for_selector(".incident-list a.open, :text('No incident matches.')")
    page.select_option("#which", "closed")
    page.wait_for_selector(".incident-list:not(:has(a.open)) a:has(.grade.high)")
    page.click(".incident-list a:has(.grade.high)")
    page.wait_for_selector("h1:has-text('pump_vibration')")
    drawn(page, "[aria-label^='pump_vibration during'] canvas")
    page.wait_for_selector(".fact:has-text('Likely origin: pump_vibration')")
    page.wait_for_selector("svg.flow .guilty")
    assert page.locator(".culprits .who b").first.inner_text() == "pump_vibration"
    keep(watched, artifacts, "incident")

    page.click("nav >> text=Models")
    page.wait_for_selector("text=active for plant")
    keep(watched, artifacts, "models")
    page.click(".incident-list a >> nth=0")
    page.wait_for_selector("svg.map rect.plus, svg.map rect.minus")
    page.wait_for_selector("svg.net .tie")
    keep(watched, artifacts, "model")

    page.click("nav >> text=Health")
    page.wait_for_selector("text=No connector is configured.")
    keep(watched, artifacts, "health")

    page.evaluate("location.hash = '#/nowhere'")
    page.wait_for_selector("text=This address leads nowhere.")
    assert watched.complaints == []
    assert watched.hosts == {"127.0.0.1"}


def test_the_theme_stays_chosen(watched):
    page = watched.page
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#themer")
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    page.reload()
    page.wait_for_selector(".source")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after


def test_an_unknown_incident_is_an_error_that_says_so(chromium, plant_service: Running):
    watched = open_page(chromium)
    watched.page.goto(f"{plant_service.url}/#/incidents/i_nothing")
    watched.page.wait_for_selector("[role=alert] >> text=there is no incident")
    watched.forgive("404")
    assert watched.complaints == []
    watched.page.context.close()
