"""`alora-ts bench tables` and `bench page`, as a user calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.records import MACHINES, tournament, written
from tests.cli.invoke import files, invoke


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tournament(), tmp_path_factory.mktemp("results"))


def test_one_table_in_the_terminal(results: Path) -> None:
    shown = invoke("bench", "tables", results, "--table", "detection")
    assert shown.code == 0
    assert "Detection on SMD, 3 entities" in shown.out
    assert "Range-aware" not in shown.out


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("all.md", "### Detection"),
        ("all.tex", r"\begin{table}"),
        ("all.csv", "method,P,"),
        ("all.html", "<figure"),
        ("all.txt", "\nDetection"),
    ],
)
def test_files_are_written_by_their_ending(
    results: Path, tmp_path: Path, name: str, begins: str
) -> None:
    assert invoke("bench", "tables", results, "--out", tmp_path / name).code == 0
    assert (tmp_path / name).read_text().startswith(begins)


def test_a_folder_gets_a_file_for_each(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tables"
    done = invoke("bench", "tables", results, results, "--format", "csv", "--out", folder)
    assert done.code == 0
    found = files(folder)
    assert "detection-detection-on-smd-3-entities.csv" in found
    assert all(name.endswith(".csv") for name in found)
    assert f"wrote {len(found)} tables" in done.out


def test_the_page_command(tmp_path: Path) -> None:
    # One entity has no ranks to draw, which takes longest.
    results = written(tournament(entities=MACHINES[:1]), tmp_path / "results")
    done = invoke("bench", "page", results, "--out", tmp_path / "results.md")
    assert (done.code, done.err) == (0, "")
    assert f"alora-ts bench page {results} --out" in (tmp_path / "results.md").read_text()


def test_bad_input_is_explained(results: Path, tmp_path: Path) -> None:
    empty = invoke("bench", "tables", tmp_path)
    assert (empty.code, "there are no results in" in empty.err) == (1, True)
    typo = invoke("bench", "tables", results, "--table", "detektion")
    assert (typo.code, "did you mean 'detection'" in typo.err) == (1, True)
    nothing = invoke("bench", "tables", results, "--table", "ablations")
    assert (nothing.code, "have no numbers for the table" in nothing.err) == (1, True)
    strange = invoke("bench", "tables", results, "--out", tmp_path / "all.docx")
    assert (strange.code, "give --format" in strange.err) == (1, True)
    assert files(tmp_path) == set()
    broken = tmp_path / "runs" / "SMD" / "x.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    torn = invoke("bench", "page", tmp_path, "--out", tmp_path / "r.md")
    assert (torn.code, str(broken) in torn.err) == (1, True)
