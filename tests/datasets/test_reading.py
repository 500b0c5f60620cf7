"""Text matrices, tables and times, and what is said of bad ones."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from alora_ts.datasets.interpretation import read_interpretation
from alora_ts.datasets.reading import read_array, read_labels, read_matrix
from alora_ts.datasets.tables import CsvTable, hold_last, parse_times, read_table
from alora_ts.errors import DataError
from tests.datasets import naive_rows


def write(folder: Path, text: str | bytes, name: str = "f.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("text", ["1\n", "1,2\n3,4", "1,nan\ninf,-4e-3\n", "0.1,2\r\n3,4\r\n"])
def test_read_matrix_is_float_cell_by_cell(tmp_path: Path, text: str) -> None:
    found = read_matrix(write(tmp_path, text))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.float32(naive_rows.read_matrix(text)))


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.floats(-1e30, 1e30, allow_subnormal=False) | st.sampled_from([np.nan, np.inf]),
    )
)
@settings(deadline=None)
def test_read_matrix_of_any_numbers(tmp_path_factory: Any, values: Any) -> None:
    text = "".join(",".join(map(repr, row)) + "\n" for row in values.tolist())
    found = read_matrix(write(tmp_path_factory.mktemp("any"), text))
    np.testing.assert_array_equal(found, np.float32(naive_rows.read_matrix(text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,x\n", "line 2, column 2: 'x' is not a number"),
        ("1,2\n3\n", "line 2: 1 numbers where line 1 has 2"),
        ("1,2\n3,4,5\n", "line 2: 3 numbers where line 1 has 2"),
        ("1,2\n3,\n", "line 2, column 2: '' is not a number"),
        ("1\n\n2\n", "line 2, column 1: '' is not a number"),
        ("", "is empty"),
        ("a,b\n1,2\n", "line 1, column 1: 'a' is not a number"),
    ],
)
def test_read_matrix_names_the_bad_cell(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_matrix(write(tmp_path, text))


def test_labels_are_zero_or_one(tmp_path: Path) -> None:
    assert read_labels(write(tmp_path, "0\n1.0\n")).tolist() == [False, True]
    with pytest.raises(DataError, match=r"row 1: the label is 2\.0"):
        read_labels(write(tmp_path, "0\n2\n"))
    with pytest.raises(DataError, match=r"shape \(1, 2\)"):
        read_labels(write(tmp_path, "0,1\n"))


def test_read_array_refuses_what_is_not_a_table(tmp_path: Path) -> None:
    np.save(tmp_path / "ok.npy", np.eye(2))
    np.save(tmp_path / "flat.npy", np.arange(3))
    np.save(tmp_path / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    assert read_array(tmp_path / "ok.npy").dtype == np.float32
    for name in ("flat.npy", "objects.npy", "missing.npy"):
        with pytest.raises(DataError, match=name):
            read_array(tmp_path / name)
    with pytest.raises(DataError, match="not a readable"):
        read_array(write(tmp_path, "\x93NUMPY", "cut.npy"))


def test_interpretation_counts_from_one_and_ends_as_given(tmp_path: Path) -> None:
    path = write(tmp_path, "20-21:3\n5-8:2,1,2\n\n")
    outside = read_interpretation(path, last_included=False)
    inside = read_interpretation(path, last_included=True)
    assert [(s.start, s.end, s.variables) for s in outside] == [(5, 8, (0, 1)), (20, 21, (2,))]
    assert [(s.start, s.end) for s in inside] == [(5, 9), (20, 22)]


@pytest.mark.parametrize("line", ["5-8", "5:1", "a-b:1", "5-8:0", "5-8:1;2"])
def test_interpretation_names_the_bad_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match="line 2"):
        read_interpretation(write(tmp_path, f"1-2:1\n{line}\n"), last_included=True)


def is_text(name: str) -> bool:
    return name in ("time", "label")


@pytest.mark.parametrize(
    "text",
    [
        "time,A1,B2,label\n1,0.5,2,x\n2,,4,y\n",
        "P1,,P2,\n Time, A 1 ,B2,Label \r\n1,0.5,2,x\r\n2,,4,y\r\n",
        "time;A1;B2;label\n1;0,5;2;x\n2;;4;y\n",
        "time;A1;B2;label\n1;0.5;2;x\n2;;4;y\n",
        '\ufeff"time","A1","B2","label"\n"1",0.5,2,x\n"2",,4,y\n',
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_spelling_of_a_table_reads_the_same(tmp_path: Path, text: str, zipped: bool) -> None:
    content = text.encode()
    table = read_table(
        write(tmp_path, gzip.compress(content) if zipped else content), is_text=is_text
    )
    assert table.variables == ("A1", "B2")
    np.testing.assert_array_equal(table.values, np.float32([[0.5, 2], [np.nan, 4]]))
    assert table.text["label"].to_list() == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,A1\n1,2\n2,x3\n", "line 3, column A1: 'x3' is not a number"),
        ("P1,\ntime,A1\n1,2\n2,x3\n", "line 4, column A1"),
        ("time,A1\n1,2,3\n", "line 2: 3 cells where the header has 2"),
        ("time,A1\n", "a header and no rows"),
        ("time\tA1\n1\t2\n", "none of the first lines is a header"),
        ("A1,B2\n1,2\n", "none of the first lines is a header"),
        ("time,A1,A1\n1,2,3\n", "'A1' stands twice"),
        ("version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        ("PK\x03\x04", "save it as CSV"),
        (b"\x1f\x8b\x08broken", "damaged gzip"),
        ("", "none of the first lines"),
    ],
)
def test_a_bad_table_is_refused_by_line_and_column(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path, text), is_text=is_text)


FORMATS = ("%d/%m/%Y %I:%M:%S %p", "%Y-%m-%d %H:%M:%S")


def times(folder: Path, *cells: str) -> Any:
    text = "time,A\n" + "".join(f"{cell},1\n" for cell in cells)
    return parse_times(read_table(write(folder, text), is_text=is_text), ("time",), FORMATS)


def test_times_of_all_forms(tmp_path: Path) -> None:
    wanted = np.array(["2015-12-28T22:00:00", "2015-12-28T22:00:01"], dtype="datetime64[us]")
    for cells in (
        (" 28/12/2015 10:00:00 PM", " 28/12/2015 10:00:01 PM"),
        ("2015-12-28 22:00:00", "2015-12-28 22:00:01"),
        ("2015-12-28T22:00:00Z", "2015-12-28T22:00:01Z"),
        ("2015-12-28 22:00:00+09:00", "2015-12-28 22:00:01+09:00"),
        ("2015-12-28 22:00:00 CEST", "2015-12-28 22:00:01 CEST"),
    ):
        assert np.array_equal(times(tmp_path, *cells), wanted)


def test_bad_times_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 2: the time 'noon' has none of the known forms"):
        times(tmp_path, "noon")
    with pytest.raises(DataError, match="line 3: 'later' is not a time"):
        times(tmp_path, "2015-12-28 22:00:00", "later")
    with pytest.raises(DataError, match=r"line 3: .* is before"):
        times(tmp_path, "2015-12-28 22:00:01", "2015-12-28 22:00:00")
    table = read_table(write(tmp_path, "label,A\n1,1\n"), is_text=is_text)
    with pytest.raises(DataError, match="no time column"):
        parse_times(table, ("time",), FORMATS)


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 12), st.integers(1, 3)),
        elements=st.sampled_from([np.nan, np.inf, -np.inf, 0.0, 1.5, -2.0]),
    )
)
def test_hold_last_fills_like_a_loop(values: Any) -> None:
    table = CsvTable(Path("t.csv"), tuple("abc"[: values.shape[1]]), values, {}, 2)
    if not np.isfinite(values).any(axis=0).all():
        with pytest.raises(DataError, match="no value at all"):
            hold_last(table)
        return
    wanted = [naive_rows.hold_last(column) for column in values.T.tolist()]
    np.testing.assert_array_equal(hold_last(table), np.float32(wanted).T)
