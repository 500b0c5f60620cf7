"""Bad input: one paragraph that names the place and the remedy, exit 1, and nothing written."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import polars as pl
import pytest

from tests.cli.invoke import QUICK, Outcome, faulty, files, invoke, plant


def refused(outcome: Outcome, *named: str) -> None:
    """One paragraph on standard error that names these, exit code 1, nothing on output."""
    assert outcome.code == 1, (outcome.code, outcome.out, outcome.err)
    assert outcome.out == ""
    message = outcome.err.strip()
    assert message.startswith("alora-ts: ")
    assert "\n" not in message
    assert "Traceback" not in message
    for name in named:
        assert name in message, message


def _columns(frame: pl.DataFrame, **columns: object) -> pl.DataFrame:
    return frame.with_columns(pl.Series(name, values) for name, values in columns.items())


def _text() -> pl.DataFrame:
    frame = plant(100)
    return _columns(frame, flow=["fast" if row == 7 else "1.0" for row in range(100)])


def _no_values() -> pl.DataFrame:
    return plant(100).select("time", pl.lit(None, pl.Float64).alias("flow"))


def _infinite() -> pl.DataFrame:
    return _columns(plant(100), heat=[float("inf") if row == 30 else 1.0 for row in range(100)])


TABLES = {
    "text": (_text, ("normal.csv", "flow")),
    "no values": (_no_values, ("normal.csv", "no column holds any value")),
    "infinite": (_infinite, ("normal.csv", "heat", "32")),
    "short": (lambda: plant(5), ("normal.csv", "window of 8 rows")),
    "no rows": (lambda: plant(0), ("normal.csv", "no rows")),
    "time only": (lambda: plant(50).select("time"), ("normal.csv",)),
}


@pytest.mark.parametrize("case", TABLES)
def test_fit_refuses_a_table_by_place(tmp_path: Path, case: str) -> None:
    make, named = TABLES[case]
    make().write_csv(tmp_path / "normal.csv")
    outcome = invoke("fit", tmp_path / "normal.csv", "-o", tmp_path / "m.alora", *QUICK)
    refused(outcome, *named)
    assert files(tmp_path) == {"normal.csv"}


BYTES = {
    "empty": (b"", "normal.csv"),
    "binary": (bytes(range(256)) * 4, "normal.csv"),
    "unequal rows": (b"a,b\n1,2\n3,4,5\n", "normal.csv"),
    "twice the same name": (b"a,a\n1,2\n3,4\n", "normal.csv"),
}


@pytest.mark.parametrize("case", BYTES)
def test_fit_refuses_a_file_that_is_no_table(tmp_path: Path, case: str) -> None:
    content, named = BYTES[case]
    (tmp_path / "normal.csv").write_bytes(content)
    refused(invoke("fit", tmp_path / "normal.csv", "-o", tmp_path / "m.alora", *QUICK), named)
    assert files(tmp_path) == {"normal.csv"}


def test_a_truncated_parquet_file_is_named(tmp_path: Path) -> None:
    plant(100).write_parquet(tmp_path / "n.parquet")
    whole = (tmp_path / "n.parquet").read_bytes()
    (tmp_path / "n.parquet").write_bytes(whole[: len(whole) // 2])
    refused(invoke("fit", tmp_path / "n.parquet", "-o", tmp_path / "m.alora"), "n.parquet")
    assert files(tmp_path) == {"n.parquet"}


def test_a_missing_file_and_a_mistyped_name(made: Path, tmp_path: Path) -> None:
    refused(invoke("fit", tmp_path / "nowhere.csv", "-o", tmp_path / "m.alora"), "nowhere.csv")
    refused(invoke("detect", tmp_path / "no.alora", made / "today.csv"), "no.alora")
    refused(invoke("detect", made / "plant.alora", tmp_path / "nowhere.csv"), "nowhere.csv")
    assert files(tmp_path) == set()


@pytest.mark.parametrize("option", ["--columns", "--ignore", "--time"])
def test_a_mistyped_column_is_suggested(made: Path, tmp_path: Path, option: str) -> None:
    right, wrong = ("time", "tiem") if option == "--time" else ("pressure", "presure")
    call = ("fit", made / "normal.csv", "-o", tmp_path / "m.alora", option, wrong)
    refused(invoke(*call), f"did you mean '{right}'")


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [
        ("--scoring", "refind", "refined"),
        ("--missing", "hld", "hold"),
        ("--scaling", "robst", "robust"),
        ("--false-alarms", "1 per 7 rows", "no longer an alarm"),
        ("--contamination", "-1", "contamination"),
        ("--downsample", "0", "downsample"),
        ("--resample", "-3", "resample"),
        ("--gap", "-1", "gap"),
    ],
)
def test_a_wrong_value_is_named(
    made: Path, tmp_path: Path, option: str, value: str, named: str
) -> None:
    call = ("fit", made / "normal.csv", "-o", tmp_path / "m.alora", option, value)
    refused(invoke(*call), named)
    assert files(tmp_path) == set()


def test_other_columns_than_in_fit_are_named(made: Path, tmp_path: Path) -> None:
    today, out = tmp_path / "today.csv", tmp_path / "out.csv"
    faulty().drop("heat").write_csv(today)
    refused(invoke("detect", made / "plant.alora", today, "-o", out), "heat", "today.csv")
    assert files(tmp_path) == {"today.csv"}


def test_reordered_columns_are_the_same_table(made: Path, tmp_path: Path) -> None:
    faulty().select("heat", "time", "flow", "load", "pressure").write_csv(tmp_path / "t.csv")
    for source, out in ((tmp_path / "t.csv", "a.csv"), (made / "today.csv", "b.csv")):
        invoke("detect", made / "plant.alora", source, "-o", tmp_path / out, "-q")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def _header(model: bytes) -> tuple[int, dict[str, object]]:
    (length,) = struct.unpack("<Q", model[:8])
    return length, json.loads(model[8 : 8 + length])


def _other_version(model: bytes) -> bytes:
    length, header = _header(model)
    metadata = header["__metadata__"]
    assert isinstance(metadata, dict)
    header["__metadata__"] = {
        name: text.replace('"format":1', '"format":99').replace('"format": 1', '"format": 99')
        if name != "format"
        else "99"
        for name, text in metadata.items()
    }
    changed = json.dumps(header).encode()
    return struct.pack("<Q", len(changed)) + changed + model[8 + length :]


MODELS = {
    "truncated": lambda model: model[: len(model) // 2],
    "header only": lambda model: model[:8],
    "empty": lambda _: b"",
    "foreign": lambda _: b"PK\x03\x04 this is a zip file" * 20,
    "other version": _other_version,
}


@pytest.mark.parametrize("command", ["detect", "explain", "info"])
@pytest.mark.parametrize("case", MODELS)
def test_a_bad_model_is_refused(made: Path, tmp_path: Path, command: str, case: str) -> None:
    model = tmp_path / "bad.alora"
    model.write_bytes(MODELS[case]((made / "plant.alora").read_bytes()))
    out = tmp_path / "out.csv"
    more = (made / "today.csv", "-o", out) if command == "detect" else ()
    refused(invoke(command, model, *more), "bad.alora")
    assert files(tmp_path) == {"bad.alora"}


def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    made: Path, tmp_path: Path
) -> None:
    fit = ("fit", made / "normal.csv", "-o")
    detect = ("detect", made / "plant.alora", made / "today.csv")
    refused(invoke(*fit, tmp_path / "no" / "m.alora"), "does not exist")
    refused(invoke(*fit, tmp_path), "it is a folder")
    for option in ("-o", "--incidents"):
        refused(invoke(*detect, option, tmp_path / "out.xlsx"), ".parquet")
        refused(invoke(*detect, option, tmp_path / "no" / "out.csv"), "does not exist")
    refused(invoke(*detect, "--report", tmp_path / "no" / "out.html"), "does not exist")
    assert files(tmp_path) == set()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(made: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    refused(invoke("fit", made / "normal.csv", "-o", locked / "m.alora"), "locked")


def test_demo_into_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    refused(invoke("demo", tmp_path / "taken"), "taken")


def test_constant_columns_and_missing_cells_are_handled_and_reported(tmp_path: Path) -> None:
    normal = _columns(plant(300), valve=[5.0] * 300)
    normal = _columns(normal, heat=[None if row == 40 else 1.0 + row % 7 for row in range(300)])
    normal.write_csv(tmp_path / "n.csv")
    model = tmp_path / "m.alora"
    fitted = invoke("fit", tmp_path / "n.csv", "-o", model, *QUICK)
    assert fitted.code == 0, fitted.err
    assert "constant in training: valve" in fitted.out
    assert "filled 1 missing cell" in fitted.out
    moved = _columns(normal.head(120), valve=[9.0 if row > 80 else 5.0 for row in range(120)])
    moved.write_csv(tmp_path / "t.csv")
    found = invoke("detect", model, tmp_path / "t.csv", "-o", tmp_path / "o.json", "-q")
    assert found.code == 0, found.err
    worst = json.loads((tmp_path / "o.json").read_text())["incidents"][-1]
    assert worst["culprits"][0]["variable"] == "valve"
