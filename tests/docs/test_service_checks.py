"""The page of what the service was tried for names tests that exist."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY

PAGE = REPOSITORY / "docs" / "service-checks.md"


def test_every_test_the_page_names_exists() -> None:
    named = 0
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        file = ""
        for word in re.findall(r"`([^`]+)`", line.rpartition(" | ")[2]):
            if word.endswith(".py"):
                file = (REPOSITORY / "tests" / "serve" / word).read_text(encoding="utf-8")
            elif word.startswith("test_"):
                assert f"def {word}(" in file, word
                named += 1
    assert named > 40
