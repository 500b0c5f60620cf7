"""A signal that stopped coming, and a model from a file, as people meet them on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.serve_programs import free_port

from tests.serve.browser.plant import SIGNALS, STEP, Running, fit_model, now, rows_until, serving
from tests.serve.browser.watching import open_page, sideways, told

pytestmark = pytest.mark.slow

# No broker listens there, so no signal ever comes.
SETTINGS = """
[[connect.mqtt]]
name = "line"
source = "plant"
host = "127.0.0.1"
port = {port}
silent_after = 0.5
topics = [{{ topic = "plant/{{variable}}" }}]
assemble = {{ step = 10 }}
"""


@pytest.fixture(scope="module")
def silent_service(
    plant_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("silent") / "data"
    settings = SETTINGS.format(port=free_port())
    with serving(folder, plant_model, settings=settings) as running:
        running.post(rows_until(now() - 20 * STEP, rows=60))
        yield running


@pytest.mark.parametrize("width", [1280, 390])
def test_a_silent_signal_has_a_page(chromium, silent_service, artifacts, width):
    watched = open_page(chromium, width=width, dark=width == 390)
    page = watched.page
    page.goto(f"{silent_service.url}/#/incidents")
    page.wait_for_selector(f".incident-list a.open:has-text('{len(SIGNALS)} signals')")
    assert page.locator(".incident-list a.open").count() == 1
    page.click(".incident-list a.open")
    page.wait_for_selector(f"h1:has-text('{len(SIGNALS)} signals fell silent')")
    page.wait_for_selector("text=tank_level <m>")
    page.wait_for_selector("text=has come since")
    page.wait_for_selector(".grade.open")
    # Whether silence is normal is no question of the alarm level, and nobody is to blame for it.
    for absent in (".feedback", ".culprits", "svg.flow", ".fact"):
        assert page.locator(absent).count() == 0
    page.screenshot(path=artifacts / f"silence-{width}.png", full_page=True)
    assert sideways(page) == 0
    page.click("main >> text=health page")
    page.wait_for_selector("text=no broker answers")
    assert watched.complaints == []
    page.context.close()


def test_a_model_is_uploaded_and_a_foreign_file_refused(chromium, silent_service, tmp_path):
    watched = open_page(chromium)
    page = watched.page
    page.goto(f"{silent_service.url}/#/models")
    page.click("summary:has-text('Upload a model file')")
    foreign = tmp_path / "foreign.alora"
    foreign.write_bytes(b"PK\x03\x04 no model of ours")
    page.set_input_files("#model-file", foreign)
    page.click("button:has-text('Upload')")
    told(page, "cannot read the file: it is truncated or not a model file")
    watched.forgive("422")
    page.set_input_files("#model-file", fit_model(tmp_path / "spare.alora", seed=1))
    page.click("button:has-text('Upload')")
    told(page, "The model spare is stored.")
    page.click(".incident-list a:has-text('spare')")
    page.wait_for_selector("h1:has-text('spare')")
    page.click("button:has-text('Activate')")
    told(page, "The model now watches plant.")
    page.wait_for_selector("button:has-text('Roll back')")
    assert watched.complaints == []
    page.context.close()
