"""Prints which tests a change most likely breaks, for pytest: `python -m tests.quick main`.

A test file is picked when it changed, when it names a changed module, or when it is called after
one (``data/table.py``: ``data/test_table*.py``). A module for which this finds nothing, as an
endpoint, brings the tests of the modules that import it, and with them the tests whose fixtures do;
one that nothing tested imports brings all tests of its folder. `OTHERS` are for files that are not
Python. Always there: `CORE`, the way from a table to a diagnosis.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["CORE", "OTHERS", "changed_files", "pick"]

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

OTHERS = {
    ".c": "tests/fast",
    ".h": "tests/fast",
    ".js": "tests/serve/browser/test_modules.py",
    ".md": "tests/docs",
}


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
        if not file.is_file():
            continue
        if file.suffix != ".py":
            picked += [root / OTHERS[file.suffix]] if file.suffix in OTHERS else []
        elif parts[0] == "tests":
            # A helper or a twin serves the tests beside it.
            picked += [file] if file in tests else sorted(file.parent.glob("test_*.py"))
        elif parts[:2] == ("src", "alora_ts"):
            picked += [file, *_tests_of(root / "tests", parts[2:], tests)]
    more = [file for file in picked if not any(file.is_relative_to(each) for each in core)]
    return [str(file.relative_to(root)) for file in dict.fromkeys([*core, *more])]


def _tests_of(folder: Path, parts: tuple[str, ...], tests: dict[Path, str]) -> list[Path]:
    """The test files of the module ``alora_ts/<parts>``."""
    *above, last = parts
    if not above and Path(last).stem == "__init__":
        return []  # nearly every test imports alora_ts itself
    found = _named(folder, parts, tests)
    if found or not above:
        return found
    sources = folder.parent / "src" / "alora_ts"
    texts = {file: file.read_text() for file in sorted(sources.rglob("*.py"))}
    seen, level = {parts}, [parts]
    while level and not found:
        importing = [
            file.relative_to(sources).parts
            for file, text in texts.items()
            if any(_imports(text, one) for one in level)
        ]
        level = [one for one in importing if one not in seen]
        seen.update(level)
        for one in level:
            found += [*_named(folder, one, tests), *_with_fixtures(folder, one)]
    return found or sorted(_beside(folder, above).rglob("test_*.py"))


def _named(folder: Path, parts: tuple[str, ...], tests: dict[Path, str]) -> list[Path]:
    """The tests that import a module or are called after it."""
    beside, stem = _beside(folder, parts[:-1]), Path(parts[-1]).stem
    return [
        file
        for file, text in tests.items()
        if _imports(text, parts)
        or (file.is_relative_to(beside) and file.stem.startswith(f"test_{stem}"))
    ]


def _with_fixtures(folder: Path, parts: tuple[str, ...]) -> list[Path]:
    """The tests beside a ``conftest.py`` that imports a module."""
    homes = [file for file in folder.rglob("conftest.py") if _imports(file.read_text(), parts)]
    return [test for file in homes for test in sorted(file.parent.glob("test_*.py"))]


def _beside(folder: Path, above: Iterable[str]) -> Path:
    """The folder of tests that is nearest to a folder of modules."""
    for part in above:
        folder = folder / part if (folder / part).is_dir() else folder
    return folder


def _imports(text: str, parts: tuple[str, ...]) -> bool:
    """Whether Python code imports the module ``alora_ts/<parts>``."""
    *above, last = parts
    stem = Path(last).stem
    package = ".".join(["alora_ts", *above])
    if stem == "__init__":
        return f"from {package} import" in text or f"import {package}\n" in text
    if f"from {package}.{stem} import" in text or f"import {package}.{stem}\n" in text:
        return True
    among = rf"^from {re.escape(package)} import (\([^)]*|[^(\n]*)\b{stem}\b"
    return re.search(among, text, re.MULTILINE) is not None


if __name__ == "__main__":
    here = Path(__file__).resolve().parents[1]
    sys.stdout.write(" ".join(pick(here, changed_files(here, sys.argv[1]))) + "\n")
