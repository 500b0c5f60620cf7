"""The site builds without a warning, and its command reference comes from the commands."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("mkdocs") is None
        or importlib.util.find_spec("mkdocstrings") is None
        or importlib.util.find_spec("material") is None,
        reason="mkdocs-material or mkdocstrings is not installed",
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_of_a_folder_is_in_the_navigation(site: Path) -> None:
    listed = (REPOSITORY / "mkdocs.yml").read_text()
    docs = REPOSITORY / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.glob("*/*.md")}
    pages -= {page for page in pages if page.startswith("decisions/0")}  # in their own index
    assert {page for page in pages if f": {page}" not in listed} == set()
    assert (site / "index.html").is_file()


def test_commands_and_their_options_are_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "cli" / "index.html").read_text()
    for part in ("alora-ts fit", "alora-ts backtest", "alora-ts data check", "--fail-on-anomaly"):
        assert part in page
    assert "&lt;!-- commands" not in page


def test_classes_are_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "python" / "index.html").read_text()
    for name in ("alora_ts.estimator.ALoRa.fit", "alora_ts.backtest.backtest"):
        assert f'id="{name}"' in page
    assert ":class:" not in page


def test_each_parameter_has_its_own_default(site: Path) -> None:
    page = (site / "reference" / "python" / "index.html").read_text()
    for name, default in (
        ("window", "20"),
        ("architecture", "Architecture()"),
        ("seed", "0"),
    ):
        entry = page[page.index(f"<b><code>{name}</code></b>") :][:300]
        assert f"default: <code>{default}</code>" in entry


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not re.search(r'<(?:script|img)[^>]+src="https?://', text), page
        assert not re.search(r'<link[^>]+rel="stylesheet"[^>]+href="https?://', text), page
