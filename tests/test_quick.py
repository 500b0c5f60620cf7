"""What `make quick` picks."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.parallel import FOLDERS, LONGEST, group_of
from tests.quick import CORE, OTHERS, changed_files, pick


def picked(*changed: str) -> set[str]:
    found = pick(REPOSITORY, changed)
    assert found[: len(CORE)] == list(CORE)
    assert all((REPOSITORY / name).exists() for name in found)
    return set(found) - set(CORE)


def test_lists_name_what_exists() -> None:
    assert [name for name in (*FOLDERS, *LONGEST) if not (REPOSITORY / name).exists()] == []
    assert [name for name in OTHERS.values() if not (REPOSITORY / name).exists()] == []
    assert [name for name in LONGEST if group_of(name) != name] == []
    assert picked() == set()


def test_a_module_brings_its_doctests_and_the_tests_that_name_it() -> None:
    found = picked("src/alora_ts/metrics/delay.py")
    assert {"src/alora_ts/metrics/delay.py", "tests/metrics/test_delay.py"} <= found
    assert not any(name.startswith("tests/serve") for name in found)


def test_a_test_brings_itself_and_a_helper_the_tests_beside_it() -> None:
    assert picked("tests/report/test_story.py") == {"tests/report/test_story.py"}
    assert "tests/report/test_plot.py" in picked("tests/report/naive_report.py")


def test_an_endpoint_brings_the_tests_that_ask_the_service_and_no_browser() -> None:
    found = picked("src/alora_ts/serve/http/endpoints/sources.py")
    assert {"tests/serve/core/test_rows.py", "tests/serve/core/test_series.py"} <= found
    assert not any(name.startswith("tests/serve/browser") for name in found)


def test_a_module_that_nothing_tested_imports_brings_its_folder(tmp_path: Path) -> None:
    for name in ("src/alora_ts/fleet/odd.py", "tests/fleet/test_a.py", "tests/test_other.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    wanted = ["src/alora_ts/fleet/odd.py", "tests/fleet/test_a.py"]
    assert pick(tmp_path, ["src/alora_ts/fleet/odd.py"]) == [*CORE, *wanted]


def test_what_the_core_holds_is_not_named_again() -> None:
    assert picked("tests/data/test_flow.py") == set()


def test_what_is_gone_or_tested_by_nothing_brings_nothing() -> None:
    assert picked("src/alora_ts/gone.py", "LICENSE", "src/alora_ts/bench/costs.toml") == set()


def test_pages_and_kernels_bring_their_tests() -> None:
    assert picked("README.md", "docs/index.md") == {"tests/docs"}
    assert picked("src/alora_ts/fast/native/c/kernels.c") == {"tests/fast"}


def test_changes_are_those_since_the_branch_left_main(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    def write(name: str, text: str) -> None:
        (tmp_path / name).write_text(text)

    git("init", "-q", "-b", "main")
    for name in ("same", "committed", "edited"):
        write(name, "old")
    git("add", ".")
    git("commit", "-qm", "first")
    git("checkout", "-qb", "work")
    write("committed", "new")
    git("commit", "-qam", "second")
    git("checkout", "-q", "main")
    write("same", "new")
    git("commit", "-qam", "elsewhere")
    git("checkout", "-q", "work")
    write("edited", "new")
    write("with a space", "new")
    assert changed_files(tmp_path, "main") == ["committed", "edited", "with a space"]
