"""Decision records are numbered without holes, of one form, and listed in their index."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY

FOLDER = REPOSITORY / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("0*.md"))


def test_numbers_have_no_holes_and_the_index_names_the_next() -> None:
    assert [page.name[:4] for page in RECORDS] == [f"{at + 1:04d}" for at in range(len(RECORDS))]
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert f"Next free number: {len(RECORDS) + 1:04d}." in index


def test_each_record_has_the_same_parts_and_its_line_in_the_index() -> None:
    listed = (FOLDER / "index.md").read_text(encoding="utf-8").splitlines()
    for page in RECORDS:
        lines = page.read_text(encoding="utf-8").splitlines()
        number, title = re.fullmatch(r"# (\d{4}) (.+)", lines[0]).groups()  # type: ignore[union-attr]
        assert page.name.startswith(f"{number}-")
        headings = [line for line in lines if line.startswith("## ")]
        assert headings == ["## Context", "## Decision", "## Consequences"], page.name
        superseded = lines[2].removeprefix("Superseded by: ")
        shown = "" if superseded == "–" else f"{superseded} "
        assert f"| [{number}]({page.name}) | {title} | {shown}|" in listed
