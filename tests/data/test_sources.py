"""Files: blocks, borders, and chunks of what does not fit in memory."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from alora_ts.data import csv_blocks, sources
from alora_ts.data.chunks import prepare_chunks
from alora_ts.data.csv_blocks import read_csv_blocks
from alora_ts.data.prepare import Preparation
from alora_ts.data.table import as_table
from alora_ts.data.windows import plan_windows
from alora_ts.errors import DataError
from alora_ts.progress import Step


@pytest.fixture
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    count = 500
    minutes = np.cumsum(rng.choice([1] * 30 + [200], count))
    times = np.datetime64("2024-01-01T00:00", "us") + minutes * np.timedelta64(60, "s")
    values = rng.normal(size=(count, 3)).round(3)
    values[rng.random(values.shape) < 0.1] = np.nan
    return pl.DataFrame({"time": times, "a": values[:, 0], "b": values[:, 1], "c": values[:, 2]})


@pytest.mark.parametrize("block_bytes", [1, 7, 64, 10**6])
def test_csv_blocks_are_whole_lines_whatever_their_size(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "x.csv"
    path.write_text('note,a,b\n"one, two",1, 2\n"line\nbreak",3 ,4\n"say ""hi""",,5\nend,6,7')
    blocks = [frame for frame, _ in read_csv_blocks(path, block_bytes=block_bytes)]
    whole = pl.concat(blocks)
    assert whole["note"].to_list() == ["one, two", "line\nbreak", 'say "hi"', "end"]
    assert whole["a"].to_list() == [1.0, 3.0, None, 6.0]
    assert whole["b"].to_list() == [2.0, 4.0, 5.0, 7.0]


def test_csv_as_programs_write_it(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbftime,a,ok\r\n2024-01-01,1,True\r\n2024-01-02,NaN,false\r\n\r\n")
    table = as_table(path)
    np.testing.assert_array_equal(table.values, [[1, 1], [np.nan, 0]])
    path.write_text(",a\n0,5\n1,6\n")  # an index without a name
    assert as_table(path).time_name == ""
    path.write_text("0,1,2\n5,6,7\n")  # columns without names
    assert as_table(path).variables == ("0", "1", "2")
    path.write_text('"time\n(UTC)","a"\n2024-01-01,1\n')
    assert as_table(path).time_name == "time\n(UTC)"
    path.write_text("a,b\ntrue,1\nFALSE ,2\n")
    np.testing.assert_array_equal(as_table(path).values, [[1, 1], [0, 2]])
    path.write_text("a,b\n,1\n,2\n")  # nothing known about a column
    np.testing.assert_array_equal(as_table(path).values, [[np.nan, 1], [np.nan, 2]])


def test_a_late_block_that_disagrees_names_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "read_csv_blocks", lambda *a: read_csv_blocks(*a, block_bytes=32))
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2\n" * 50 + "3,Poor\n")
    with pytest.raises(DataError, match=r"column 'b'.*line 52: 'Poor'"):
        as_table(path)
    path.write_text("time,a\n" + "2024-01-13,1\n" * 50 + "soon,1\n")
    with pytest.raises(DataError, match=r"column 'time'.*line 52: 'soon'"):
        as_table(path)
    # The form of times found at first holds for the rest, where it alone would be unclear.
    path.write_text("time,a\n" + "13/01/2024,1\n" * 20 + "01/02/2024,1\n" * 20)
    stamps = as_table(path).timestamps
    assert stamps is not None
    assert stamps[-1] == np.datetime64("2024-02-01")


def test_several_files_are_read_in_order_and_windows_do_not_cross(
    tmp_path: Path, frame: pl.DataFrame
) -> None:
    frame[:200].write_csv(tmp_path / "day1.csv")
    frame[200:].select("c", "b", "a", "time").write_csv(tmp_path / "day2.csv")
    table = as_table(str(tmp_path / "day*.csv"))
    np.testing.assert_array_equal(table.values, as_table(frame).values)
    assert [part.start for part in table.parts] == [0, 200]
    assert table.place(199) == f"{tmp_path}/day1.csv, line 201"
    assert table.place(200) == f"{tmp_path}/day2.csv, line 2"
    prepared = Preparation(gap=1e9).fit(table).apply(table)
    assert prepared.segments.tolist() == [0] * 200 + [1] * 300
    assert table.source == f"{tmp_path}/day1.csv and others"
    # Files of different machines cover the same time; they are not mixed.
    frame.write_csv(tmp_path / "day2.csv")
    frame.write_csv(tmp_path / "day1.csv")
    twice = as_table(tmp_path)
    assert Preparation(gap=1e9).fit(twice).apply(twice).report.late_rows == 0


def test_files_of_different_width_take_the_wider(tmp_path: Path) -> None:
    pl.DataFrame({"a": np.ones(3, np.float32)}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"a": np.full(3, 1 / 3)}).write_parquet(tmp_path / "2.parquet")
    table = as_table(tmp_path)
    assert table.values.dtype == np.float64
    assert table.values[3, 0] == 1 / 3


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"missing": "interpolate", "missing_limit": 4},
        {"resample": 180.0},
        {"downsample": 7, "missing": "mark"},
    ],
)
def test_chunks_of_files_score_as_one_pass(
    tmp_path: Path, frame: pl.DataFrame, suffix: str, options: dict[str, Any]
) -> None:
    for number, piece in enumerate((frame[:230], frame[230:])):
        path = tmp_path / f"{number}{suffix}"
        if suffix == ".parquet":
            piece.write_parquet(path)
        else:
            text = piece.write_csv().encode()
            path.write_bytes(gzip.compress(text) if suffix == ".csv.gz" else text)
    table = as_table(tmp_path)
    fitted = Preparation(**options).fit(table)
    whole = fitted.apply(table)
    window = 12

    def score(values: Any, segments: Any) -> Any:
        plan = plan_windows(len(values), window, segments)
        windows = plan.gather(values, slice(None)).astype(np.float64)
        return (windows * np.arange(window)[:, None]).sum(axis=(1, 2))[plan.of_row]

    expected = score(whole.values, whole.segments)[whole.rows]
    frames, largest = [], 0
    for chunk in prepare_chunks(tmp_path, fitted, window=window, rows=64):
        part = chunk.prepared
        largest = max(largest, len(part))
        frames.append(chunk.table.frame({"score": score(part.values, part.segments)[part.rows]}))
    result = pl.concat(frames)
    np.testing.assert_array_equal(result["score"].to_numpy(), expected)
    assert result["time"].to_list() == table.frame({})["time"].to_list()
    assert options.get("resample") or largest <= 2 * 64 + window


def test_chunks_refuse_what_only_one_pass_can_do(tmp_path: Path, frame: pl.DataFrame) -> None:
    path = tmp_path / "x.parquet"
    frame.write_parquet(path)
    endless = Preparation(missing="interpolate").fit(as_table(path))
    with pytest.raises(DataError, match="needs missing_limit="):
        list(prepare_chunks(path, endless, window=5))
    fitted = Preparation().fit(as_table(path))
    rows = list(range(500))
    rows[300], rows[301] = 301, 300
    frame[rows].write_parquet(path)
    with pytest.raises(DataError, match=r"x.parquet, row 301.*sort them first"):
        list(prepare_chunks(path, fitted, window=5, rows=100))


def test_chunks_of_one_short_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n2\n3\n")
    fitted = Preparation().fit(as_table(path))
    chunks = list(prepare_chunks(path, fitted, window=10, rows=1))
    assert [(len(chunk.table), chunk.overlap) for chunk in chunks] == [(3, 0)]


def test_reading_large_files_reports_progress(
    tmp_path: Path, frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_SHOWN_BYTES", 1)
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 100)
    frame.write_csv(tmp_path / "1.csv")
    frame.write_parquet(tmp_path / "2.parquet")
    steps: list[Step] = []
    as_table(tmp_path, progress=steps.append)
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total
