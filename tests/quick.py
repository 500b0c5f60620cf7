"""Prints which tests a change most likely breaks, for pytest: `python -m tests.quick main`.

A test file is picked when it changed, when it names a changed module, or when it is called after
one (``data/table.py``: ``data/test_table*.py``). A module for which this finds nothing brings all
tests of its folder. Always there: `CORE`, the way from a table to a diagnosis.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["CORE", "changed_files", "pick"]

CORE = (
    "tests/cli",
    "tests/data",
    "tests/diagnosis",
    "tests/learning",
    "tests/model",
    "tests/network",
    "tests/scoring",
    "tests/test_foundations.py",
)


def changed_files(root: Path, base: str) -> list[str]:
    """What differs from where this branch left ``base``, new files that git was not told of too."""

    def git(*arguments: str) -> list[str]:
        command = ["git", "-C", str(root), *arguments]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.split("\n")

    start = git("merge-base", base, "HEAD")[0]
    found = git("diff", "--name-only", start)
    found += git("ls-files", "--others", "--exclude-standard")
    return sorted({name for name in found if name})


def pick(root: Path, changed: Iterable[str]) -> list[str]:
    """Files and folders for pytest, those of `CORE` first."""
    tests = {file: file.read_text() for file in sorted((root / "tests").rglob("test_*.py"))}
    core = [root / name for name in CORE]
    picked = list[Path]()
    for name in changed:
        file = root / name
        parts = Path(name).parts
        if file.suffix != ".py" or not file.is_file():
            continue
        if parts[0] == "tests":
            # A helper or a twin serves the tests beside it.
            picked += [file] if file in tests else sorted(file.parent.glob("test_*.py"))
        elif parts[:2] == ("src", "alora_ts"):
            picked += [file, *_tests_of(root / "tests", parts[2:], tests)]
    more = [file for file in picked if not any(file.is_relative_to(each) for each in core)]
    return [str(file.relative_to(root)) for file in dict.fromkeys([*core, *more])]


def _tests_of(folder: Path, parts: tuple[str, ...], tests: dict[Path, str]) -> list[Path]:
    """The test files of the module ``alora_ts/<parts>``."""
    *above, last = parts
    stem = Path(last).stem
    names = above if stem == "__init__" else [*above, stem]
    if not names:
        return []  # nearly every test imports alora_ts itself
    module = ".".join(["alora_ts", *names])
    for part in above:
        folder = folder / part if (folder / part).is_dir() else folder
    found = [
        file
        for file, text in tests.items()
        if f"from {module} import" in text
        or f"import {module}\n" in text
        or (file.is_relative_to(folder) and file.stem.startswith(f"test_{stem}"))
    ]
    return found or (sorted(folder.rglob("test_*.py")) if above else [])


if __name__ == "__main__":
    here = Path(__file__).resolve().parents[1]
    sys.stdout.write(" ".join(pick(here, changed_files(here, sys.argv[1]))) + "\n")
