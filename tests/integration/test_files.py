"""From files to files: the commands as a user types them, each in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.invoke import QUICK, faulty, files, plant
from tests.forked import begin


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    """What ``alora-ts ARGUMENTS`` prints, run in this folder."""
    log = folder / "printed"
    go = f"import os, warnings; os.chdir({str(folder)!r}); os.environ['COLUMNS'] = '120'\n"
    process = begin(
        arguments, log=log, prelude=f"{go}warnings.simplefilter('error', FutureWarning)"
    )
    ended = process.wait(300)
    printed = log.read_text()
    log.unlink()
    assert ended == code, printed
    assert "FutureWarning" not in printed
    return printed


@pytest.mark.slow
def test_fit_detect_report_explain_evaluate(tmp_path: Path) -> None:
    plant(500).write_csv(tmp_path / "normal.csv")
    faulty().write_parquet(tmp_path / "today.parquet")
    fitted = run(tmp_path, "fit", "normal.csv", "-o", "plant.alora", *QUICK, "--scaling", "robust")
    assert "4 variables, window 8" in " ".join(fitted.split())

    outputs = ("-o", "scores.csv", "--incidents", "incidents.json", "--report", "report.html")
    run(tmp_path, "detect", "plant.alora", "today.parquet", *outputs, "--fail-on-anomaly", code=3)
    culprits = json.loads((tmp_path / "incidents.json").read_text())
    worst = max(culprits, key=lambda each: (each["score"], each["share"]))
    assert (worst["variable"], worst["direction"], worst["origin"]) == ("flow", "above", "flow")
    assert "flow" in (tmp_path / "report.html").read_text(encoding="utf-8")

    [first, *_] = json.loads(run(tmp_path, "explain", "plant.alora", "--json"))
    assert {"source", "target", "weight", "relative"} <= set(first)

    scores = pl.read_csv(tmp_path / "scores.csv")
    assert len(scores) == 200
    row = pl.int_range(pl.len())
    labelled = scores.with_columns(label=row.is_between(120, 139).cast(pl.Int8))
    labelled.write_csv(tmp_path / "labelled.csv")
    judged = json.loads(
        run(tmp_path, "evaluate", "labelled.csv", "--label", "label", "--threshold", "1", "--json")
    )
    caught = {each["choice"]: each for each in judged["measures"] if each["name"] == "event F1"}
    assert caught["given threshold"]["recall"] == 1.0
    assert caught["given threshold"]["random"] < 0.9
    (tmp_path / "labelled.csv").unlink()
    # Nothing is left behind but what was asked for.
    assert files(tmp_path) == {
        "normal.csv",
        "today.parquet",
        "plant.alora",
        "scores.csv",
        "incidents.json",
        "report.html",
    }
