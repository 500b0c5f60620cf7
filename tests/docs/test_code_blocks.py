"""Every code block of the README and the docs runs, unless it says why not."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import REPOSITORY
from tests.docs.blocks import Block, blocks, run_page

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def _name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def _has_code(page: Path) -> bool:
    return any(block.reason is None for block in blocks(page.read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if _has_code(page)], ids=_name)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        run_page(page)
        if page.name == "tutorial.md":
            _check_culprit(page.read_text(encoding="utf-8"), tmp_path)


def _check_culprit(page: str, folder: Path) -> None:
    """Who follows the tutorial reaches the culprit that it names."""
    named = re.search(r"began in \*\*(\w+)\*\*", page)
    assert named is not None
    incidents = pl.read_csv(folder / "incidents.csv")
    first = incidents.filter(pl.col("incident") == 1).sort("place")
    assert first["variable"][0] == named[1]
    assert {"scores.csv", "today.html", "plant.alora"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_pages_say_nothing_of_machines(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"/work/|/root/|/home/|\.\./shared", text)


def test_a_block_can_say_why_it_is_not_run() -> None:
    page = (
        "a\n\n<!-- not run: needs a broker -->\n```python\n1 / 0\n```\n\n```python\nx = 1\n```\n"
        "```sh\nrm\n```\n\n```console\n$ alora-ts info\n```\n"
    )
    assert list(blocks(page)) == [
        Block("python", "1 / 0\n", 5, "needs a broker"),
        Block("python", "x = 1\n", 9, None),
        Block("console", "$ alora-ts info\n", 16, None),
    ]


def test_a_wrong_block_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\n```\n\n```python\n>>> x\n3\n```\n")
    with pytest.raises(AssertionError):
        run_page(page)
    page.write_text("```console\n$ alora-ts info nothing.alora\n```\n")
    with pytest.raises(AssertionError, match=r"nothing\.alora"):
        run_page(page)
