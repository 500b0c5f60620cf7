"""The guide's examples are run."""

from __future__ import annotations

import doctest

from tests.conftest import REPOSITORY


def test_the_guide_on_missing_data_is_true() -> None:
    guide = REPOSITORY / "docs" / "how-to" / "missing-data.md"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    outcome = doctest.testfile(str(guide), module_relative=False, optionflags=flags)
    assert outcome.attempted > 10
    assert outcome.failed == 0
