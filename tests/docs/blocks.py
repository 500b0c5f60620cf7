"""Code blocks of Markdown pages, and running them."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.invoke import invoke

_FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+?) -->\s*\n)?"
    r"^```(?P<kind>python|console)\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, its first line's number, why it is not run."""

    kind: str
    code: str
    line: int
    reason: str | None


def blocks(page: str) -> Iterator[Block]:
    """The python and console blocks of a page, in order."""
    for found in _FENCE.finditer(page):
        line = page.count("\n", 0, found.start("code")) + 1
        yield Block(found["kind"], found["code"], line, found["reason"])


def run_page(path: Path) -> int:
    """Run a page's blocks in the current folder, in order and in one namespace; how many."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.reason is not None:
            continue
        if block.kind == "console":
            _run_commands(block, path)
        elif ">>> " in block.code:
            _run_examples(block, path, names)
        else:
            # Line numbers of the page, so that a failure points into it.
            exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec"), names)
        count += 1
    return count


def _run_commands(block: Block, path: Path) -> None:
    for line in block.code.splitlines():
        if not line.startswith("$ alora-ts "):
            continue
        outcome = invoke(*line.removeprefix("$ alora-ts ").split())
        assert outcome.code == 0, f"{path.name}: {line}\n{outcome.out}{outcome.err}"


def _run_examples(block: Block, path: Path, names: dict[str, Any]) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    # The runner clears the namespace it is given, and later blocks go on with this one.
    test = doctest.DocTestParser().get_doctest(
        block.code, names, path.name, str(path), block.line - 1
    )
    outcome = doctest.DocTestRunner(optionflags=flags).run(test, clear_globs=False)
    names.update(test.globs)
    assert outcome.failed == 0, f"{path.name}, line {block.line}: see the output above"
