"""Files as they come: each form of text, what is found, what is told, what is remembered."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from alora_ts.data import Preparation, as_table
from alora_ts.data.form import FileForm
from alora_ts.errors import AloraError, DataError

VALUES = np.array([[1.5, 20.25], [2.5, 1021.0], [-3.0, 22.125]])


def write(folder: Path, text: str, name: str = "x.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


TEXTS = {
    "commas": "a,b\n1.5,20.25\n2.5,1021\n-3,22.125\n",
    "semicolons": "a;b\n1.5;20.25\n2.5;1021\n-3;22.125\n",
    "tabs": "a\tb\n1.5\t20.25\n2.5\t1021\n-3\t22.125\n",
    "bars": "a|b\n1.5|20.25\n2.5|1021\n-3|22.125\n",
    "decimal comma": "a;b\n1,5;20,25\n2,5;1021\n-3;22,125\n",
    "decimal comma, quoted": 'a,b\n"1,5","20,25"\n"2,5",1021\n-3,"22,125"\n',
    "german thousands": "a;b\n1,5;20,25\n2,5;1.021,0\n-3;22,125\n",
    "english thousands": 'a,b\n1.5,20.25\n2.5,"1,021.0"\n-3,22.125\n',
    "swiss thousands": "a;b\n1.5;20.25\n2.5;1'021.0\n-3;22.125\n",
    "french thousands": "a;b\n1,5;20,25\n2,5;1\u202f021,0\n-3;22,125\n",
    "blanks": "a , b\n 1.5 , 20.25 \n2.5, 1021\n-3 ,22.125\n",
    "separator at the end": "a;b;\n1,5;20,25;\n2,5;1021;\n-3;22,125;\n",
    "returns": "a;b\r\n1,5;20,25\r\n2,5;1021\r\n-3;22,125\r\n",
}


@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separators_marks_and_encodings(tmp_path: Path, case: str, encoding: str) -> None:
    table = as_table(write(tmp_path, TEXTS[case], encoding=encoding))
    assert table.variables == ("a", "b")
    np.testing.assert_array_equal(table.values, VALUES)


def test_what_was_found_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "Außen °C;b\n1,5;1.021,5\n", encoding="cp1252")
    table = as_table(path)
    assert table.variables == ("Außen °C", "b")
    (note,) = table.notes
    for said in ("semicolons", "decimal comma", "'.'", "Windows-1252"):
        assert said in note
    assert as_table(write(tmp_path, TEXTS["commas"])).notes == ()
    assert table.form.decimal == ","


def test_a_comma_that_may_be_either_is_refused_unless_told_or_known(tmp_path: Path) -> None:
    path = write(tmp_path, "a;b\n1,234;1\n5,678;2\n")
    with pytest.raises(DataError, match=r"x.csv: column 'a': '1,234'.*1\.234.*1234.*--decimal"):
        as_table(path)
    for form, first in ((FileForm(decimal=","), 1.234), (FileForm(thousands=","), 1234.0)):
        assert as_table(path, form=form).values[0, 0] == first
    fitted = Preparation().fit(as_table(write(tmp_path, "a;b\n1,5;1\n5,7;2\n", "train.csv")))
    assert fitted.read(path).values[0, 0] == 1.234
    # A point in a file with decimal commas is not silently a fraction.
    late = write(tmp_path, "a;b\n" + "1,5;1\n" * 200_000 + "1.5;1\n", "late.csv")
    with pytest.raises(DataError, match=r"line 200002: '1\.5' stands among numbers"):
        as_table(late)


@pytest.mark.parametrize("name", ["x.csv.gz", "x.zip", "X.CSV", "x.txt", "x.tsv", "x.dat"])
def test_packed_and_other_names(tmp_path: Path, name: str) -> None:
    path, text = tmp_path / name, TEXTS["tabs"].encode()
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text))
    elif name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("__MACOSX/x.csv", b"")
            packed.writestr("folder/x.tsv", text)
    else:
        path.write_bytes(text)
    np.testing.assert_array_equal(as_table(path).values, VALUES)


def test_zips_that_are_no_table(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("1.csv", TEXTS["commas"])
        packed.writestr("2.csv", TEXTS["commas"])
    with pytest.raises(DataError, match=r"exactly one table, this one holds 1.csv, 2.csv"):
        as_table(path)
    path.write_bytes(b"no zip")
    with pytest.raises(DataError, match=r"x.zip: cannot be read"):
        as_table(path)
    frame = pl.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1]})
    frame.write_parquet(tmp_path / "x.parquet")
    with zipfile.ZipFile(path, "w") as packed:
        packed.write(tmp_path / "x.parquet", "x.parquet")
    np.testing.assert_array_equal(as_table(path).values, VALUES)


def test_json_lines_and_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, Any]] = [
        {"time": "2026-01-01T00:00:00Z", "a": 1.5, "pump": "on"},
        {"time": "2026-01-01T00:01:00Z", "a": None, "pump": "off"},
        {"time": "2026-01-01T00:02:00Z", "pump": "on"},
    ]
    lines = "\n".join(map(json.dumps, rows)) + "\n"
    for name, text in (("x.jsonl", lines), ("x.ndjson", lines), ("x.json", json.dumps(rows))):
        table = as_table(write(tmp_path, text, name))
        np.testing.assert_array_equal(table.values, [[1.5, 1], [np.nan, 0], [np.nan, 1]])
        assert table.time_name == "time"
    monkeypatch.setattr("alora_ts.data.csv_blocks.BLOCK_BYTES", 40)
    np.testing.assert_array_equal(as_table(tmp_path / "x.jsonl").values, table.values)
    with pytest.raises(DataError, match=r"bad.jsonl: cannot be read as JSON"):
        as_table(write(tmp_path, '{"a": 1}\nnothing\n', "bad.jsonl"))
    with pytest.raises(DataError, match=r"'a' holds lists or objects"):
        as_table(write(tmp_path, '{"a": {"b": 1}}\n', "deep.jsonl"))
    with pytest.raises(DataError, match="no rows"):
        as_table(write(tmp_path, "\n", "none.jsonl"))


def test_excel(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="reading Excel files needs the extra excel")
    path = tmp_path / "x.xlsx"
    _write_xlsx(
        path, [["pump", "", "time"], ["flow", "state", ""], [1.5, "ON", "2026-01-02 03:04"],
               ["Bad Input", "OFF", "2026-01-02 03:05"]]
    )  # fmt: skip
    table = as_table(path, form=FileForm(header_rows=2))
    assert table.variables == ("pump flow", "pump state")
    np.testing.assert_array_equal(table.values, [[1.5, 1], [np.nan, 0]])
    assert table.timestamps is not None
    assert table.timestamps[1] == np.datetime64("2026-01-02T03:05")
    with pytest.raises(DataError, match=r"it has the sheets Sheet1 \(--sheet\)"):
        as_table(path, form=FileForm(sheet="other"))
    path.write_bytes(b"no workbook")
    with pytest.raises(DataError, match=r"x.xlsx: cannot be read as Excel"):
        as_table(path)


def _write_xlsx(path: Path, rows: list[list[Any]]) -> None:
    """The least that is a workbook."""
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"

    def cell(value: Any) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        f'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.'
        f'main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{space}" xmlns:r="{office}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{space}"><sheetData>{body}</sheetData>'
        "</worksheet>",
    }
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in parts.items():
            packed.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')


def test_several_header_lines(tmp_path: Path) -> None:
    form = FileForm(header_rows=2)
    path = write(
        tmp_path, "time,pump,,tank\n,flow,speed,level\n2026-01-01,1,2,3\n2026-01-02,4,5,6\n"
    )
    table = as_table(path, form=form)
    assert table.variables == ("pump flow", "pump speed", "tank level")
    assert table.place(0).endswith("line 3")
    levels = pd.MultiIndex.from_tuples([("pump", "flow"), ("pump", "speed")], names=["u", "v"])
    index = pd.Index([0.0, 60.0], name="seconds")
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=levels, index=index)
    assert as_table(frame).variables == ("pump flow", "pump speed")
    frame.to_csv(path)  # pandas puts the index's name into a line of its own
    again = as_table(path, form=form, time="seconds")
    assert again.variables == ("pump flow", "pump speed")
    np.testing.assert_array_equal(again.values, frame.to_numpy())
    assert again.place(0).endswith("line 4")


def test_words_for_states_and_for_missing_values(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "pump,valve,ok,flow,mode\n"
        "ON,Open,TRUE,1.5,AUTO\n"
        "OFF,Closed,FALSE,Bad Input,MANUAL\n"
        "on,closed,true,No Data,AUTO\n"
        "Bad Input,OPEN,,#N/A,AUTO\n",
    )
    with pytest.raises(DataError, match=r"'mode' \(text such as 'AUTO'\).*--map"):
        as_table(path)
    table = as_table(path, form=FileForm(mapping={"auto": 1, "Manual": 0}))
    expected = [[1, 1, 1, 1.5, 1], [0, 0, 0, np.nan, 0], [1, 0, 1, np.nan, 1]]
    np.testing.assert_array_equal(table.values[:3], expected)
    np.testing.assert_array_equal(table.values[3], [np.nan, 1, np.nan, np.nan, 1])
    said = "\n".join(table.notes)
    for line in (
        "read 'Bad Input' as missing: flow 1, pump 1",
        "read '#N/A' as missing: flow 1",
        "read on as 1, off as 0: pump",
        "read open as 1, closed as 0: valve",
        "read auto as 1, manual as 0: mode",
    ):
        assert line in said, said
    assert said in str(Preparation().fit(table).apply(table).report)


def test_numbers_and_words_that_mean_missing(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,-999\n-999,gone\n3,4\n")
    table = as_table(path, form=FileForm(na=("-999", "gone")))
    np.testing.assert_array_equal(table.values, [[1, np.nan], [np.nan, np.nan], [3, 4]])
    assert "read '-999' as missing: a 1, b 1" in "\n".join(table.notes)
    for frame in (
        pl.DataFrame({"a": [1.0, -999.0]}),
        pd.DataFrame({"a": [1.0, -999.0]}),
        np.array([[1.0], [-999.0]]),
    ):
        kept = np.array(frame)
        read = as_table(frame, form=FileForm(na=("-999",)))
        np.testing.assert_array_equal(read.values[:, 0], [1, np.nan])
        np.testing.assert_array_equal(np.array(frame), kept)  # the caller's data stay as they are


def _stamp(text: str) -> np.datetime64:
    return np.datetime64(text, "us")


@pytest.mark.parametrize(
    ("cells", "first", "form"),
    [
        (["06/01/14 00", "06/01/14 01", "31/01/14 02"], "2014-01-06", "%d/%m/%y %H"),
        (["02-Jan-2026", "03-Jan-2026"], "2026-01-02", "%d-%b-%Y"),
        (["2-JAN-26 03:04:05.5", "3-JAN-26 03:04:05.5"], "2026-01-02T03:04:05.5", None),
        (["20260102030405", "20260102030505"], "2026-01-02T03:04:05", "%Y%m%d%H%M%S"),
        (["202601020304", "202601020305"], "2026-01-02T03:04", "%Y%m%d%H%M"),
        (["20260102", "20260103"], "2026-01-02", "%Y%m%d"),
        (["13/02/26", "14/02/26"], "2026-02-13", "%d/%m/%y"),
        (["02/13/26 5:04 PM", "02/14/26 5:04 PM"], "2026-02-13T17:04", None),
        (["January 2, 2026 03:04", "January 3, 2026 03:04"], "2026-01-02T03:04", None),
        (["1768435200", "1768435260"], "2026-01-15", "s"),
        (["1768435200.5", "1768435260.5"], "2026-01-15T00:00:00.5", "s"),
        (["1768435200500", "1768435260500"], "2026-01-15T00:00:00.5", "ms"),
        (["1768435200500000", "1768435260500000"], "2026-01-15T00:00:00.5", "us"),
        (["1768435200500000000", "1768435260500000000"], "2026-01-15T00:00:00.5", "ns"),
    ],
)
def test_dates_of_every_form(
    tmp_path: Path, cells: list[str], first: str, form: str | None
) -> None:
    path = write(tmp_path, "time,a\n" + "".join(f'"{cell}",1\n' for cell in cells))
    table = as_table(path)
    assert table.timestamps is not None
    assert table.timestamps[0] == _stamp(first)
    assert form is None or table.form.time_format == form
    # What was found reads one row alone, which says little by itself.
    fitted = Preparation().fit(table)
    again = fitted.read(write(tmp_path, f'time,a\n"{cells[0]}",1\n', "next.csv"))
    assert again.timestamps is not None
    assert again.timestamps[0] == _stamp(first)
    saved = Preparation.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert saved == fitted


def test_february_is_no_riddle_after_january(tmp_path: Path) -> None:
    days = "".join(f"{day:02}/01/2026 {hour:02}:00,1\n" for day in range(1, 32) for hour in (0, 12))
    train = as_table(write(tmp_path, f"time,a\n{days}"))
    later = write(tmp_path, "time,a\n05/02/2026 00:00,1\n05/02/2026 12:00,1\n", "february.csv")
    with pytest.raises(DataError, match=r"day/month.*--time-format.*%d/%m/%Y %H:%M"):
        as_table(later)
    stamps = Preparation().fit(train).read(later).timestamps
    assert stamps is not None
    assert stamps[0] == _stamp("2026-02-05")
    given = as_table(later, form=FileForm(time_format="%m/%d/%Y %H:%M"))
    assert given.timestamps is not None
    assert given.timestamps[0] == _stamp("2026-05-02")
    # Steady steps tell the one reading from the other, and it is said.
    week = "".join(
        f"{day:02}/02/2026 {hour:02}:00,1\n" for day in range(1, 8) for hour in range(24)
    )
    steady = as_table(write(tmp_path, f"time,a\n{week}"))
    assert steady.timestamps is not None
    assert steady.timestamps[-1] == _stamp("2026-02-07T23:00")
    assert "times read as %d/%m/%Y %H:%M: other readings jump" in steady.notes


def test_two_digit_years_are_never_the_year_26(tmp_path: Path) -> None:
    for cell in ("13/02/26", "02-Jan-26", "26/01/32", "13.02.26 10:00"):
        stamps = as_table(write(tmp_path, f"time,a\n{cell},1\n")).timestamps
        assert stamps is not None
        assert str(stamps[0]).startswith(("2026-", "2032-")), cell
    with pytest.raises(DataError, match=r"'%d-%m-%y' or '%y-%m-%d'"):
        as_table(write(tmp_path, "time,a\n26-01-13,1\n"))


def test_a_time_format_that_does_not_fit(tmp_path: Path) -> None:
    path = write(tmp_path, "time,a\n2026-01-01 00:00,1\nlater,1\n")
    with pytest.raises(DataError, match=r"line 3: 'later' is no time of the form"):
        as_table(path, form=FileForm(time_format="%Y-%m-%d %H:%M"))
    with pytest.raises(DataError, match="'2026-01-01 00:00' is no number"):
        as_table(path, form=FileForm(time_format="ms"))
    with pytest.raises(AloraError, match="write one such as"):
        as_table(path, form=FileForm(time_format="%H %Y-%m-%d"))
    with pytest.raises(AloraError, match="is no format"):
        FileForm(time_format="iso")
    counted = as_table(write(tmp_path, "time,a\n1768435200,1\n1768435260,1\n"),
                       form=FileForm(time_format="number"))  # fmt: skip
    assert counted.timestamps is not None
    assert counted.timestamps.dtype.kind == "i"


LONG = (
    "time,tag,value\n2026-01-01 00:00,flow,1\n2026-01-01 00:00,speed,10\n"
    "2026-01-01 00:01,flow,2\n2026-01-01 00:01,speed,20\n2026-01-01 00:02,flow,3\n"
)


def test_long_tables_are_recognised_and_turned(tmp_path: Path) -> None:
    path = write(tmp_path, LONG)
    table = as_table(path)
    assert table.variables == ("flow", "speed")
    np.testing.assert_array_equal(table.values, [[1, 10], [2, 20], [3, np.nan]])
    assert any("'tag' names the signal" in note for note in table.notes)
    fitted = Preparation().fit(table)
    # Another order of rows, another signal, one that is silent: read the same way.
    later = write(tmp_path, "time,tag,value\n2026-01-02 00:01,heat,5\n2026-01-02 00:01,flow,8\n"
                  "2026-01-02 00:00,flow,7\n", "later.csv")  # fmt: skip
    again = fitted.match(fitted.read(later))
    np.testing.assert_array_equal(again.values, [[7, np.nan], [8, np.nan]])
    assert "heat" in again.dropped
    # A fourth column hides the form; then it is said.
    wider = write(tmp_path, LONG.replace("value\n", "value,unit\n").replace(":00,", ":00,")
                  .replace("0\n", "0,m\n").replace("1\n", "1,m\n").replace("2\n", "2,m\n")
                  .replace("3\n", "3,m\n"), "wider.csv")  # fmt: skip
    with pytest.raises(DataError, match="not numeric"):
        as_table(wider)
    said = as_table(wider, form=FileForm(long=("tag", "value")))
    np.testing.assert_array_equal(said.values, table.values)
    with pytest.raises(DataError, match="did you mean 'tag'"):
        as_table(wider, form=FileForm(long=("tags", "value")))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_long_frames(kind: Any) -> None:
    frame = kind({"time": [0, 0, 1, 1], "tag": ["a", "b"] * 2, "value": [1.0, 2.0, 3.0, 4.0]})
    table = as_table(frame, form=FileForm(long=("tag", "value")))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    assert isinstance(table.frame({"score": np.zeros(2)}), kind)


def test_a_table_of_hosts_is_not_taken_for_a_long_one(tmp_path: Path) -> None:
    path = write(tmp_path, "time,host,load\n2026-01-01,a,1\n2026-01-02,b,2\n2026-01-03,a,3\n")
    with pytest.raises(DataError, match="not numeric: 'host'"):
        as_table(path)


def test_other_columns_than_in_training(tmp_path: Path) -> None:
    fitted = Preparation().fit(as_table(write(tmp_path, "flow,tank level\n1,2\n3,4\n")))
    more = fitted.read(write(tmp_path, "note,tank level,flow,x\nhi,2,1,9\n", "more.csv"))
    assert more.variables == ("flow", "tank level")
    assert more.dropped == {"note": "not in training", "x": "not in training"}
    other = write(tmp_path, "Flow,tank_level\n1,2\n", "other.csv")
    with pytest.raises(
        DataError, match=r"other.csv.*missing: 'flow'.*'Flow' is near 'flow'.*--near"
    ):
        fitted.read(other)
    near = fitted.read(other, near=True)
    np.testing.assert_array_equal(near.values, [[1, 2]])
    assert any("'Flow' as 'flow'" in note for note in near.notes)
    frame = pl.read_csv(other)
    assert fitted.read(frame, near=True).variables == ("flow", "tank level")
    less = write(tmp_path, "flow\n1\n", "less.csv")
    with pytest.raises(DataError, match="missing: 'tank level'"):
        fitted.read(less)
    without = fitted.apply(fitted.read(less, ignore="tank level"))
    assert without.report.silent == ("tank level",)


def test_a_column_without_a_value_is_left_out_and_said(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,c\n1,,5\n2,,6\n")
    table = as_table(path)
    fitted = Preparation().fit(table)
    assert fitted.variables == ("a", "c")
    assert "left out: b (no value at all in training)" in str(fitted.apply(table).report)
    assert fitted.apply(fitted.read(path)).values.shape == (2, 2)


def test_labels_are_no_variables(tmp_path: Path) -> None:
    path = write(tmp_path, "a,attack\n1,Normal\n2,Attack\n3,\n")
    table = as_table(path, label="attack")
    assert table.variables == ("a",)
    assert table.label is not None
    assert table.label.tolist() == [False, True, False]
    fitted = Preparation().fit(table)
    again = fitted.read(path)
    assert again.label is not None
    assert again.label_name == "attack"
    assert fitted.read(write(tmp_path, "a\n1\n", "live.csv")).label is None
    for frame in (pl.read_csv(path), pd.read_csv(path)):
        marked = as_table(frame, label="attack").label
        assert marked is not None
        assert marked.tolist() == [False, True, False]
    array = as_table(np.array([[1.0, 0], [2, 1]]), label="x1")
    assert array.variables == ("x0",)
    assert array.label is not None
    assert array.label.tolist() == [False, True]
    with pytest.raises(DataError, match="label= names 'attak', no such column"):
        as_table(path, label="attak")


def test_a_model_saved_before_forms_reads_numbers_as_numbers() -> None:
    seconds = pl.DataFrame({"time": [1768435200, 1768435260], "a": [1.0, 2.0]})
    saved = Preparation().fit(as_table(seconds, form=FileForm(time_format="number"))).to_dict()
    for name in ("form", "label", "empty", "low", "high"):
        del saved["fitted"][name]
    old = Preparation.from_dict(saved)
    stamps = old.read(seconds).timestamps
    assert stamps is not None
    assert stamps.dtype.kind == "i"
