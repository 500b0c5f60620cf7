"""The command `backtest`: a table, files, and the library's numbers in them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from alora_ts import load
from alora_ts.backtest import backtest
from tests.cli.invoke import QUICK, faulty, files, invoke, plant


def _history(folder: Path) -> Path:
    path = folder / "history.csv"
    pl.concat([plant(500), faulty()]).write_csv(path)
    return path


def test_it_says_what_would_have_alarmed(tmp_path: Path) -> None:
    outcome = invoke(
        *("backtest", _history(tmp_path), "--train", "400", "--refit-every", "3h", *QUICK),
        *("-o", tmp_path / "rows.csv", "--incidents", tmp_path / "incidents.csv"),
        *("--report", tmp_path / "page.html"),
    )
    assert outcome.code == 0, outcome.err
    shown = " ".join(outcome.out.split())
    assert "300 rows replayed with 2 fit(s)" in shown
    assert "a day" in shown
    assert "Incidents by their first culprit:" in shown
    assert "flow" in shown
    assert pl.read_csv(tmp_path / "rows.csv")["round"].to_list() == [1] * 180 + [2] * 120
    assert "flow" in pl.read_csv(tmp_path / "incidents.csv")["variable"].to_list()
    assert "Backtest of history.csv" in (tmp_path / "page.html").read_text()
    wanted = {"history.csv", "rows.csv", "incidents.csv", "page.html"}
    assert files(tmp_path) == wanted


def test_labels_judge_the_incidents_beside_chance(tmp_path: Path) -> None:
    history = _history(tmp_path)
    table = pl.read_csv(history)
    at = np.arange(len(table))
    labelled = table.with_columns(fault=pl.Series(((at >= 620) & (at < 640)).astype(int)))
    labelled.write_csv(history)
    rows, page, everything = (tmp_path / name for name in ("rows.csv", "page.html", "all.json"))
    call = ("backtest", history, "--train", "400", "--label", "fault", *QUICK)
    outcome = invoke(*call, "-o", rows, "--report", page)
    assert outcome.code == 0, outcome.err
    shown = " ".join(outcome.out.split())
    assert "By the label fault, which marks 1 events:" in shown
    assert "these alarms, incidents" in shown
    assert "best threshold, incidents" in shown
    assert "at most 4 rows apart are one incident" in shown  # as the model merges them
    written = page.read_text()
    assert "Judged by fault" in written
    assert "1 of 1 events found" in written
    assert "By the label fault the incident F1 is" in written
    # What it wrote can be evaluated as it is.
    again = json.loads(invoke("evaluate", rows, "--label", "fault", "--gap", "4", "--json").out)
    invoke(*call, "-o", everything, "-q")
    said = json.loads(everything.read_text())["evaluation"]
    assert (said["gap"], said["seconds_per_row"]) == (4, 60.0)
    ours, theirs = ([one["value"] for one in found["measures"][:12]] for found in (said, again))
    assert ours == theirs


def test_a_label_taken_for_a_signal_is_warned_of(tmp_path: Path) -> None:
    history = _history(tmp_path)
    table = pl.read_csv(history)
    at = np.arange(len(table))
    table.with_columns(attack=pl.Series((at >= 620).astype(int))).write_csv(history)
    outcome = invoke("backtest", history, "--train", "400", *QUICK)
    assert "'attack' is named like a label" in " ".join(outcome.err.split())
    assert "By the label" not in outcome.out


def test_the_settings_of_a_model_can_be_used(made: Path, tmp_path: Path) -> None:
    history, out = _history(tmp_path), tmp_path / "all.json"
    call = ("backtest", history, "--like", made / "plant.alora", "-o", out, "-q")
    outcome = invoke(*call, "--train", "0.6", "--history", "300")
    assert (outcome.code, outcome.out) == (0, ""), outcome.err
    said = json.loads(out.read_text())
    expected = backtest(history, model=load(made / "plant.alora"), train=0.6, history=300)
    assert said["alarming_rows"] == expected.alarming_rows
    assert said["rounds"][0]["train_start"] == 420 - 300


def test_bad_input_is_refused_and_nothing_written(tmp_path: Path) -> None:
    history = _history(tmp_path)
    out = ("-o", tmp_path / "rows.csv")
    for more, named in (
        (("--train", "1000"), "train"),
        (("--refit-every", "fortnight"), "refit_every"),
        (("--like", tmp_path / "no.alora"), "no.alora"),
        (("--ignore", "flaw"), "flow"),
        (("--false-alarms", "often", *QUICK), "false_alarms"),
    ):
        outcome = invoke("backtest", history, *out, *more)
        assert (outcome.code, outcome.out) == (1, "")
        assert named in outcome.err
        assert "Traceback" not in outcome.err
    assert files(tmp_path) == {"history.csv"}
