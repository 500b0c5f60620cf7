"""Every kind of table in, the same kind out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from alora_ts.data.table import as_table

TIMES = [f"2024-03-01 00:0{minute}:00" for minute in range(5)]


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "flow": [1.5, None, 3.5, 4.5, float("nan")],
            "time": pl.Series(TIMES).str.to_datetime(),
            "open": [True, False, None, True, True],
            "count": [1, 2, 3, None, 5],
        }
    )


def sources(folder: Path) -> dict[str, Any]:
    frame = polars_frame()
    frame.write_csv(folder / "plant.csv")
    frame.write_parquet(folder / "plant.parquet")
    with gzip.open(folder / "plant.csv.gz", "wb") as file:
        file.write((folder / "plant.csv").read_bytes())
    (folder / "only").mkdir()
    frame.write_parquet(folder / "only" / "plant.parquet")
    (folder / "only" / "_SUCCESS").touch()

    class Capsule:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return frame.to_arrow().__arrow_c_stream__(requested_schema)

    return {
        "polars": frame,
        "lazy": frame.lazy(),
        "pandas": frame.to_pandas(),
        "pandas indexed": frame.to_pandas().set_index("time"),
        "pandas text": frame.to_pandas().assign(time=TIMES),
        "pyarrow": frame.to_arrow(),
        "capsule": Capsule(),
        "csv": folder / "plant.csv",
        "gzip": str(folder / "plant.csv.gz"),
        "parquet": folder / "plant.parquet",
        "folder": folder / "only",
        "glob": str(folder / "plant.p*"),
        "list": [folder / "plant.csv"],
    }


def test_every_kind_gives_the_same_table(tmp_path: Path) -> None:
    nan = np.nan
    expected = [[1.5, 1, 1], [nan, 0, 2], [3.5, nan, 3], [4.5, 1, nan], [nan, 1, 5]]
    stamps = np.array(TIMES, "datetime64[us]")
    for name, source in sources(tmp_path).items():
        table = as_table(source)
        assert table.variables == ("flow", "open", "count"), name
        np.testing.assert_array_equal(table.values, expected, err_msg=name)
        assert table.timestamps is not None
        assert table.timestamps.dtype == np.dtype("datetime64[us]")
        np.testing.assert_array_equal(table.timestamps, stamps, err_msg=name)
        assert table.time_name == "time"


def test_results_come_back_in_the_kind_that_came_in(tmp_path: Path) -> None:
    kinds = {"pandas": pd.DataFrame, "pyarrow": pa.Table}
    score = np.arange(5.0)
    for name, source in sources(tmp_path).items():
        frame = as_table(source).frame({"score": score})
        assert isinstance(frame, kinds.get(name.split()[0], pl.DataFrame)), name
        if name == "pandas indexed":
            assert frame.index.equals(source.index)
            assert list(frame.columns) == ["score"]
        elif name == "pandas text":
            assert list(frame["time"]) == TIMES
        elif name == "csv":
            assert frame["time"].to_list() == [f"{t.replace(' ', 'T')}.000000" for t in TIMES]
        elif name in ("polars", "pandas", "pyarrow"):
            assert list(frame["time"]) == list(source["time"])


def test_pandas_keeps_index_zone_and_duplicate_labels() -> None:
    index = pd.date_range("2024-10-27 01:30", periods=4, freq="30min", tz="Europe/Berlin")
    table = as_table(pd.DataFrame({"a": [1.0, 2, 3, 4]}, index=index))
    assert table.time_zone == "Europe/Berlin"
    assert table.timestamps is not None
    # 02:00 to 03:00 occurs twice that night; in UTC it does not.
    assert np.all(np.diff(table.timestamps) == np.timedelta64(30, "m"))
    assert table.frame({"score": np.zeros(4)}).index.equals(index)
    labelled = pd.DataFrame({"time": index, "a": [1.0, 2, 3, 4]}, index=[7, 7, 7, 8])
    frame = as_table(labelled).frame({"score": np.zeros(4)})
    assert list(frame.index) == [7, 7, 7, 8]
    assert frame["time"].dtype == labelled["time"].dtype
    period = pd.DataFrame({"a": [1.0, 2]}, index=pd.period_range("2024-01", periods=2, freq="M"))
    assert as_table(period).timestamps[1] == np.datetime64("2024-02-01")  # type: ignore[index]
    assert as_table(pd.DataFrame(np.zeros((2, 2)))).variables == ("0", "1")


def test_float_width_is_kept_and_nothing_is_copied_needlessly() -> None:
    narrow = np.zeros((4, 2), np.float32)
    assert as_table(narrow).values is narrow
    frame = pd.DataFrame(np.zeros((4, 2), np.float32), columns=["a", "b"])
    assert np.shares_memory(as_table(frame).values, frame.to_numpy())
    widths = {
        "float16": "float32",
        "float32": "float32",
        "float64": "float64",
        "bool": "float32",
        "int8": "float32",
        "uint16": "float32",
        "int32": "float64",
        "int64": "float64",
        "longdouble": "float64",
    }
    for given, kept in widths.items():
        assert as_table(np.ones((3, 2), given)).values.dtype == kept, given
    for given in ("float32", "float64", "bool", "int8", "uint16", "int32", "int64"):
        columns = {"a": np.ones(3, given)}
        for make in (pl.DataFrame, pd.DataFrame, pa.table):
            assert as_table(make(columns)).values.dtype == widths[given], (given, make)
    mixed = pl.DataFrame({"a": np.ones(3, np.float32), "b": np.ones(3, np.float64)})
    assert as_table(mixed).values.dtype == np.float64


def test_arrays_of_other_shapes_and_kinds() -> None:
    assert as_table(np.arange(3)).values.shape == (3, 1)
    assert as_table([[1, 2], [3, 4]]).variables == ("x0", "x1")
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(as_table(masked).values, [[1, np.nan], [3, 4]])
    objects = np.array([[1, None], [2.5, True]], object)
    np.testing.assert_array_equal(as_table(objects).values, [[1, np.nan], [2.5, 1]])
    timed = as_table(np.array([[10, 1.0], [20, 2.0]]), time="x0")
    assert timed.variables == ("x1",)
    assert timed.frame({"s": np.zeros(2)})["x0"].to_list() == [10.0, 20.0]
    one = as_table(pd.Series([1.0, 2.0], name="load"))
    assert one.variables == ("load",)
    assert as_table(pl.Series("load", [1.0])).variables == ("load",)

    class Tensor:
        def __array__(self, dtype: object = None, copy: object = None) -> Any:
            return np.ones((2, 3))

    assert as_table(Tensor()).values.shape == (2, 3)


def test_columns_are_chosen_ordered_and_left_out() -> None:
    frame = polars_frame().with_columns(note=pl.lit("x"))
    table = as_table(frame, columns=["count", "flow"])
    assert table.variables == ("count", "flow")
    assert table.dropped == dict.fromkeys(("open", "note"), "not among the columns asked for")
    assert as_table(frame, ignore="note").dropped == {"note": "ignored on request"}
    # A column asked for as a variable is not the time, whatever its name.
    numbers = pl.DataFrame({"time": [3.0, 1.0], "a": [1.0, 2.0]})
    assert as_table(numbers).time_name == "time"
    assert as_table(numbers, columns=["time", "a"]).variables == ("time", "a")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("2024-01-31", "2024-02-01", "2024-02-01T00:00"),
        ("2024-01-31 10:00", "2024-01-31 10:01", "2024-01-31T10:01"),
        ("2024-01-31T10:00:00.25", "2024-01-31T10:01:00", "2024-01-31T10:01"),
        ("2024-01-31T10:00:00Z", "2024-01-31T12:01:00+02:00", "2024-01-31T10:01"),
        ("2024/01/31 10:00", "2024/01/31 10:01", "2024-01-31T10:01"),
        ("31/1/2024 10:00:00 AM", "31/1/2024 1:01:00 PM", "2024-01-31T13:01"),
        ("1/31/2024 10:00", "2/1/2024 10:01", "2024-02-01T10:01"),
        ("31.01.2024 10:00", "01.02.2024 10:01", "2024-02-01T10:01"),
        (" 2024-01-31 10:00 ", " 2024-01-31 10:01", "2024-01-31T10:01"),
        ("20240131", "20240201", "2024-02-01"),
    ],
)
def test_times_written_as_text(first: str, second: str, expected: str) -> None:
    for make in (pl.DataFrame, pd.DataFrame, pa.table):
        table = as_table(make({"ds": [first, second], "a": [1.0, 2.0]}))
        assert table.timestamps is not None
        assert table.timestamps[1] == np.datetime64(expected)


def test_an_index_written_along_is_no_variable() -> None:
    with_time = pl.DataFrame({"": [0, 1], "time": [10.0, 20.0], "a": [1.0, 2.0]})
    table = as_table(with_time)
    assert (table.variables, table.time_name) == (("a",), "time")
    assert table.dropped == {"": "row numbers without a name"}
    alone = as_table(pl.DataFrame({"Unnamed: 0": [0, 1], "a": [1.0, 2.0]}))
    assert (alone.variables, alone.time_name) == (("a",), "Unnamed: 0")
    later = as_table(pl.DataFrame({"a": [1.0], "": [2.0]}))
    assert later.variables == ("a", "")


def test_stretches_of_every_kind_keep_their_times() -> None:
    frame = polars_frame()
    for source in (frame, frame.to_pandas(), frame.to_arrow(), frame.to_pandas().set_index("time")):
        part = as_table(source).slice(1, 3)
        assert as_table(part) is part
        result = part.frame({"score": np.zeros(2)})
        assert len(result) == 2
        assert part.place(0) == "row 1"
        indexed = isinstance(result, pd.DataFrame) and "time" not in result
        times = result.index if indexed else result["time"]
        assert str(next(iter(times)))[:16] == TIMES[1][:16]


def test_times_of_other_types() -> None:
    dates = pl.DataFrame({"day": ["2024-01-01", "2024-01-02"], "a": [1, 2]}).with_columns(
        pl.col("day").str.to_date()
    )
    assert as_table(dates).time_name == "day"
    python = [
        pd.Timestamp("2024-01-01").to_pydatetime(),
        pd.Timestamp("2024-01-02").to_pydatetime(),
    ]
    objects = pd.DataFrame({"time": pd.Series(python, dtype=object), "a": [1, 2]})
    assert as_table(objects).timestamps[1] == np.datetime64("2024-01-02")  # type: ignore[index]
    nanoseconds = pd.DataFrame({"when": pd.to_datetime([1, 2001], unit="ns"), "a": [1, 2]})
    assert as_table(nanoseconds).timestamps[1] == np.datetime64(2, "us")  # type: ignore[index]
    counted = as_table(pl.DataFrame({"timestamp": [2**62, 2**62 + 1], "a": [1, 2]}))
    assert counted.timestamps is not None
    assert counted.timestamps.tolist() == [2**62, 2**62 + 1]
    assert as_table(pl.DataFrame({"timer": [1, 2]})).time_name is None
