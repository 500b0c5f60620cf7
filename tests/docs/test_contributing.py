"""The recipes of CONTRIBUTING name files that exist."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY

ROOTS = (REPOSITORY, REPOSITORY / "src" / "alora_ts")


def test_every_file_that_is_named_exists() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+\.(?:py|md|js|yml|txt))`", text))
    assert len(named) > 30
    assert {name for name in named if not any((root / name).is_file() for root in ROOTS)} == set()
