"""Every command does what its help says, and its exit code says how it went."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import alora_ts
from tests.cli.invoke import QUICK, VARIABLES, faulty, files, invoke, plant


def test_fit_writes_a_model_and_says_what_it_saw(made: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.alora"
    outcome = invoke("fit", made / "normal.csv", "-o", model, *QUICK)
    assert outcome.code == 0, outcome.err
    assert "500 rows" in outcome.out
    assert "4 variables, window 8" in " ".join(outcome.out.split())
    assert alora_ts.load(model).model_.preparation.variables == VARIABLES
    assert files(tmp_path) == {"m.alora"}


def test_equal_fits_give_equal_bytes(made: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.alora"
    invoke("fit", made / "normal.csv", "-o", again, *QUICK, "-q")
    assert again.read_bytes() == (made / "plant.alora").read_bytes()


def test_fit_says_what_repeats_each_day_and_can_leave_it(tmp_path: Path) -> None:
    hours = np.arange(24 * 10)
    load = 9 * np.sin(2 * np.pi * hours / 24) + np.random.default_rng(0).normal(size=len(hours))
    first = np.datetime64("2026-03-01", "us")
    table = pl.DataFrame({"time": first + hours * np.timedelta64(1, "h"), "load": load, "n": -load})
    table.write_csv(tmp_path / "days.csv")
    call = ("fit", tmp_path / "days.csv", "-o", tmp_path / "m.alora", *QUICK)
    said = " ".join(invoke(*call).out.split())
    assert "Each day 2 of 2 variables take the same course, which explains 9" in said
    assert "Each day" not in invoke(*call, "--set", "calendar=off").out
    refused = invoke(*call, "--set", "calendar=of")
    assert "did you mean 'off'" in refused.err


def test_columns_and_ignore_choose_the_variables(made: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.alora"
    common = ("fit", made / "normal.csv", "-o", model, *QUICK, "-q")
    assert invoke(*common, "--columns", "heat,load", "--columns", "flow").code == 0
    assert alora_ts.load(model).model_.preparation.variables == ("heat", "load", "flow")
    assert invoke(*common, "--ignore", "heat, load").code == 0
    assert alora_ts.load(model).model_.preparation.variables == ("flow", "pressure")


def test_a_time_column_of_any_name_can_be_given(tmp_path: Path) -> None:
    plant(300).rename({"time": "noted"}).write_parquet(tmp_path / "n.parquet")
    faulty().rename({"time": "noted"}).write_parquet(tmp_path / "t.parquet")
    model, scores = tmp_path / "m.alora", tmp_path / "s.csv"
    fitted = invoke("fit", tmp_path / "n.parquet", "-o", model, "--time", "noted", *QUICK, "-q")
    assert fitted.code == 0, fitted.err
    outcome = invoke("detect", model, tmp_path / "t.parquet", "--time", "noted", "-o", scores)
    assert outcome.code == 0, outcome.err
    assert pl.read_csv(scores).columns[0] == "noted"


def test_validation_and_target_alarms_reach_the_estimator(made: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.alora"
    plant(200, seed=5, start=600).write_csv(tmp_path / "held.csv")
    options = ("--validation", tmp_path / "held.csv", "--false-alarms", "1 per 500 rows", "-q")
    assert invoke("fit", made / "normal.csv", "-o", model, *QUICK, *options).code == 0
    loaded = alora_ts.load(model)
    assert loaded.false_alarms == "1 per 500 rows"
    assert loaded.model_.calibration.threshold.each == 500
    # The rows without a full window behind them do not count.
    assert loaded.model_.calibration.held_back_rows == 200 - 7


def test_detect_names_the_culprit(made: Path) -> None:
    outcome = invoke("detect", made / "plant.alora", made / "today.csv")
    assert outcome.code == 0, outcome.err
    assert "1 incident (high)" in outcome.out
    assert "flow" in outcome.out
    assert "above" in outcome.out


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_scores_are_those_of_the_library(made: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"scores{suffix}"
    outcome = invoke("detect", made / "plant.alora", made / "today.csv", "-o", out, "-q")
    assert (outcome.code, outcome.out) == (0, "")
    table = pl.read_csv(out) if suffix == ".csv" else pl.read_parquet(out)
    expected = alora_ts.load(made / "plant.alora").score(made / "today.csv")
    assert table["score"].to_numpy() == pytest.approx(expected, rel=1e-5)
    assert (table["is_anomaly"] == ((table["score"] > 1) & ~table["warm_up"])).all()
    assert table.columns == ["time", "score", "is_anomaly", "raw", "rank", "error", "warm_up"]


def test_variables_adds_who_caused_it(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    invoke("detect", made / "plant.alora", made / "today.csv", "-o", out, "--variables", "-q")
    wanted = [f"localization:{name}" for name in VARIABLES]
    table = pl.read_csv(out).slice(122, 15).select(wanted)
    assert max(wanted, key=lambda name: float(table[name].sum())) == "localization:flow"


def test_json_is_the_whole_diagnosis(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    invoke("detect", made / "plant.alora", made / "today.csv", "-o", out, "-q")
    found = json.loads(out.read_text())
    assert found["rows"] == 200
    assert found["alarming_rows"] == len(found["results"]) > 0
    leading = max(found["results"], key=lambda result: result["score"])
    assert leading["interpretation"][0]["variable"] == "flow"
    assert set(leading) == {"timestamp", "is_anomaly", "score", "severity", "interpretation"}


def test_chunks_report_the_incidents_of_one_pass(made: Path, tmp_path: Path) -> None:
    common = ("detect", made / "plant.alora", made / "today.csv", "--fail-on-anomaly")
    whole, parts, out = (tmp_path / f"{name}.csv" for name in ("whole", "parts", "scores"))
    assert invoke(*common, "--incidents", whole, "-q").code == 3
    chunked = invoke(*common, "--chunk-rows", "30", "-o", out, "--incidents", parts)
    assert chunked.code == 3, chunked.err
    assert "1 incident (high)" in chunked.out
    one, other = pl.read_csv(whole), pl.read_csv(parts)
    assert one.columns == other.columns
    for name in one.columns:
        if one[name].dtype == pl.Float64:
            assert other[name].to_list() == pytest.approx(one[name].to_list(), rel=1e-4)
        else:
            assert other[name].to_list() == one[name].to_list()


def test_chunks_refuse_what_needs_the_whole_table(made: Path, tmp_path: Path) -> None:
    common = ("detect", made / "plant.alora", made / "today.csv", "-o", tmp_path / "s.csv")
    outcome = invoke(*common, "--chunk-rows", "30", "--report", tmp_path / "r.html")
    assert outcome.code == 1
    assert "leave out --report" in outcome.err
    assert files(tmp_path) == set()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_incidents_in_every_form(made: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"incidents{suffix}"
    outcome = invoke("detect", made / "plant.alora", made / "today.csv", "--incidents", out, "-q")
    assert outcome.code == 0, outcome.err
    if suffix == ".json":
        first = json.loads(out.read_text())[0]
    else:
        first = (pl.read_csv(out) if suffix == ".csv" else pl.read_parquet(out)).row(0, named=True)
    worst = alora_ts.load(made / "plant.alora").diagnose(made / "today.csv").incidents[0]
    assert first["variable"] == worst.culprits[0].variable
    assert first["rows"] == worst.rows


def test_report_is_one_page(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "today.html"
    outcome = invoke("detect", made / "plant.alora", made / "today.csv", "--report", page)
    assert outcome.code == 0, outcome.err
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert "flow" in text
    assert files(tmp_path) == {"today.html"}


def test_fail_on_anomaly_is_3_only_with_an_incident(made: Path, tmp_path: Path) -> None:
    call = ("detect", made / "plant.alora")
    assert invoke(*call, made / "today.csv", "--fail-on-anomaly", "-q").code == 3
    # A handful of training rows: nothing unusual, and too few for chance alarms.
    pl.read_csv(made / "normal.csv").slice(100, 40).write_csv(tmp_path / "calm.csv")
    calm = invoke(*call, tmp_path / "calm.csv", "--fail-on-anomaly")
    assert (calm.code, "No incident" in calm.out) == (0, True)


def test_explain_lists_relations_of_a_variable(made: Path) -> None:
    outcome = invoke("explain", made / "plant.alora", "--variable", "flow", "--json", "-n", "3")
    found = json.loads(outcome.out)
    assert len(found) == 3
    assert all("flow" in (relation["source"], relation["target"]) for relation in found)
    assert "who influences whom" in invoke("explain", made / "plant.alora").out


def test_explain_says_which_part_of_a_variables_influence_each_relation_is(made: Path) -> None:
    listed = json.loads(invoke("explain", made / "plant.alora", "--json", "-n", "100").out)
    relations = alora_ts.load(made / "plant.alora").contributions_
    c = relations.reconstruction
    for one in listed:
        source, target = (relations.variables.index(one[end]) for end in ("source", "target"))
        assert one["weight"] == pytest.approx(c[source, target])
        assert one["relative"] == pytest.approx(c[source, target] / c[source].sum())
    shown = invoke("explain", made / "plant.alora", "-n", "1").out
    assert "part" in shown
    assert f"{listed[0]['relative']:+.0%}" in shown


def test_explain_suggests_the_variable_that_was_meant(made: Path) -> None:
    outcome = invoke("explain", made / "plant.alora", "--variable", "flaw")
    assert outcome.code == 1
    assert "did you mean 'flow'" in outcome.err


def test_info_prints_the_model_card(made: Path) -> None:
    card = json.loads(invoke("info", made / "plant.alora", "--json").out)
    assert card["variables"] == list(VARIABLES)
    assert card["training_rows"] == 500
    assert card["step_seconds"] == 60
    assert "limits" in invoke("info", made / "plant.alora").out


def test_data_lists_describes_and_refuses(tmp_path: Path) -> None:
    assert "SMD" in invoke("data", "list", "--root", tmp_path).out
    assert "licence" in invoke("data", "info", "SMD").out
    mistyped = invoke("data", "info", "SMDD")
    assert mistyped.code == 1
    assert "did you mean 'SMD'" in mistyped.err
    assert invoke("data", "check", "SMD", "--root", tmp_path).code == 1


def test_version() -> None:
    assert invoke("--version").out == f"alora-ts {alora_ts.__version__}\n"


def test_incidents_come_worst_first_and_can_be_limited(made: Path, tmp_path: Path) -> None:
    frame = faulty(900)
    at = np.arange(900)
    sizes = {200: 0.3, 400: 40.0, 600: 2.0}
    moved = sum(size * ((at >= row) & (at < row + 6)) for row, size in sizes.items())
    frame.with_columns(heat=frame["heat"] + moved).write_csv(tmp_path / "t.csv")
    call = ("detect", made / "plant.alora", tmp_path / "t.csv")
    out = tmp_path / "i.json"

    def count() -> int:
        return len({row["incident"] for row in json.loads(out.read_text())})

    every = invoke(*call, "--incidents", out)
    assert every.code == 0, every.err
    severities = re.findall(r"× alarm level, (\w+)", every.out)
    assert len(severities) > 1
    assert severities == sorted(severities, key=["high", "medium", "low"].index)
    assert re.search(r"\d+ incidents \(\d+ high", every.out)
    whole = count()
    high = invoke(*call, "--incidents", out, "--min-severity", "high")
    assert set(re.findall(r"× alarm level, (\w+)", high.out)) == {"high"}
    assert count() < whole
    refused = invoke(*call, "--min-severity", "hihg")
    assert refused.code == 1
    assert "did you mean 'high'" in refused.err
    merged = invoke(*call, "--incidents", out, "--merge", "500", "-q")
    assert merged.code == 0, merged.err
    assert count() < whole
    invoke(*call, "--incidents", out, "--minimum", "900", "-q")
    assert count() == 0


def test_every_parameter_can_be_set(made: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.alora"
    call = ("fit", made / "normal.csv", "-o", model, *QUICK, "-q")
    settings = ("heads=2", "drift_memory=0", "preparation.gap=120", "pairs=none", "causal=true")
    outcome = invoke(*call, *(part for one in settings for part in ("--set", one)))
    assert outcome.code == 0, outcome.err
    fitted = alora_ts.load(model)
    assert fitted.architecture.heads == 2
    assert fitted.architecture.causal
    assert (fitted.drift_memory, fitted.preparation.gap, fitted.pairs) == (0, 120.0, None)
    for wrong, said in (
        ("drift_memry=0", "did you mean 'drift_memory'"),
        ("heads", "write a name and a value"),
        ("heads=many", "give a number"),
        ("causal=perhaps", "true or false"),
    ):
        refused = invoke(*call, "--set", wrong)
        assert refused.code == 1
        assert said in refused.err
    detect = ("detect", model, made / "today.csv", "-q")
    assert invoke(*detect, "--set", "minimum=3", "--set", "drift_memory=100").code == 0
    again = invoke(*detect, "--set", "heads=4")
    assert again.code == 1
    assert "fit again with it" in again.err
    history = ("backtest", made / "normal.csv", *QUICK, "--set", "heads=2", "-q")
    assert invoke(*history, "--like", model).code == 0
