"""What is said in two places about the package is the same in both."""

from __future__ import annotations

import itertools
import re
import tomllib

import yaml

from alora_ts import __version__
from tests.conftest import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name: str) -> dict:
    return yaml.safe_load((REPOSITORY / name).read_text(encoding="utf-8"))


def test_one_version() -> None:
    assert PROJECT["version"] == __version__
    assert str(read("CITATION.cff")["version"]) == __version__


def test_declared_pythons_are_tested() -> None:
    declared = {
        found[1]
        for line in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    }
    job = read(".github/workflows/tests.yml")["jobs"]["pythons"]
    may_fail = set(re.findall(r"3\.\d+", job["continue-on-error"]))
    assert set(job["strategy"]["matrix"]["python"]) - may_fail == declared
    assert f">={min(declared)}" == PROJECT["requires-python"]


def test_pinned_versions_cover_what_is_needed() -> None:
    text = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    pinned = {_plain(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
    extras = PROJECT["optional-dependencies"].values()
    needed = [*PROJECT["dependencies"], *itertools.chain.from_iterable(extras)]
    names = {_plain(re.split(r"[\[<>=]", one)[0]) for one in needed} - {"alora-ts"}
    assert names - pinned == set()


def test_hooks_run_the_programs_of_make() -> None:
    """Those of .venv, whose versions are pinned: what a commit passes, `make lint` passes too."""
    packages = {"ruff": "ruff", "mypy": "mypy", "lint-imports": "import-linter"}
    make = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    pinned = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8")
    checks = re.findall(r"^\t\$\(BIN\)/((?:ruff|mypy|lint-imports).*)$", make, re.MULTILINE)
    repos = read(".pre-commit-config.yaml")["repos"]
    assert [repo["repo"] for repo in repos] == ["local"]
    entries = [hook["entry"] for hook in repos[0]["hooks"]]
    assert all(entry.startswith(".venv/bin/") for entry in entries)
    hooks = [entry.removeprefix(".venv/bin/").split(" --")[0] for entry in entries]
    assert hooks == [check.split(" --")[0].removesuffix(" .") for check in checks]
    for hook in hooks:
        assert f"\n{packages[hook.split()[0]]}==" in pinned


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
