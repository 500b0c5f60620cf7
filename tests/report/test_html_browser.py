"""The page as a real browser runs it."""

from __future__ import annotations

import subprocess

import pytest

from alora_ts.report.html import render_report
from tests.conftest import need_program
from tests.report.example import plant_diagnosis

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --virtual-time-budget=3000 --dump-dom"
)


@pytest.mark.slow
def test_the_script_runs_to_its_end(tmp_path):
    browser = need_program("chromium")
    path = render_report(plant_diagnosis(), tmp_path / "plant.html")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    run = subprocess.run(
        [browser, *FLAGS.split(), profile, path.as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    page = run.stdout
    # The chooser of signals is the last thing but one that the script fills, the tip the last.
    assert '<div id="stage"><figure' in page
    assert 'class="tip"' in page
    assert '<div class="tools" hidden' not in page
