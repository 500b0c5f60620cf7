"""How long from `alora-ts demo --serve` in an empty folder to incidents in a browser.

    python -m benchmarks.serve_demo      # writes results/serve-demo.md, docs/images/demo-*.png

Starts the command as a newcomer would, opens the address it prints in Chromium at 1280 and 390
pixels, and notes when the first incident stands on the page, and when the first one that began
after the start does.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
_ROOT = Path(__file__).parents[1]
_PAGE = """# From `alora-ts demo --serve` to an incident in the browser

`python -m benchmarks.serve_demo`, {cores} cores, an empty folder; seconds since the command was
typed, imports and the fit of the model included.

| | s |
|---|---|
| the address is printed | {printed:.1f} |
| the first incident stands on the page (of the minutes before the start) | {shown:.1f} |
| the first incident that began since then stands on the page | {alarm:.1f} |
| from Ctrl-C to the end of the process, exit code {code} | {ended:.1f} |
"""


def read_address(process: subprocess.Popen[str]) -> str:
    """Wait for the address that the command prints."""
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://[\d.:]+", line)
        if found:
            return found[0]
    raise RuntimeError("the demo ended without an address")


def main() -> None:
    """Measure and take the pictures."""
    from playwright.sync_api import sync_playwright

    images = _ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=_FLAGS.split()
        )
        began = time.monotonic()
        run = "from alora_ts.cli.main import run; run()"
        process = subprocess.Popen(
            [sys.executable, "-c", run, "demo", "--serve"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            url = read_address(process)
            printed = time.monotonic() - began
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(url)
            page.wait_for_selector(".incident-list li", timeout=120_000)
            shown = time.monotonic() - began
            page.wait_for_selector(".source[data-state=alarm] .hot-word", timeout=120_000)
            alarm = time.monotonic() - began
            phone = browser.new_page(viewport={"width": 390, "height": 900})
            phone.goto(url)
            phone.wait_for_selector(".source[data-state=alarm]")
            for width, view in ((1280, page), (390, phone)):
                view.wait_for_timeout(8500)  # until the message in the corner has gone
                view.screenshot(path=images / f"demo-overview-{width}.png")
                view.click(".source .wrong")
                view.goto(f"{url}/#/incidents")
                view.click(".incident-list a >> nth=0")
                view.wait_for_selector("h2:has-text('ulprits')")
                view.wait_for_timeout(1500)
                view.screenshot(path=images / f"demo-incident-{width}.png")
            browser.close()
        finally:
            asked = time.monotonic()
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
            ended = time.monotonic() - asked
    page_text = _PAGE.format(
        cores=os.cpu_count(), printed=printed, shown=shown, alarm=alarm, code=code, ended=ended
    )
    (_ROOT / "results" / "serve-demo.md").write_text(page_text, encoding="utf-8")
    print(page_text)


if __name__ == "__main__":
    main()
