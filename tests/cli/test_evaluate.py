"""The command `evaluate`: a table, JSON, a picture, and errors that name file, column and row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from alora_ts import metrics
from alora_ts.cli.evaluate import evaluate
from alora_ts.errors import AloraError

app = typer.Typer()
app.command()(evaluate)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 0, 1, 0], [100, 10, 60, 1, 29])
    table = pl.DataFrame({"truth": label, "score": np.exp(rng.normal(size=200) * 3 + 4 * label)})
    table.write_csv(tmp_path / "scores.csv")
    table.write_parquet(tmp_path / "scores.parquet")
    return tmp_path / "scores.csv"


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, [str(part) for part in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def failing(*arguments: str | Path) -> str:
    with pytest.raises(AloraError) as caught:
        run(*arguments)
    return str(caught.value)


def test_the_table_has_chance_beside_every_number(scores: Path) -> None:
    shown = run(scores, "--label", "truth", "--threshold", "1", "--seconds-per-row", "60")
    assert "200 rows, 2 events, 5.5% of the rows anomalous" in shown
    for part in ("affiliation F1", "given threshold", "VUS-PR", "false alarms per day", "±"):
        assert part in shown
    assert "point-adjusted" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "…" not in shown
    assert "point-adjusted F1" in run(scores, "--label", "truth", "--point-adjusted")


def test_json_holds_the_same_numbers_from_csv_and_parquet(scores: Path) -> None:
    printed = run(scores, "--label", "truth", "--json")
    assert printed == run(scores.with_suffix(".parquet"), "--label", "truth", "--json")
    table = pl.read_csv(scores)
    best = metrics.best_f1(table["truth"].to_numpy(), table["score"].to_numpy())
    found = json.loads(printed)
    assert found["best_threshold"] == best.threshold
    assert found["measures"][0]["name"] == "incident F1"
    [ours] = [one for one in found["measures"] if one["name"] == "affiliation F1"]
    assert ours["value"] == best.f1


def test_incidents_come_first_with_what_was_counted(scores: Path) -> None:
    shown = run(scores, "--label", "truth", "--threshold", "1", "--gap", "3", "--widening", "4")
    heads = [line.strip() for line in shown.splitlines() if line.strip().endswith("incidents")]
    assert heads[:2] == ["given threshold, incidents", "best threshold, incidents"]
    said = " ".join(shown.split())
    assert "at most 3 rows apart are one incident" in said
    assert "within 4 rows of one" in said


def test_alarms_and_times_of_the_file_are_used_and_named(scores: Path) -> None:
    table = pl.read_csv(scores)
    times = pl.datetime_range(
        pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 16, 35), "5m", eager=True
    )
    alarm = np.convolve(table["score"] > 100, [1, 1, 1])[: len(table)] > 0
    dated = table.with_columns(time=times, is_anomaly=pl.Series(alarm), odd=~alarm)
    path = scores.with_name("dated.csv")
    dated.write_csv(path)
    shown = run(path, "--label", "truth")
    assert "Alarms: column is_anomaly." in shown
    assert "A row every 300 s: column time." in shown
    found = json.loads(run(path, "--label", "truth", "--json"))
    assert found["seconds_per_row"] == 300
    first = found["measures"][0]
    judged = metrics.judge_incidents(table["truth"], alarm)
    assert (first["choice"], first["value"]) == ("given threshold", judged.f1)
    other = json.loads(run(path, "--label", "truth", "--json", "--alarm", "odd"))
    assert other["measures"][0]["value"] != judged.f1
    dated.write_parquet(path.with_suffix(".parquet"))
    assert json.loads(run(path.with_suffix(".parquet"), "--label", "truth", "--json")) == found
    assert "not both" in failing(path, "--label", "truth", "--alarm", "odd", "--threshold", "1")
    assert "has no column 'od'" in failing(path, "--label", "truth", "--alarm", "od")


def test_the_curve_of_incidents_is_written(scores: Path) -> None:
    target = scores.with_name("curve.csv")
    run(scores, "--label", "truth", "--seconds-per-row", "60", "--curve", target)
    written = pl.read_csv(target)
    table = pl.read_csv(scores)
    front = metrics.incident_curve(table["truth"], table["score"]).front()
    assert written["events_found"].to_list() == pytest.approx(front.recall.tolist())
    assert written["false_incidents"].to_list() == front.false.tolist()
    per_day = front.per_thousand / 1000 * 1440
    assert written["false_per_day"].to_list() == pytest.approx(per_day.tolist())
    message = failing(scores, "--label", "truth", "--curve", scores.with_name("no") / "curve.csv")
    assert "does not exist" in message


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_picture_is_written(scores: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    target = scores.with_name(f"out{suffix}")
    run(scores, "--label", "truth", "--threshold", "5", "--plot", target)
    assert target.stat().st_size > 10_000


def test_a_wrong_column_is_corrected(scores: Path) -> None:
    assert "has no column 'trut'; did you mean 'truth'?" in failing(scores, "--label", "trut")
    assert "has no column 'raw'" in failing(scores, "--label", "truth", "--score", "raw")
    assert "detect --label` writes" in failing(scores, "--label", "attack")
    bare = scores.with_name("bare.csv")
    bare.write_text("truth,flow\n0,1\n1,2\n")
    assert f"alora-ts detect MODEL {bare} -o FILE" in failing(bare, "--label", "truth")


def test_wrong_files_are_named(tmp_path: Path) -> None:
    assert "there is no such file" in failing(tmp_path / "none.csv", "--label", "truth")
    other = tmp_path / "scores.txt"
    other.write_text("a")
    assert "must end in .csv or .parquet" in failing(other, "--label", "truth")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"not parquet at all")
    assert f"cannot read {broken}" in failing(broken, "--label", "truth")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert f"cannot read {empty}" in failing(empty, "--label", "truth")


def test_wrong_values_are_placed(tmp_path: Path) -> None:
    def told(rows: str) -> str:
        path = tmp_path / "bad.csv"
        path.write_text("truth,score\n" + rows)
        message = failing(path, "--label", "truth")
        assert str(path) in message
        return message

    assert "column 'truth' has no value in row 1" in told("0,1\n,2\n1,2\n")
    assert "column 'score' must be numbers" in told("0,low\n1,high\n")
    assert "score must be finite, but row 1 holds nan" in told("0,1.5\n1,NaN\n")
    assert "label must hold only 0 and 1, but row 1 holds 2" in told("0,1\n2,2\n")
    assert "marks no event" in told("0,1\n0,2\n")


def test_a_picture_of_unknown_kind_is_refused(scores: Path) -> None:
    message = failing(scores, "--label", "truth", "--plot", scores.with_name("out.bmp"))
    assert "must end in .pdf, .png, .svg" in message


def test_the_alarms_of_the_same_file_are_no_truth(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    score = np.exp(rng.normal(size=300) - 1)
    alarm = score > 1
    path = tmp_path / "scores.csv"
    pl.DataFrame({"score": score, "is_anomaly": alarm, "copy": alarm}).write_csv(path)
    for name in ("is_anomaly", "copy"):
        assert "holds the alarms of this file" in failing(path, "--label", name)
    # A level that closes alarms later, and warm-up rows that never alarm, are still its own.
    late, early = alarm.copy(), np.arange(300) < 20
    late[1:] |= alarm[:-1]
    table = pl.DataFrame({"score": score, "is_anomaly": late & ~early, "warm_up": early})
    table.write_csv(path)
    assert "holds the alarms of this file" in failing(path, "--label", "is_anomaly")
    # A truth that happens to bear that name is one.
    truth = np.repeat([0, 1, 0], [100, 50, 150])
    pl.DataFrame({"score": score, "is_anomaly": truth}).write_csv(path)
    assert "1 events" in run(path, "--label", "is_anomaly")
