"""A page that remembers every complaint and every address it asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


# Short messages leave the page by themselves; a test that looks later still finds them here.
_LISTEN = """
window.messages = [];
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (node.classList?.contains("toast")) window.messages.push(node.textContent);
    }
  }
}).observe(document, { childList: true, subtree: true });
"""


@dataclass
class Watched:
    """A page with what went wrong on it."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def forgive(self, part: str) -> None:
        """Forget the complaints that a test provoked."""
        self.complaints = [text for text in self.complaints if part not in text]


def open_page(browser: Any, *, width: int = 1280, dark: bool = False, **options: Any) -> Watched:
    """A fresh page (no cookies, no storage) of a width."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        **options,
    )
    # Much more than a quiet machine needs.
    context.set_default_timeout(240_000)
    context.add_init_script(_LISTEN)
    watched = Watched(context.new_page())

    def heard(message: Any) -> None:
        # Violations of the content policy are reported as errors too.
        if message.type in ("error", "warning"):
            watched.complaints.append(message.text)

    watched.page.on("console", heard)
    watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    watched.page.on(
        "request", lambda request: watched.hosts.add(urlsplit(request.url).hostname or "")
    )
    return watched


def told(page: Any, text: str) -> None:
    """Wait until a short message has appeared, or find that it had."""
    page.wait_for_function("(text) => messages.some((one) => one.includes(text))", arg=text)


def sideways(page: Any) -> int:
    """By how many pixels the page is wider than the window."""
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return max(0, int(wide))


def drawn(page: Any, selector: str) -> None:
    """Wait until a canvas shows a line: pixels of the colour of measured values."""
    page.wait_for_selector(selector)
    page.wait_for_function(
        """(selector) => {
          const canvas = document.querySelector(selector);
          const style = getComputedStyle(document.documentElement);
          const hex = style.getPropertyValue("--blue").trim().slice(1);
          const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
          const { width, height } = canvas;
          if (!width || !height) return false;
          // A copy, because reading the chart's own canvas would make it slower.
          const copy = new OffscreenCanvas(width, height).getContext("2d");
          copy.drawImage(canvas, 0, 0);
          const { data } = copy.getImageData(0, 0, width, height);
          let found = 0;
          for (let i = 0; i < data.length; i += 4) {
            const near = [r, g, b].every((v, at) => Math.abs(data[i + at] - v) < 10);
            if (data[i + 3] > 200 && near) found += 1;
          }
          return found > 50;
        }""",
        arg=selector,
    )
