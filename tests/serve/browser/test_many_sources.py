"""The overview of many sources: a part of the tiles, and news of few asks for few."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve.browser.plant import STEP, now, rows_until, serving
from tests.serve.browser.watching import open_page, sideways

pytestmark = pytest.mark.slow

# With the plant itself, one more than are shown at first.
MANY = "silent_after = 0\n[models]\n" + "".join(f'm{n:03} = "{{model}}"\n' for n in range(200))


def test_tiles_are_made_of_the_worst_and_news_asks_for_its_source(
    chromium, plant_model: Path, tmp_path: Path, artifacts: Path
):
    settings = MANY.format(model=plant_model)
    with serving(tmp_path / "data", plant_model, settings=settings) as running:
        watched = open_page(chromium)
        page = watched.page
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.partition("/api/v1")[2]))
        page.goto(running.url)
        page.wait_for_selector(".source")
        tiles = "document.querySelectorAll('.source').length"
        assert page.evaluate(tiles) == 200
        assert page.locator(".period").inner_text() == "No source is in alarm."
        assert "The worst 200 of 201 are shown." in page.locator(".rest").inner_text()
        assert sideways(page) == 0
        # A source without a tile is found by its name, and shown once it is in alarm.
        assert page.locator("[data-source='plant']").count() == 0
        page.fill("#search", "plant")
        page.wait_for_function(f"{tiles} === 1")
        page.fill("#search", "")
        page.wait_for_function(f"{tiles} === 200")
        asked.clear()
        running.post(rows_until(now() - STEP, rows=445), "plant")
        page.wait_for_selector(".source:first-child[data-source='plant'][data-state='alarm']")
        assert page.locator(".period").inner_text() == "1 of 201 sources in alarm."
        lists = [path for path in asked if path.startswith("/sources")]
        assert lists
        assert all("name=plant" in path for path in lists)
        page.screenshot(path=artifacts / "many-sources.png")
        page.click("text=Show all")
        page.wait_for_function(f"{tiles} === 201")
        assert page.locator(".rest").count() == 0
        assert watched.complaints == []
        page.context.close()
