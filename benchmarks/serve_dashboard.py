"""How long a step of zoom or pan takes in the dashboard on a month of rows a second apart.

Run: ``python -m benchmarks.serve_dashboard`` (about five minutes, 1 GB of disk in a temporary
folder; Chromium must be installed). Writes results/serve-dashboard.md.

Two times are taken for every step, in the browser: until the chart is painted with what is
already there, and until the finer lines that the service then sends are painted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.serve_machine import describe_machine
from benchmarks.serve_month import write_history
from benchmarks.serve_process import ServiceProcess, make_model

from alora_ts import Architecture
from alora_ts.files import write_atomically

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
_RESULT = Path(__file__).parents[1] / "results" / "serve-dashboard.md"

# Counts the requests for lines that are under way.
_WATCH = """
const real = window.fetch;
window.lines = { open: 0, times: [], bytes: [] };
window.fetch = async (...given) => {
  if (!String(given[0]).includes("/series")) return real(...given);
  window.lines.open += 1;
  const start = performance.now();
  try {
    const answer = await real(...given);
    const text = await answer.text();
    window.lines.times.push(performance.now() - start);
    window.lines.bytes.push(text.length);
    return new Response(text, { status: answer.status, headers: answer.headers });
  } finally {
    window.lines.open -= 1;
  }
};
"""
# A step, then the next painted frame, then the frame after the last answer.
_STEP = """async ([kind, key]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const chart = document.querySelector(".live-chart"), area = chart.querySelector(".u-over");
  const box = area.getBoundingClientRect(), asked = window.lines.times.length;
  const start = performance.now();
  if (kind === "wheel") {
    area.dispatchEvent(new WheelEvent("wheel", {
      deltaY: key, clientX: box.left + 0.6 * box.width, clientY: box.top + 20,
      bubbles: true, cancelable: true,
    }));
  } else {
    chart.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }
  await frame();
  const painted = performance.now() - start;
  let sharp = painted, quiet = performance.now();
  // A request begins within 40 ms of a move, or none is needed.
  while (performance.now() - quiet < 120) {
    await new Promise((done) => setTimeout(done, 4));
    if (window.lines.open > 0) {
      while (window.lines.open > 0) await new Promise((done) => setTimeout(done, 2));
      await frame();
      sharp = performance.now() - start;
      quiet = performance.now();
    }
  }
  return [painted, sharp, window.lines.times.length - asked];
}"""


def zoom_steps() -> list[tuple[str, Any]]:
    """From the month to some minutes, along them, and back."""
    into = [("wheel", -240)] * 14
    along = [("key", "ArrowRight"), ("key", "ArrowLeft")] * 8
    return [*into, *along, *[("wheel", 240)] * 14, *along]


def measure(url: str, steps: list[tuple[str, Any]]) -> tuple[np.ndarray, dict[str, Any]]:
    """Painted and sharp milliseconds and requests of each step, and what the requests cost."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS.split())
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(_WATCH)
        begin = time.perf_counter()
        page.goto(f"{url}/#/sources/plant", timeout=120_000)
        page.wait_for_function(
            "() => window.lines && window.lines.times.length > 0", timeout=120_000
        )
        opened = time.perf_counter() - begin
        page.click("text=All")
        page.wait_for_timeout(500)
        page.wait_for_function("() => window.lines.open === 0")
        page.wait_for_timeout(500)
        taken = np.array([page.evaluate(_STEP, list(step)) for step in steps])
        lines = page.evaluate("window.lines")
        browser.close()
    return taken, {"opened": opened, "times": lines["times"], "bytes": lines["bytes"]}


def _row(name: str, values: np.ndarray) -> str:
    p50, p95 = np.percentile(values, [50, 95])
    return f"| {name} | {p50:.0f} | {p95:.0f} | {values.max():.0f} |"


def report(taken: np.ndarray, facts: dict[str, Any], *, rows: int, variables: int) -> str:
    """The result as Markdown."""
    asked = taken[:, 2] > 0
    crowded = os.getloadavg()[0] > (os.cpu_count() or 1)
    busy = [
        "The machine was busy with other work, and these times include waiting for it."
    ] * crowded
    return "\n".join(
        [
            "# Zoom and pan in the dashboard",
            "",
            f"{rows:,} rows a second apart, {variables} signals of which 4 are drawn with their",
            f"expectations below the score; {len(taken)} steps of wheel and keys between the whole",
            f"history and some minutes, {asked.sum():.0f} of which asked the service for lines.",
            "",
            "| milliseconds | p50 | p95 | worst |",
            "| --- | ---: | ---: | ---: |",
            _row("a step until the next painted frame", taken[:, 0]),
            _row("a step until its finest lines are painted", taken[:, 1]),
            _row("one request for lines", np.array(facts["times"])),
            "",
            f"The page opened in {facts['opened']:.1f} s; an answer has at most "
            f"{max(facts['bytes']) / 1000:.0f} kB.",
            *busy,
            "",
            f"Regenerate: `python -m benchmarks.serve_dashboard`. {describe_machine()}.",
            "",
        ]
    )


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30 * 86_400)
    parser.add_argument("--variables", type=int, default=8)
    parser.add_argument("--out", type=Path, default=_RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alora-month-") as name:
        folder = Path(name)
        make_model(
            folder / "plant.alora",
            given.variables,
            window=8,
            architecture=Architecture(layers=1),
            epochs=1,
            epoch_windows=64,
        )
        service = ServiceProcess(folder, f'[models]\nplant = "{folder}/plant.alora"\n')
        with service:
            pass  # makes the store and the source
        begin = time.perf_counter()
        write_history(folder / "data", rows=given.rows, end=int(time.time() * 1e6))
        print(f"history written in {time.perf_counter() - begin:.0f} s")
        with service:
            taken, facts = measure(service.url, zoom_steps())
    text = report(taken, facts, rows=given.rows, variables=given.variables)
    with write_atomically(given.out) as part:
        part.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
