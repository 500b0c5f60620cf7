"""What preparation promises, case by case."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.data.prepare import Preparation
from alora_ts.data.table import Table, as_table


def example(seed: int = 0, rows: int = 60, width: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    values = rng.normal(20, 3, (rows, width))
    values[rng.random(values.shape) < 0.15] = np.nan
    minutes = np.cumsum(rng.choice([1, 1, 1, 1, 40], rows))
    columns: dict[str, Any] = {f"v{at}": values[:, at] for at in range(width)}
    times = np.datetime64("2024-01-01T00:00", "us") + minutes * np.timedelta64(60, "s")
    return pl.DataFrame({"time": times, **columns})


@given(st.permutations(range(4)), st.sampled_from(["hold", "interpolate", "mark"]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_order_of_columns_does_not_matter(
    order: list[int], missing: Any, in_training: bool
) -> None:
    frame = example()
    turned = frame.select(*(f"v{at}" for at in order), "time")
    plain = Preparation(missing=missing).fit(as_table(frame))
    expected = plain.apply(as_table(frame)).values
    if in_training:
        fitted = Preparation(missing=missing).fit(as_table(turned))
        np.testing.assert_array_equal(fitted.apply(as_table(frame)).values, expected[:, order])
    else:
        np.testing.assert_array_equal(plain.apply(as_table(turned)).values, expected)


@pytest.mark.parametrize(
    "options",
    [{}, {"missing": "interpolate"}, {"resample": 90.0}, {"downsample": 3}, {"scaling": "robust"}],
)
def test_every_library_gives_the_same_bits(options: dict[str, Any], tmp_path: Any) -> None:
    frame = example()
    frame.write_parquet(tmp_path / "x.parquet")
    frame.write_csv(tmp_path / "x.csv")
    expected = Preparation(**options).fit(as_table(frame))
    values = expected.apply(as_table(frame)).values
    others = [
        frame.to_pandas(),
        frame.to_pandas().set_index("time"),
        frame.to_arrow(),
        frame.lazy(),
        tmp_path / "x.parquet",
        tmp_path / "x.csv",
    ]
    for source in others:
        fitted = Preparation(**options).fit(as_table(source))
        assert fitted.to_dict()["fitted"]["scale"] == expected.to_dict()["fitted"]["scale"]
        np.testing.assert_array_equal(fitted.apply(as_table(source)).values, values)


def test_arrays_are_matched_by_count() -> None:
    frame = example().drop("time")
    fitted = Preparation().fit(as_table(frame))
    by_name = fitted.apply(as_table(frame)).values
    np.testing.assert_array_equal(fitted.apply(as_table(frame.to_numpy())).values, by_name)
    unnamed = Preparation().fit(as_table(frame.to_numpy()))
    assert unnamed.variables == ("x0", "x1", "x2", "x3")
    np.testing.assert_array_equal(unnamed.apply(as_table(frame)).values, by_name)


@pytest.mark.parametrize("missing", ["hold", "interpolate"])
def test_a_gap_never_leaks(missing: Any) -> None:
    """Changing everything before a gap changes nothing after it."""
    times = np.r_[np.arange(10), np.arange(100, 110)].astype(float)
    values = np.random.default_rng(0).normal(size=(20, 2))
    values[8:13] = np.nan
    values[15, 0] = np.nan
    frame = pl.DataFrame({"time": times, "a": values[:, 0], "b": values[:, 1]})
    fitted = Preparation(missing=missing, gap=5).fit(as_table(frame))
    other = frame.with_columns(
        pl.when(pl.col("time") < 50).then(pl.col("a") * 7 + 3).otherwise("a")
    )
    one, two = fitted.apply(as_table(frame)), fitted.apply(as_table(other))
    assert one.segments.tolist() == [0] * 10 + [1] * 3 + [2] * 7
    assert [str(gap) for gap in one.gaps] == ["no data from 7 to 103"]
    np.testing.assert_array_equal(one.values[10:], two.values[10:])
    assert not np.array_equal(one.values[:10], two.values[:10])


def test_a_gap_is_an_event_with_the_callers_times() -> None:
    times = pd.to_datetime(
        ["2024-05-01 08:00", "2024-05-01 08:01", "2024-05-01 08:02", "2024-05-01 09:30"]
    )
    table = as_table(pd.DataFrame({"a": [1.0, 2, 3, 4]}, index=times))
    fitted = Preparation().fit(table)
    assert (fitted.step, fitted.gap) == (60, 600)
    prepared = fitted.apply(table)
    assert str(prepared.gaps[0]) == "no data from 2024-05-01 08:02:00 to 2024-05-01 09:30:00"
    assert prepared.segments.tolist() == [0, 0, 0, 1]
    assert "no data from 2024-05-01 08:02:00" in str(prepared.report)


def test_rows_without_values_are_an_outage_too() -> None:
    values = np.ones((60, 1))
    values[20:40] = np.nan
    values[55:58] = np.nan
    fitted = Preparation(gap=10).fit(as_table(np.arange(60.0)))
    prepared = fitted.apply(as_table(values))
    assert prepared.segments.tolist() == [0] * 40 + [1] * 20
    assert [(gap.start, gap.end) for gap in prepared.gaps] == [(19, 40)]
    ends_silent = fitted.apply(as_table(np.r_[values[:5], np.full((30, 1), np.nan)]))
    assert [(gap.start, gap.end) for gap in ends_silent.gaps] == [(4, 34)]


def test_a_silent_variable_is_allowed_later_and_never_gives_nan() -> None:
    train = as_table(pl.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 6]}))
    for missing in ("hold", "interpolate", "mark"):
        fitted = Preparation(missing=missing).fit(train)  # type: ignore[arg-type]
        later = fitted.apply(as_table(pl.DataFrame({"a": [1.0, 2], "b": [None, None]})))
        assert later.values[:, 1].tolist() == [0, 0]
        assert later.report.silent == ("b",)
        assert "no value at all: b" in str(later.report)
        everything = fitted.apply(as_table(np.full((5, 2), np.nan)))
        assert np.all(everything.values == 0)


def test_one_row_one_variable() -> None:
    fitted = Preparation().fit(as_table(np.array([3.0])))
    prepared = fitted.apply(as_table(np.array([3.0])))
    assert prepared.values.tolist() == [[0.0]]
    assert fitted.gap is None
    assert prepared.report.constant == ("x0",)


def test_limits() -> None:
    nan = np.nan
    table = as_table(np.array([0.0, 2, nan, nan, nan, 2, nan]))
    train = as_table(np.array([0.0, 2.0]))

    def column(**options: Any) -> list[float]:
        return list(Preparation(**options).fit(train).apply(table).values[:, 0].tolist())

    assert column() == [-1, 1, 1, 1, 1, 1, 1]
    assert column(missing_limit=2) == [-1, 1, 1, 1, 0, 1, 1]
    assert column(missing_limit=0) == [-1, 1, 0, 0, 0, 1, 0]
    assert column(missing="mark") == [-1, 1, 0, 0, 0, 1, 0]
    assert column(missing="interpolate", missing_limit=2) == [-1, 1, 0, 0, 0, 1, 1]


def test_labels_of_a_block_are_those_of_any_row() -> None:
    table = as_table(np.arange(7.0))
    prepared = Preparation(downsample=3).fit(table).apply(table)
    assert len(prepared) == 3
    assert prepared.rows.tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert prepared.labels(np.array([0, 0, 0, 0, 1, 0, 1])).tolist() == [False, True, True]


def test_irregular_signals_align_on_a_grid() -> None:
    times = ["10:00:01", "10:00:20", "10:00:59", "10:01:30", "10:03:10"]
    frame = pl.DataFrame(
        {
            "time": [f"2024-01-01 {clock}" for clock in times],
            "fast": [1.0, None, 3.0, 5.0, 7.0],
            "slow": [None, 8.0, None, None, 10.0],
        }
    )
    train = as_table(frame)
    prepared = Preparation(resample=60, gap=300).fit(train).apply(train)
    assert prepared.timestamps is not None
    assert [str(t)[11:16] for t in prepared.timestamps] == ["10:00", "10:01", "10:02", "10:03"]
    assert prepared.rows.tolist() == [0, 0, 0, 1, 3]
    assert prepared.filled().tolist() == [
        [False, False],
        [False, True],
        [True, True],
        [False, False],
    ]


def test_saved_and_loaded_it_is_the_same() -> None:
    frame = example()
    options: list[dict[str, Any]] = [
        {},
        {"missing": "interpolate", "missing_limit": 3, "gap": 90.5, "resample": 30.0},
        {"downsample": 4, "duplicates": "mean", "out_of_order": "sort", "scaling": "robust"},
    ]
    for choice in options:
        fitted = Preparation(**choice).fit(as_table(frame))
        copy = Preparation.from_dict(json.loads(json.dumps(fitted.to_dict())))
        assert copy == fitted
        np.testing.assert_array_equal(
            copy.apply(as_table(frame)).values, fitted.apply(as_table(frame)).values
        )
    assert Preparation() != Preparation(gap=5)
    assert Preparation() != Preparation().fit(as_table(frame))
    assert Preparation() != "something else"


def test_reading_as_in_training() -> None:
    frame = example().with_columns(host=pl.lit("h"))
    train = as_table(frame.rename({"time": "moment"}), time="moment", ignore=["host"])
    fitted = Preparation().fit(train)
    assert fitted.read(frame.rename({"time": "moment"})).time_name == "moment"
    assert fitted.read(frame.drop("host")).time_name == "time"
    # A variable with the name of a time stays a variable.
    odd = pl.DataFrame({"time": [1.0, 2.0], "a": [1.0, 3.0]})
    assert Preparation().fit(as_table(odd, columns=["time", "a"])).read(odd).variables == (
        "time",
        "a",
    )
    array = frame.drop("time", "host").to_numpy()
    assert fitted.read(array).values.shape == (60, 4)


def test_other_times_than_in_training_are_said() -> None:
    frame = example()
    fitted = Preparation().fit(as_table(frame))
    untimed = fitted.apply(as_table(frame.drop("time")))
    assert "gaps were not looked for" in str(untimed.report)
    assert len(np.unique(untimed.segments)) == 1
    hourly = frame.with_columns(
        time=pl.Series(np.arange(60) * 3_600_000_000).cast(pl.Datetime("us"))
    )
    assert "median step is 3600, in the training data it was 60" in str(
        fitted.apply(as_table(hourly)).report
    )


def test_overwriting_uses_the_tables_memory_only_where_it_may() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    fitted = Preparation().fit(as_table(values))
    expected = fitted.apply(as_table(values)).values
    copy = values.copy()
    result = fitted.apply(as_table(copy), overwrite=True).values
    assert np.shares_memory(result, copy)
    np.testing.assert_array_equal(result, expected)
    frozen = values.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(fitted.apply(as_table(frozen), overwrite=True).values, expected)
    wide = values.astype(np.float64)
    assert not np.shares_memory(fitted.apply(as_table(wide), overwrite=True).values, wide)


def test_huge_values_are_cut_and_reported() -> None:
    fitted = Preparation().fit(as_table(np.array([0.0, 1.0, 2.0])))
    prepared = fitted.apply(as_table(np.array([1e300, -1e300, 1.0])))
    assert prepared.values[:, 0].tolist() == [1e6, -1e6, 0]
    assert prepared.report.clipped == {"x0": 2}
    assert "cut 2 extreme cells" in str(prepared.report)


def test_late_and_duplicate_rows_are_reported_and_mapped_back() -> None:
    times = [float(t) for t in range(20)]
    times[5], times[6] = 6.0, 5.0
    times[10] = 9.0
    frame = pl.DataFrame({"time": times, "a": np.arange(20.0)})
    prepared = Preparation().fit(as_table(frame)).apply(as_table(frame))
    assert prepared.rows[[5, 6]].tolist() == [6, 5]
    assert prepared.rows[[9, 10]].tolist() == [9, 9]
    assert (prepared.report.late_rows, prepared.report.duplicate_rows) == (1, 1)
    text = str(prepared.report)
    assert "1 late row put back" in text
    assert "20 rows in 1 segment, 19 after alignment" in text
    assert json.loads(json.dumps(prepared.report.to_dict()))["late_rows"] == 1


def test_a_report_of_many_gaps_stays_short() -> None:
    frame = pl.DataFrame({"time": np.arange(40.0) * 100, "a": np.arange(40.0)})
    prepared = Preparation(gap=5).fit(as_table(frame)).apply(as_table(frame))
    assert len(prepared.gaps) == 39
    assert "… and 34 more gaps" in str(prepared.report)
    assert len(str(prepared.report).splitlines()) == 7


def test_the_input_is_never_changed() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    values[3:9, 1] = np.nan
    before = values.copy()
    table: Table = as_table(values)
    for missing in ("hold", "interpolate", "mark"):
        Preparation(missing=missing).fit(table).apply(table)  # type: ignore[arg-type]
    np.testing.assert_array_equal(values, before)
