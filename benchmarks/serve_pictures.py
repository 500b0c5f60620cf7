"""Pictures of the dashboard for the documentation, from the simulated plant.

    python -m benchmarks.serve_pictures      # writes docs/images/dashboard-*.png

Fits the demo's model, starts the service, sends it two days of the plant that end now, and takes
the pictures with Chromium.
"""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import polars as pl
from benchmarks.serve_process import ServiceProcess

from alora_ts import ALoRa
from alora_ts.datasets.synthetic import make

_FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
_IMAGES = Path(__file__).parents[1] / "docs" / "images"
# Just after the last fault began, so that an incident is open.
_ROWS = 2615


def send_rows(url: str, plant: Any) -> None:
    """The plant's rows, a minute apart, the last one now; wait until they are scored."""
    end = dt.datetime.now(dt.UTC).replace(second=0, microsecond=0)
    times = [end - dt.timedelta(minutes=_ROWS - 1 - at) for at in range(_ROWS)]
    rows = [
        {
            "time": moment.isoformat(),
            "values": dict(zip(plant.variables, plant.test[at].tolist(), strict=True)),
        }
        for at, moment in enumerate(times)
    ]
    with httpx.Client(base_url=f"{url}/api/v1", timeout=120) as client:
        for at in range(0, _ROWS, 500):
            client.post(
                "/sources/plant/rows", json={"rows": rows[at : at + 500]}
            ).raise_for_status()
        query = {"start": times[-1].isoformat(), "limit": 1}
        while not client.get("/sources/plant/readings", params=query).json()["items"]:
            time.sleep(0.2)


def take(url: str) -> None:
    """Open the pages and keep them as pictures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=_FLAGS.split())
        wide = {"width": 1280, "height": 1000}
        page = browser.new_context(viewport=wide, timezone_id="Europe/Madrid").new_page()

        def keep(name: str, **options: Any) -> None:
            page.mouse.move(0, 0)
            page.wait_for_timeout(1500)
            page.screenshot(path=_IMAGES / f"dashboard-{name}.png", **options)

        page.goto(url)
        page.wait_for_selector(".source .spark")
        keep("overview")
        page.click(".source")
        page.wait_for_selector(".flag")
        page.click("text=All")
        keep("source", clip={"x": 0, "y": 0, "width": 1280, "height": 1240}, full_page=True)
        page.goto(f"{url}/#/incidents")
        page.click(".incident-list a:has(.grade.high) >> nth=0")
        page.wait_for_selector("svg.flow")
        keep("incident", clip={"x": 0, "y": 0, "width": 1280, "height": 1240}, full_page=True)
        page.goto(f"{url}/#/models")
        page.click(".incident-list a >> nth=0")
        page.wait_for_selector("svg.net")
        page.locator("section[aria-label='Who influences whom']").screenshot(
            path=_IMAGES / "dashboard-model.png"
        )
        phone = browser.new_context(
            viewport={"width": 390, "height": 844}, color_scheme="dark", device_scale_factor=2
        )
        page = phone.new_page()
        page.goto(f"{url}/#/sources/plant")
        page.wait_for_selector(".flag")
        page.evaluate(
            "scrollTo(0, document.querySelector('[aria-label=Timeline]').offsetTop - 100)"
        )
        keep("phone")
        browser.close()


def main() -> None:
    """Make the pictures."""
    plant = make("plant")
    with tempfile.TemporaryDirectory(prefix="alora-pictures-") as name:
        folder = Path(name)
        columns = dict(zip(plant.variables, plant.train.T, strict=True))
        table = pl.DataFrame({"time": plant.train_timestamps, **columns})
        ALoRa().fit(table).save(folder / "plant.alora")
        settings = f'[models]\nplant = "{folder}/plant.alora"\n'
        with ServiceProcess(folder, settings) as service:
            send_rows(service.url, plant)
            take(service.url)
    for path in sorted(_IMAGES.glob("dashboard-*.png")):
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
