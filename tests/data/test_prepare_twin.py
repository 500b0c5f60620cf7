"""The fast preparation against the slow one, whole and in any chunks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.data.chunks import prepare_tables
from alora_ts.data.prepare import Preparation
from alora_ts.data.record import Part, Table
from alora_ts.data.windows import plan_windows
from tests.data.naive_prepare import naive_prepare


@st.composite
def cases(draw: st.DrawFn, *, ordered: bool = False) -> tuple[Table, dict[str, Any]]:
    count = draw(st.integers(1, 40))
    width = draw(st.integers(1, 3))
    steps = draw(st.lists(st.sampled_from([0, 1, 1, 1, 2, 5, 30]), min_size=count, max_size=count))
    times = np.cumsum(np.array(steps, np.float64))
    cell = st.sampled_from([0.0, 1.0, -2.5, 7.0, 1e9, np.nan, np.nan])
    cells = draw(st.lists(cell, min_size=count * width, max_size=count * width))
    values = np.array(cells, np.float64).reshape(count, width)
    silent = draw(st.lists(st.integers(0, count - 1), max_size=count))
    values[silent] = np.nan
    cuts = draw(st.sets(st.integers(1, count), max_size=2))
    starts = sorted({0, *(cut for cut in cuts if cut < count)})
    if not ordered and draw(st.booleans()):
        moved = draw(st.integers(0, count - 1))
        times[moved] = max(0.0, times[moved] - 3)
    parts = tuple(Part(start, f"file{start}") for start in starts)
    names = tuple(f"v{at}" for at in range(width))
    dated = draw(st.booleans())
    stamps: Any = (times * 1e6).astype(np.int64).view("datetime64[us]") if dated else times
    table = Table(values, names, stamps, time_name="time", kind="polars", parts=parts)
    options = {
        "missing": draw(st.sampled_from(["hold", "interpolate", "mark"])),
        "missing_limit": draw(st.sampled_from([0, 1, 3] if ordered else [None, 0, 1, 3])),
        "gap": draw(st.sampled_from([1.0, 4.0, 20.0])),
        "duplicates": draw(st.sampled_from(["last", "mean"])),
        "out_of_order": "sort",
    }
    rate = draw(st.sampled_from(["none", "resample", "downsample"]))
    if rate == "resample":
        options["resample"] = draw(st.sampled_from([1.0, 2.0, 3.0]))
    elif rate == "downsample":
        options["downsample"] = draw(st.integers(2, 4))
    return table, options


def fitted(table: Table, options: dict[str, Any]) -> Preparation:
    width = len(table.variables)
    train = Table(
        np.array([[0.0] * width, [3.0] * width, [1.0] * width]),
        table.variables,
        np.array([0, 1, 2]) if table.timestamps is None else table.timestamps[:1].repeat(3),
        kind="polars",
    )
    if table.timestamps is not None:
        unit = 1_000_000 if table.timestamps.dtype.kind == "M" else 1
        train = Table(
            train.values,
            train.variables,
            (np.arange(3) * unit).astype(table.timestamps.dtype),
            kind="polars",
        )
    return Preparation(**options).fit(train)


def seconds(stamps: Any) -> list[float]:
    if stamps.dtype.kind == "M":
        return list((stamps.astype(np.int64) / 1e6).tolist())
    return list(stamps.astype(float).tolist())


@given(cases())
@settings(max_examples=100, deadline=None)
def test_equals_the_naive_preparation(case: tuple[Table, dict[str, Any]]) -> None:
    table, options = case
    preparation = fitted(table, options)
    fast = preparation.apply(table)
    slow = naive_prepare(
        table.values.tolist(),
        seconds(table.timestamps),
        [part.start for part in table.parts],
        center=preparation.standardiser.center.tolist(),
        scale=preparation.standardiser.scale.tolist(),
        gap=options["gap"],
        step=options.get("resample"),
        block=options.get("downsample", 1),
        duplicates=options["duplicates"],
        missing=options["missing"],
        limit=options["missing_limit"],
    )
    assert fast.rows.tolist() == slow.rows
    assert fast.segments.tolist() == slow.segments
    assert seconds(fast.timestamps) == pytest.approx(slow.times)
    assert fast.filled().tolist() == slow.missing
    np.testing.assert_allclose(fast.values, np.array(slow.values), rtol=1e-5, atol=1e-5)
    found = [(seconds(np.array([g.start]))[0], seconds(np.array([g.end]))[0]) for g in fast.gaps]
    assert np.array(found) == pytest.approx(np.array(slow.gaps))
    assert np.isfinite(fast.values).all()
    assert sum(fast.report.filled.values()) == int(np.sum(slow.missing))


def test_a_silence_is_over_only_when_its_moment_is_complete() -> None:
    """The last row of 3 s holds nothing and counts: in pieces its block was closed too early."""
    values = np.array([[0.0], [0.0], [np.nan], [0.0], [0.0], [np.nan]])
    times = np.array([0.0, 0.0, 2.0, 3.0, 3.0, 3.0])
    parts_of = (Part(0, "file0"),)
    table = Table(values, ("a",), times, time_name="time", kind="polars", parts=parts_of)
    options = {"missing_limit": 0, "gap": 1.0, "downsample": 2, "duplicates": "last"}
    preparation = fitted(table, {**options, "missing": "hold", "out_of_order": "sort"})
    whole = preparation.apply(table)
    pieces = [table.slice(at, at + 1) for at in range(6)]
    parts = [chunk.prepared for chunk in prepare_tables(pieces, preparation, window=1)]
    segments = np.concatenate([part.segments[part.rows] for part in parts])
    np.testing.assert_array_equal(segments, whole.segments[whole.rows])
    assert parts[-1].report.filled == whole.report.filled


@given(cases(ordered=True), st.integers(1, 6), st.data())
@settings(max_examples=100, deadline=None)
def test_any_chunking_gives_one_pass(
    case: tuple[Table, dict[str, Any]], window: int, data: st.DataObject
) -> None:
    table, options = case
    if data.draw(st.booleans()):
        table = Table(table.values, table.variables, kind="polars", parts=table.parts)
        options.pop("resample", None)
    preparation = fitted(table, options)
    whole = preparation.apply(table)
    plan = plan_windows(len(whole), window, whole.segments)
    windows = plan.gather(whole.values, slice(None))[plan.of_row][whole.rows]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(table)), max_size=6)))
    bounds = [0, *(cut for cut in cuts if cut < len(table)), len(table)]
    pieces = [table.slice(a, b) for a, b in pairwise(bounds)]
    chunks = list(prepare_tables(pieces, preparation, window=window))
    seen, masks, segments, warm, gaps, answered = [], [], [], [], list[Any](), []
    for chunk in chunks:
        part = chunk.prepared
        assert chunk.overlap <= window - 1
        local = plan_windows(len(part), window, part.segments)
        seen.append(local.gather(part.values, slice(None))[local.of_row][part.rows])
        masks.append(part.filled()[part.rows])
        segments.append(part.segments[part.rows])
        warm.append(local.warm_up[part.rows])
        answered.append(chunk.table.values)
        gaps += part.gaps
        assert np.all(part.rows >= chunk.overlap)
    np.testing.assert_array_equal(np.concatenate(seen), windows)
    np.testing.assert_array_equal(np.concatenate(masks), whole.filled()[whole.rows])
    np.testing.assert_array_equal(np.concatenate(segments), whole.segments[whole.rows])
    np.testing.assert_array_equal(np.concatenate(warm), plan.warm_up[whole.rows])
    np.testing.assert_array_equal(np.concatenate(answered), table.values)
    report = chunks[-1].prepared.report
    assert sorted(map(str, gaps)) == sorted(map(str, whole.gaps))
    assert sorted(map(str, report.gaps)) == sorted(map(str, whole.report.gaps))
    assert report.filled == whole.report.filled
    assert report.duplicate_rows == whole.report.duplicate_rows
    assert report.segments == whole.report.segments
    assert report.prepared_rows == whole.report.prepared_rows
