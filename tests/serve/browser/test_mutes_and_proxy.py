"""Mutes on the page, with the page below a path of a real nginx."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.serve.browser.plant import STEP, now, rows_until, serving
from tests.serve.browser.watching import open_page, sideways
from tests.serve.core.test_proxied import nginx, page_configuration

SETTINGS = """
root_path = "/alora"
hosts = ["127.0.0.1"]

[[notify.webhook]]
name = "pager"
url = "http://127.0.0.1:9/"
"""


@pytest.fixture(scope="module")
def site(plant_model, tmp_path_factory):
    """A source in alarm, as nginx shows it."""
    folder = tmp_path_factory.mktemp("proxied")
    with serving(folder / "data", plant_model, settings=SETTINGS) as running:
        running.post(rows_until(now() - STEP, rows=445))
        locations = page_configuration(urlsplit(running.url).port)
        with nginx(folder / "nginx", locations) as url:
            yield f"{url}/alora", running


@pytest.mark.parametrize("width", [1280, 390])
def test_a_window_is_made_and_undone(chromium, site, artifacts, width):
    url, _ = site
    watched = open_page(chromium, width=width, dark=width == 390)
    page = watched.page
    page.goto(url)
    assert page.url.endswith("/alora/") or "/alora/#" in page.url
    page.wait_for_selector("#link-state[data-state=live]")
    page.click("nav >> text=Health")
    page.wait_for_selector(".verdict:has-text('The channel pager cannot be reached')")
    page.click("button:has-text('Send a test')")
    page.wait_for_selector(".toast:has-text('pager did not take it: the receiver does not answer')")
    page.screenshot(path=artifacts / f"pager-down-{width}.png", full_page=True)
    page.click("text=Mutes and maintenance windows")
    page.wait_for_selector("text=Nothing is muted.")
    page.wait_for_selector("#mute-source option[value=plant]", state="attached")
    page.select_option("#mute-source", "plant")
    page.select_option("#mute-hours", "8")
    page.fill("#note", "the <b>pump</b> is exchanged")
    page.click("button.primary:has-text('Mute')")
    page.wait_for_selector(
        ".culprits li:has-text('the <b>pump</b> is exchanged'):has-text('active')"
    )
    assert sideways(page) == 0
    page.screenshot(path=artifacts / f"mutes-{width}.png", full_page=True)
    page.click("button:has-text('Undo')")
    page.wait_for_selector("text=Nothing is muted.")
    assert watched.complaints == []
    page.context.close()


def test_a_pattern_is_muted_from_its_incident(chromium, site, artifacts):
    url, running = site
    watched = open_page(chromium)
    page = watched.page
    page.goto(f"{url}/#/incidents?state=open")
    page.click(".incident-list a.open:has-text('pump')")
    page.select_option("#mute-hours", "24")
    page.click("[aria-label=Mute] button:has-text('Mute')")
    page.wait_for_selector("text=Incidents like it are muted until")
    page.screenshot(path=artifacts / "incident-muted.png", full_page=True)
    with running.client() as client:
        [mute] = client.get("/mutes").json()
        assert mute["what"].startswith("pump_")
        assert mute["source"] == "plant"
    page.click("[aria-label=Mute] button:has-text('Undo')")
    page.wait_for_selector("text=Tell nobody of this pattern for")
    with running.client() as client:
        assert client.get("/mutes").json() == []
    assert watched.complaints == []
    page.context.close()
