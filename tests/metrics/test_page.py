"""The page on honest evaluation: its examples run and its pictures exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "evaluate-honestly.md"


@pytest.fixture
def page() -> str:
    return PAGE.read_text()


def test_examples_give_what_the_page_shows(page: str) -> None:
    # A closing fence right below an output would be read as part of it.
    examples = doctest.DocTestParser().get_doctest(page, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 5
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page)
    assert len(links) >= 5
    assert [link for link in links if not (PAGE.parent / link).exists()] == []
