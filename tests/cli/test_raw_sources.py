"""Files as others publish them, in one command each; and what must not be misread."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from alora_ts import load
from tests.cli.invoke import QUICK, faulty, files, invoke, plant
from tests.cli.test_bad_input import refused

SHARED = Path(os.environ.get("ALORA_TS_DATA", Path(__file__).parents[3] / "shared" / "data"))


def water(path: Path, *, days: int, first: dt.datetime, attack: range = range(0)) -> Path:
    """As BATADAL writes it: hours of `06/01/14 00`, tanks, pumps and an ATT_FLAG."""
    rng = np.random.default_rng(days)
    lines = ["DATETIME,L_T1,L_T2,F_PU1,S_PU1,ATT_FLAG"]
    for hour in range(24 * days):
        load = np.sin(hour / 4) + 0.02 * rng.normal()
        leak = 3.0 if hour in attack else 0.0
        moment = first + dt.timedelta(hours=hour)
        cells = [2 + load - leak, 3 - load, 90 + 9 * load, float(load > 0)]
        marks = ",".join(f"{cell:.4f}" for cell in cells)
        lines.append(f"{moment:%d/%m/%y %H},{marks},{int(hour in attack)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def bench(path: Path, *, rows: int, fault: range = range(0), seed: int = 0) -> Path:
    """As SKAB writes it: semicolons, seconds, and the columns anomaly and changepoint."""
    rng = np.random.default_rng(seed)
    lines = ["datetime;Accelerometer1RMS;Current;Pressure;Temperature;anomaly;changepoint"]
    start = dt.datetime(2020, 3, 9, 12, 34, 33)
    for row in range(rows):
        load = np.sin(row / 9)
        moved = 4.0 if row in fault else 0.0
        cells = [0.2 + 0.01 * load, 1 + load + moved, 0.05 - load, 90 + load / 3]
        noisy = ";".join(f"{cell + 0.01 * rng.normal():.5f}" for cell in cells)
        edge = int(row in (fault.start, fault.stop)) if fault else 0
        lines.append(f"{start + dt.timedelta(seconds=row)};{noisy};{int(row in fault)}.0;{edge}.0")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_water_network(tmp_path: Path) -> None:
    train = water(tmp_path / "train.csv", days=40, first=dt.datetime(2014, 1, 6))
    model, out = tmp_path / "w.alora", tmp_path / "scores.csv"
    fitted = invoke("fit", train, "-o", model, "--label", "ATT_FLAG", *QUICK)
    assert fitted.code == 0, fitted.err
    assert "times read as %d/%m/%y %H" in fitted.out
    assert "label" not in fitted.err
    known = load(model).model_.preparation
    assert known.variables == ("L_T1", "L_T2", "F_PU1", "S_PU1")
    assert known.step == 3600
    # Three days in February alone could be months of any year: the model knows better.
    test = water(tmp_path / "t.csv", days=3, first=dt.datetime(2016, 2, 5), attack=range(40, 60))
    found = invoke("detect", model, test, "-o", out)
    assert found.code == 0, found.err
    assert "Label ATT_FLAG: 1 of 1 events found" in found.out
    assert "ATT_FLAG 4" not in found.out  # it is no culprit
    written = pl.read_csv(out)
    assert written["ATT_FLAG"].sum() == 20
    assert invoke("evaluate", out, "--label", "ATT_FLAG", "--threshold", "1").code == 0
    own = invoke("evaluate", out, "--label", "is_anomaly")
    refused(own, "holds the alarms of this file")


def test_a_test_bench(tmp_path: Path) -> None:
    train = bench(tmp_path / "free.csv", rows=700)
    model = tmp_path / "b.alora"
    fitted = invoke(
        "fit", train, "-o", model, "--label", "anomaly", "--ignore", "changepoint", *QUICK
    )
    assert fitted.code == 0, fitted.err
    assert "cells separated by semicolons" in fitted.out
    test = bench(tmp_path / "valve.csv", rows=300, fault=range(200, 240), seed=1)
    out = tmp_path / "o.json"
    found = invoke("detect", model, test, "-o", out)
    assert found.code == 0, found.err
    assert "1 of 1 events found" in found.out
    worst = max(json.loads(out.read_text())["incidents"], key=lambda one: one["score"])
    assert worst["culprits"][0]["variable"] == "Current"


@pytest.mark.skipif(
    not (SHARED / "petshop").is_dir(), reason="the shop's files lie in ../shared, which is absent"
)
def test_a_web_shop(tmp_path: Path) -> None:
    shop, model = SHARED / "petshop" / "low_traffic", tmp_path / "shop.alora"
    short = ("--window", "3", "--epochs", "1")  # an issue's file has five rows
    train = shop / "noissue" / "metrics.csv"
    fitted = invoke("fit", train, "-o", model, "--header-rows", "3", *short)
    assert fitted.code == 0, fitted.err
    assert "times read as seconds since 1970" in fitted.out
    known = load(model).model_.preparation
    assert "PetSite latency Average" in known.variables
    assert known.step == 300
    issue = shop / "train" / "issue_0" / "metrics.csv"
    found = invoke("detect", model, issue)
    assert found.code == 0, found.err
    assert "invalid_AWS::DynamoDB::Table latency Average (not in training)" in " ".join(
        found.out.split()
    )


def test_a_label_left_in_the_file_is_warned_of(tmp_path: Path) -> None:
    train = water(tmp_path / "train.csv", days=30, first=dt.datetime(2014, 1, 6))
    outcome = invoke("fit", train, "-o", tmp_path / "m.alora", *QUICK)
    assert outcome.code == 0
    assert "Warning: 'ATT_FLAG' is named like a label" in outcome.err
    assert "--label ATT_FLAG" in outcome.err
    text = train.read_text().replace("ATT_FLAG", "plain")
    train.write_text(text)
    assert "'plain' is always 0 or 1 in training" in invoke(
        "fit", train, "-o", tmp_path / "m.alora", *QUICK
    ).err.replace("\n", " ")
    marked = water(tmp_path / "t.csv", days=30, first=dt.datetime(2014, 1, 6), attack=range(9, 30))
    labelled = invoke("fit", marked, "-o", tmp_path / "m.alora", "--label", "ATT_FLAG", *QUICK)
    assert "21 of 720 training rows are marked as anomalous" in labelled.err.replace("\n", " ")


def test_rows_twenty_times_slower_than_training_are_not_called_normal(
    made: Path, tmp_path: Path
) -> None:
    faulty(4000).gather_every(20).write_csv(tmp_path / "slow.csv")
    outcome = invoke("detect", made / "plant.alora", tmp_path / "slow.csv", "--fail-on-anomaly")
    assert outcome.code == 4
    assert "No incident" not in outcome.out
    said = outcome.err.replace("\n", " ")
    assert "nothing could be judged" in said
    assert "rows are 1200 apart, in training they were 60" in said
    quiet = invoke("detect", made / "plant.alora", tmp_path / "slow.csv", "-q")
    assert quiet.code == 4
    assert quiet.out == ""
    faulty(5).write_csv(tmp_path / "few.csv")
    chunks = ("--chunk-rows", "100", "-o", tmp_path / "o.csv", "--fail-on-anomaly")
    chunked = invoke("detect", made / "plant.alora", tmp_path / "slow.csv", *chunks)
    assert chunked.code == 4
    assert "nothing could be judged" in chunked.err
    few = invoke("detect", made / "plant.alora", tmp_path / "few.csv")
    assert few.code == 4
    assert "there are 5 rows, and a window needs 8" in few.err.replace("\n", " ")
    for command in ((), ("detect",)):
        assert "judged" in invoke(*command, "--help").out


def test_health_is_told_after_a_detection(made: Path, tmp_path: Path) -> None:
    moved = faulty(300).with_columns(
        flow=pl.when(pl.int_range(300) < 150).then("flow").otherwise(pl.col("flow") + 90)
    )
    moved.write_csv(tmp_path / "t.csv")
    outcome = invoke("detect", made / "plant.alora", tmp_path / "t.csv", "-o", tmp_path / "o.json")
    said = outcome.err.replace("\n", " ")
    assert "'flow' has been above its training range" in said
    assert "training does not cover this" in said
    assert "of the judged rows alarm" in said
    kept = json.loads((tmp_path / "o.json").read_text())
    assert any("training range" in line for line in kept["health"])
    assert kept["judged_rows"] == 293
    usual = invoke("detect", made / "plant.alora", made / "today.csv")
    assert usual.err == ""


def test_health_is_told_after_a_fit(tmp_path: Path) -> None:
    still = plant(300).with_columns(
        pl.lit(5.0).alias(n) for n in ("load", "flow", "pressure", "heat")
    )
    still.write_csv(tmp_path / "still.csv")
    outcome = invoke("fit", tmp_path / "still.csv", "-o", tmp_path / "m.alora", *QUICK)
    assert outcome.code == 0
    assert "every column is constant in training" in outcome.err.replace("\n", " ")
    plant(200).write_csv(tmp_path / "few.csv")
    few = invoke("fit", tmp_path / "few.csv", "-o", tmp_path / "m.alora", *QUICK)
    assert "so the level is a guess" in few.err.replace("\n", " ")


def test_every_hint_of_the_data_layer_is_an_option() -> None:
    """A hint that names an option which the command does not have sends people astray."""
    source = Path(__file__).parents[2] / "src" / "alora_ts" / "data"
    hints = {
        hint
        for file in source.glob("*.py")
        for hint in re.findall(r"\((--[a-z-]+)", file.read_text())
    }
    assert {"--time", "--ignore", "--time-format", "--na", "--map"} <= hints
    for command in (("fit",), ("detect",), ("backtest",), ("fleet", "fit")):
        shown = invoke(*command, "--help").out
        for hint in hints - {"--set", "--near-names"}:
            assert hint in shown, (command, hint)
    assert "--near-names" in invoke("detect", "--help").out


def test_options_of_reading(tmp_path: Path) -> None:
    frame = plant(300).with_columns(
        time=pl.col("time").dt.strftime("%d/%m/%Y %H:%M"), mode=pl.lit("AUTO")
    )
    frame.write_csv(tmp_path / "n.txt", separator="\t")
    model = tmp_path / "m.alora"
    outcome = invoke(
        "fit", tmp_path / "n.txt", "-o", model, "--separator", "tab", "--map", "AUTO=1,MANUAL=0",
        "--time-format", "%d/%m/%Y %H:%M", "--na", "gone,-1", *QUICK
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert load(model).model_.preparation.fitted.form.mapping == {"AUTO": 1.0, "MANUAL": 0.0}
    assert invoke("detect", model, tmp_path / "n.txt").code == 0
    refused(invoke("fit", tmp_path / "n.txt", "-o", model, "--map", "AUTO"), "AUTO=1")
    refused(invoke("fit", tmp_path / "n.txt", "-o", model, "--long", "tag"), "--long tag,value")
    refused(invoke("fit", tmp_path / "n.txt", "-o", model, "--decimal", ";"), "'.' or ','")
    assert files(tmp_path) == {"n.txt", "m.alora"}


def test_other_columns_at_detection(made: Path, tmp_path: Path) -> None:
    today, model = tmp_path / "today.csv", made / "plant.alora"
    faulty().with_columns(note=pl.lit("hello"), more=pl.lit(1.0)).write_csv(today)
    outcome = invoke("detect", model, today)
    assert outcome.code == 0, outcome.err
    assert "left out: note (not in training), more (not in training)" in outcome.out
    faulty().rename({"heat": "Heat"}).write_csv(today)
    refused(invoke("detect", model, today), "'Heat' is near 'heat'", "--near-names")
    near = invoke("detect", model, today, "--near-names")
    assert near.code == 0, near.err
    assert "took near names: 'Heat' as 'heat'" in near.out
    faulty().drop("heat").write_csv(today)
    without = invoke("detect", model, today, "--ignore", "heat")
    assert without.code == 0, without.err
    assert "no value at all: heat" in without.out
    for suffix, rows in ((".csv", ("--chunk-rows", "50")), (".parquet", ("--chunk-rows", "50"))):
        out = tmp_path / f"o{suffix}"
        chunked = invoke("detect", model, today, "--ignore", "heat", "-o", out, *rows)
        assert chunked.code == 0, chunked.err
