"""Root causes: cases as they come, rankings, and the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from alora_ts.bench.affected import judge_affected
from alora_ts.bench.rootcause import (
    YARDSTICKS,
    Verdict,
    accuracy,
    calibration_error,
    calibration_error_by_chance,
    judge_cases,
    localizing,
)
from alora_ts.bench.rootcause_page import rootcause_page
from alora_ts.cli.main import app
from alora_ts.datasets.rootcause import RootCauseCase, load_cases, simulated_cases
from alora_ts.errors import AloraError, DataError
from tests.datasets.official import write

QUICK = {"window": 6, "epochs": 1, "epoch_windows": 64}


def write_case(folder: Path, *, root: str = "b_cpu", jump: float = 50.0) -> None:
    rng = np.random.default_rng(0)
    names = ["a_cpu", "b_cpu", "b_mem"]
    folder.mkdir(parents=True)
    for part, rows in (("normal", 150), ("anomalous", 60)):
        table = rng.normal(size=(rows, 3))
        if part == "anomalous":
            table[:, names.index(root)] += jump + 5 * rng.normal(size=rows)
        times = {"time": np.arange(rows) + 1_650_000_000}
        frame = pl.DataFrame(times | dict(zip(names, table.T, strict=True)))
        frame.write_csv(folder / f"{part}.csv")


def test_cases_in_folders_know_their_cause(tmp_path: Path) -> None:
    write_case(tmp_path / "b-cpu" / "1")
    write_case(tmp_path / "odd" / "1")
    (tmp_path / "odd" / "1" / "cause.json").write_text('{"group": "b"}')
    first, second = load_cases(tmp_path, system="mine")
    assert (first.system, first.name, first.cause, first.group) == ("mine", "b-cpu/1", "b_cpu", "b")
    assert (second.cause, second.group) == (None, "b")
    assert first.normal.shape == (150, 3)
    (tmp_path / "odd" / "1" / "cause.json").unlink()
    with pytest.raises(DataError, match=r"cause\.json"):
        load_cases(tmp_path)
    with pytest.raises(DataError, match="holds no case"):
        load_cases(tmp_path / "nothing")


def test_the_petshop_is_read_as_published(tmp_path: Path) -> None:
    traffic = tmp_path / "low_traffic"
    issue = traffic / "train" / "issue_0"
    head = "microservice,site,site,search\nmetric,latency,requests,latency\nstatistic,p90,Sum,p90\n"
    rows = "".join(f"{1_680_000_000 + 300 * t},{0.1 + t / 1e3},,{t % 5}\n" for t in range(30))
    for folder, text in ((traffic / "noissue", rows), (issue, "1681000000,0.9,3,\n")):
        folder.mkdir(parents=True)
        (folder / "metrics.csv").write_text(f"{head}unix_timestamp,,,\n{text}")
    target = {"target": {"node": "site"}, "root_cause": {"node": "search"}}
    (issue / "target.json").write_text(json.dumps(target))
    (traffic / "graph.csv").write_text(",site,search\nsite,0,1\nsearch,0,0\n")
    (case,) = load_cases(tmp_path)
    # A column that was never measured in normal operation has no usual range.
    assert case.variables == ("site/latency/p90", "search/latency/p90")
    assert case.groups == ("site", "search")
    assert (case.symptom, case.group, case.cause) == ("site", "search", None)
    assert case.edges == (("search", "site"),)  # a delay goes from the called to the caller
    assert np.isnan(case.anomalous[0, 1])


def test_simulated_faults_reach_other_signals() -> None:
    for system in ("random systems", "sister plants"):
        found = list(simulated_cases(system, count=1, faults=4))
        assert found
        for case in found:
            assert case.cause in case.variables
            assert 0 <= case.start < case.end <= len(case.anomalous)
    with pytest.raises(DataError, match="no simulated"):
        next(simulated_cases("dreams"))


def test_every_method_ranks_every_case(tmp_path: Path) -> None:
    write_case(tmp_path / "b-cpu" / "1")
    cases = load_cases(tmp_path)
    found = list(judge_cases(cases, total=1, report=lambda _: None, parameters=QUICK))
    named = {one.method for one in found}
    assert set(YARDSTICKS) <= named
    right = {one.method: one.place for one in found if one.method != "random"}
    assert right["ALoRa, culprits"] == right["ALoRa, origin"] == right["mean |z|"] == 0
    page = rootcause_page(found, command="alora-ts bench rootcause mine")
    assert f"## {tmp_path.name} (1 cases)" in page
    assert "| ALoRa, culprits | 1.00 | 1.00 | 1.00 | 1.00" in page


def test_compared_methods_are_rows_of_their_own(tmp_path: Path) -> None:
    write_case(tmp_path / "b-cpu" / "1")
    cases = load_cases(tmp_path)
    found = list(
        judge_cases(cases, total=1, report=lambda _: None, parameters=QUICK, methods=["norm"])
    )
    assert [one.place for one in found if one.method == "norm"] == [0]
    lines = rootcause_page(found, command="x").splitlines()
    assert any(line.startswith("| norm | 1.00") for line in lines)
    # Those that only say when, and those that say nothing, are no contenders.
    assert not {"knn", "random", "interfusion"} & set(localizing())


def test_the_cause_itself_is_never_innocent(tmp_path: Path) -> None:
    write_case(tmp_path / "b-cpu" / "1")
    (case,) = load_cases(tmp_path)
    quiet = RootCauseCase(**{**vars(case), "anomalous": case.normal[:40], "end": 40})
    judged = judge_cases([quiet], total=1, report=lambda _: None, parameters=QUICK)
    plain = next(one for one in judged if one.method == "mean |z|")
    assert plain.innocents == 2  # three are ranked, none moved, one is the cause


def test_exact_certainties_miss_by_chance_the_less_the_more_cases() -> None:
    few, many = (calibration_error_by_chance(np.full(n, 0.7)) for n in (10, 1000))
    assert few[0] > 5 * many[0]
    assert few[0] < few[1]


def test_affected_sets_that_are_there_are_measured(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(2, 200, 38))
    test[100:110, 3] += 20
    for part, text in (
        ("train", "\n".join(",".join(map(str, row)) for row in train)),
        ("test", "\n".join(",".join(map(str, row)) for row in test)),
        ("test_label", "\n".join("1" if 100 <= row < 110 else "0" for row in range(200))),
        ("interpretation_label", "100-109:4"),
    ):
        write(tmp_path / "SMD" / part / "machine-1-1.txt", text + "\n")
    (one,) = judge_affected(tmp_path, report=lambda _: None, parameters=QUICK)
    assert (one.dataset, one.entity, one.by_input) == ("SMD", "machine-1-1", 1.0)
    assert 0 <= one.found <= 1
    assert "| SMD | 1 |" in rootcause_page([], command="x", affected=[one])


def test_a_cause_that_is_not_named_is_no_hit() -> None:
    assert accuracy([0, 1, 10**6]) == {"AC@1": 1 / 3, "AC@3": 2 / 3, "Avg@5": 0.6}
    assert calibration_error(np.array([0.95, 0.95]), np.array([True, False])) == pytest.approx(0.45)
    silent = [Verdict("s", "c", "ALoRa, origin", None, 10.0**6, 0.0)]
    assert "| ALoRa, origin | – | – | – | 0.00" in rootcause_page(silent, command="x")


def test_the_command_writes_page_and_verdicts(tmp_path: Path) -> None:
    write_case(tmp_path / "cases" / "b-cpu" / "1")
    page, lines = tmp_path / "page.md", tmp_path / "verdicts.jsonl"
    asked = ["bench", "rootcause", str(tmp_path / "cases"), "--simulated", "0"]
    result = CliRunner().invoke(app, [*asked, "-o", str(page), "--verdicts", str(lines)])
    assert result.exit_code == 0, result.output
    assert "# Root causes" in page.read_text()
    assert {json.loads(line)["case"] for line in lines.read_text().splitlines()} == {"b-cpu/1"}


def test_it_runs_as_a_plan_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}
    monkeypatch.setattr(
        "alora_ts.cli.bench_rootcause.rootcause", lambda **options: asked.update(options)
    )
    result = CliRunner().invoke(app, ["bench", "run", "rootcause", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert asked["affected"] is True
    assert asked["out"] == tmp_path / "rootcause" / "rootcause.md"
    assert "daemon" in str(asked["method"])
    refused = CliRunner().invoke(app, ["bench", "run", "rootcause", "--only", "cnn"])
    assert isinstance(refused.exception, AloraError)
    assert "one run" in str(refused.exception)
    assert "rootcause" in CliRunner().invoke(app, ["bench", "plans"]).output
    silent = CliRunner().invoke(app, ["bench", "rootcause", "--method", "knn"])
    assert "does not say which variables" in str(silent.exception)
