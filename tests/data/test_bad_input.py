"""What cannot be used says so: what, where, and what to do."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from alora_ts.data.prepare import Preparation
from alora_ts.data.table import as_table
from alora_ts.errors import AloraError, DataError, NotFittedError


def refusal(source: Any, **choices: Any) -> str:
    with pytest.raises(DataError) as caught:
        as_table(source, **choices)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["empty"]),
        ("\n\n", ["empty"]),
        ("time,a\n", ["header but no rows"]),
        ("time,a", ["header but no rows"]),
        ("time,a\n\n\n", ["header but no rows"]),
        ("a,b\n1,2\n3,Poor\n", ["'b'", "line 3", "'Poor'", "--na", "--map", "--ignore b"]),
        ("a,host\n1,x\n2,y\n", ["'host'", "text such as 'x'", "--ignore host"]),
        ("time,a\n2024-01-01 00:00,1\nyesterday,2\n", ["'time'", "line 3", "'yesterday'"]),
        ("time,a\nnoon,1\nlater,2\n", ["'time'", "line 2", "'noon'"]),
        ("time,a\n2024-01-01 00:00,1\n,2\n", ["'time'", "line 3", "missing"]),
        ("time,a\n01/02/2024,1\n02/02/2024,2\n", ["day/month", "year-month-day"]),
        ("time;a;b\n1;2;3\n1;2;3;4\n", ["line 3", "4 cells"]),
        ("time\ta\n1\t2,345\n", ["2.345", "2345", "--decimal", "--thousands"]),
        ("a,b\n1,2\n1,2,3\n", ["line 3", "3 cells", "2 columns"]),
        ("a,b\n1,2\n1,inf\n", ["'b'", "line 3", "inf"]),
        ("a,b\n1,-Infinity\n", ["'b'", "line 2", "inf"]),
        ("a,a\n1,2\n", ["'a'", "more than once"]),
        ("0.5,1.5\n1,2\n", ["must name the columns"]),
        ("a,b\ntrue,1\nmaybe,2\n", ["'a'"]),
        ("time\n2024-01-01\n", ["no column of numbers"]),
    ],
)
def test_csv(tmp_path: Path, text: str, said: list[str]) -> None:
    path = tmp_path / "plant.csv"
    path.write_text(text)
    message = refusal(path)
    assert all(word in message for word in ["plant.csv", *said]), message


def test_files_that_are_not_what_they_are_called(tmp_path: Path) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes(b"a,b\n" + b"1,2\n" * 300_000 + "3,°\n".encode("latin-1"))
    assert "--encoding" in refusal(latin)  # so late that UTF-8 was taken for granted
    latin.write_bytes(b"\x81\x8d\x8f,b\n1,2\n")
    assert "--encoding" in refusal(latin)
    latin.write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    assert "--encoding utf-16-le" in refusal(latin)
    foreign = tmp_path / "foreign.parquet"
    foreign.write_bytes(b"no parquet at all, but long enough to have a footer")
    assert "cannot be read as Parquet" in refusal(foreign)
    whole = tmp_path / "whole.parquet"
    pl.DataFrame({"a": np.arange(1000.0)}).write_parquet(whole)
    foreign.write_bytes(whole.read_bytes()[:-200])
    assert "foreign.parquet" in refusal(foreign)
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:60])
    assert "cut.csv.gz" in refusal(cut)
    cut.write_bytes(b"a,b\n1,2\n")
    assert "cut.csv.gz" in refusal(cut)


def test_parquet_without_rows_or_numbers(tmp_path: Path) -> None:
    path = tmp_path / "text.parquet"
    pl.DataFrame({"host": ["a"], "state": ["idle"]}).write_parquet(path)
    message = refusal(path)
    assert all(word in message for word in ("text.parquet", "'host'", "'state'", "--ignore"))
    pl.DataFrame({"a": [1.0]}).clear().write_parquet(path)
    assert "no rows" in refusal(path)


def test_paths_that_mean_nothing(tmp_path: Path) -> None:
    (tmp_path / "plant.csv").write_text("a\n1\n")
    assert "did you mean plant.csv" in refusal(tmp_path / "plnat.csv")
    assert "no such file" in refusal(tmp_path / "nowhere" / "x.csv")
    assert "no file matches" in refusal(str(tmp_path / "*.parquet"))
    (tmp_path / "empty").mkdir()
    assert "holds no" in refusal(tmp_path / "empty")
    (tmp_path / "plant.doc").write_text("x")
    assert ".csv.gz or .zip" in refusal(tmp_path / "plant.doc")


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0], "b": [2.0]}).write_csv(tmp_path / "1.csv")
    pl.DataFrame({"b": [1.0], "c": [2.0]}).write_csv(tmp_path / "2.csv")
    message = refusal(tmp_path)
    assert all(word in message for word in ("2.csv", "1.csv", "missing: a", "extra: c"))
    pl.DataFrame({"time": ["2024-01-01"], "b": [2.0]}).write_csv(tmp_path / "1.csv")
    pl.DataFrame({"time": [1], "b": [2.0]}).write_csv(tmp_path / "2.csv")
    assert "in one form" in refusal(tmp_path)
    pl.DataFrame({"time": ["2024-01-01T00:00:00Z"], "b": [2.0]}).write_parquet(
        tmp_path / "3.parquet"
    )
    assert "in one form" in refusal([tmp_path / "1.csv", tmp_path / "3.parquet"])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (np.zeros((2, 2, 2)), "rows × variables"),
        (np.array(3.0), "rows × variables"),
        (np.zeros((0, 2)), "no rows"),
        (np.zeros((2, 0)), "no column"),
        (np.zeros((2, 2), complex), "complex128"),
        (np.zeros((2, 2), "datetime64[s]"), "datetime64"),
        (np.zeros(2, [("a", float)]), "rows × variables"),
        (np.array([[1.0], [-np.inf]]), "column 'x0', row 1"),
        (np.array([[1, "x"], [2, 3.5]], object), "column 'x1', row 0"),
        (np.array([["1", "x"], ["2", "3"]]), "column 'x1', row 0"),
        ([[1, 2], [3]], "differ in length"),
        ([], "from list"),
        (None, "NoneType"),
        ({"a": [1]}, "dict"),
        (pl.DataFrame(), "no column"),
        (pl.DataFrame({"a": [1.0]}).clear(), "no rows"),
        (pl.DataFrame({"a": [[1], [2]]}), "'a' (list"),
        (pl.DataFrame({"a": ["1", None, "!"]}), "column 'a', row 2: '!'"),
        (pd.DataFrame({"a": [1, "x", 3]}), "column 'a', row 1: 'x'"),
        (pd.DataFrame({"a": [[1], [2]]}), "'a' (values such as [1])"),
        (pd.DataFrame({"a": pd.Categorical(["u", "v"])}), "'a' (categorical)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "same name"),
        (pd.DataFrame({"a": [1.0]}, index=pd.MultiIndex.from_tuples([(1, 2)])), "reset_index"),
        (pd.DataFrame({"a": [1, 2]}, index=pd.DatetimeIndex(["2024", None])), "row 1: the time"),
        (pl.DataFrame({"time": [1.0, float("inf")], "a": [1, 2]}), "row 1: the time is inf"),
        (pl.DataFrame({"time": [1.0, float("nan")], "a": [1, 2]}), "row 1: the time is nan"),
        (pd.DataFrame({"time": pd.Series([1, "x"], dtype=object), "a": [1, 2]}), "mixes"),
        (pl.DataFrame({"time": [[1], [2]], "a": [1, 2]}), "not times"),
    ],
)
def test_objects(source: Any, said: str) -> None:
    assert said in refusal(source)


def test_names_that_do_not_exist() -> None:
    frame = pl.DataFrame({"flow": [1.0], "speed": [2.0]})
    assert "did you mean 'flow'" in refusal(frame, columns=["flw"])
    assert "did you mean 'speed'" in refusal(frame, ignore=["sped"])
    assert "known: flow, speed" in refusal(frame, time="zzz")
    assert "twice" in refusal(frame, columns=["flow", "flow"])
    two = pl.DataFrame({"start": ["2024-01-01"], "end": ["2024-01-02"], "a": [1]}).with_columns(
        pl.col("start", "end").str.to_date()
    )
    assert "'start', 'end' could each be the time" in refusal(two)
    assert "not numeric: 'end'" in refusal(two, time="start")


def test_preparation_refuses_what_it_cannot_use() -> None:
    ok = as_table(pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    with pytest.raises(NotFittedError, match="call fit first"):
        Preparation().apply(ok)
    with pytest.raises(DataError, match="no column holds any value; give"):
        Preparation().fit(as_table(pl.DataFrame({"a": [None], "b": [None]})))
    twice = pl.DataFrame({"time": [0, 0, 1, 1], "a": [1, None, 1, None]})
    with pytest.raises(DataError, match="no column holds any value once rows at the same time"):
        Preparation().fit(as_table(twice))
    Preparation(duplicates="mean").fit(as_table(twice))
    fitted = Preparation().fit(ok)
    with pytest.raises(DataError, match=r"missing: 'b'; extra: 'c'"):
        fitted.apply(as_table(pl.DataFrame({"a": [1.0], "c": [2.0]})))
    with pytest.raises(DataError, match=r"3 variables where the training data had 2 \('a', 'b'\)"):
        fitted.apply(as_table(np.zeros((2, 3))))
    with pytest.raises(DataError, match=r"column 'b', row 1: the cell is missing"):
        Preparation(missing="error").fit(ok).apply(as_table(np.array([[1, 2], [3, np.nan]])))
    with pytest.raises(DataError, match="needs a time column"):
        Preparation(resample=60).fit(ok)
    with pytest.raises(DataError, match=r"labels of shape \(3,\) do not fit 2 rows"):
        fitted.apply(ok).labels(np.zeros(3))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"missing": "holt"}, "did you mean 'hold'"),
        ({"scaling": "minmax"}, "known: robust, standard"),
        ({"duplicates": "first"}, "is unknown"),
        ({"out_of_order": "sorted"}, "did you mean 'sort'"),
        ({"missing_limit": -1}, "at least 0"),
        ({"missing_limit": 1.5}, "whole number"),
        ({"downsample": 0}, "at least 1"),
        ({"gap": -5}, "positive"),
        ({"gap": float("nan")}, "positive"),
        ({"resample": float("inf")}, "positive"),
        ({"resample": 60, "downsample": 2}, "choose one"),
    ],
)
def test_options(options: dict[str, Any], said: str) -> None:
    with pytest.raises(AloraError, match=said):
        Preparation(**options)


def timed(times: list[float], **options: Any) -> Preparation:
    frame = pl.DataFrame({"time": times, "a": np.arange(float(len(times)))})
    return Preparation(**options).fit(as_table(frame))


def test_times_that_run_backwards_or_stand_still() -> None:
    backwards = [float(t) for t in range(50, 0, -1)]
    with pytest.raises(DataError, match=r"column 'time', row 1.*49 of 50 rows.*backwards"):
        timed(backwards)
    runs = [float(t) for t in range(30)] * 2
    with pytest.raises(DataError, match=r"row 30.*several series.*fleet fit"):
        timed(runs)
    late = [float(t) for t in range(30)]
    late[10], late[11] = late[11], late[10]
    timed(late)
    timed(backwards, out_of_order="sort")
    with pytest.raises(DataError, match=r"row 11.*out_of_order=\"late\""):
        timed(late, out_of_order="error")
    with pytest.raises(DataError, match=r"row 2: the time 1.0 occurs twice \(1 in all\)"):
        timed([0.0, 1.0, 1.0, 2.0], duplicates="error")


def test_results_that_do_not_fit_their_table() -> None:
    table = as_table(pl.DataFrame({"time": [1.0, 2.0], "a": [1.0, 2.0]}))
    with pytest.raises(DataError, match="'score' has 3 values for 2 rows"):
        table.frame({"score": np.zeros(3)})
    with pytest.raises(DataError, match="'time' has the name of a result"):
        table.frame({"time": np.zeros(2)})
    fitted = Preparation(resample=1).fit(table)
    with pytest.raises(DataError, match="needs a time column"):
        fitted.apply(as_table(np.zeros(3)))
    dated = pl.DataFrame({"time": ["2024-01-01", "2024-01-02"], "a": [1.0, 2.0]})
    with pytest.raises(DataError, match=r"'time', a number"):
        fitted.apply(as_table(dated))


def test_a_grid_far_too_fine_is_refused_before_it_takes_memory() -> None:
    frame = pl.DataFrame({"time": [0.0, 1e12], "a": [1.0, 2.0]})
    with pytest.raises(DataError, match="coarser resample"):
        Preparation(resample=1, gap=1e13).fit(as_table(frame))
