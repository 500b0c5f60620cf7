from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from alora_ts.baselines import get
from alora_ts.baselines.inputs import InputReader, Scaling
from alora_ts.baselines.ranges import fit_range
from alora_ts.data import as_table
from alora_ts.errors import DataError


def test_missing_cells_hold_but_not_across_a_border() -> None:
    reader = InputReader(Scaling())
    reader.fit(np.array([[0.0], [2.0]]))
    x = np.array([[3.0], [np.nan], [np.nan], [4.0]])
    np.testing.assert_array_equal(reader.read(x).values[:, 0], [2, 2, 2, 3])
    split = reader.read(x, segments=[7, 7, 9, 9])
    np.testing.assert_array_equal(split.values[:, 0], [2, 2, 0, 3])
    np.testing.assert_array_equal(split.segments, [0, 0, 1, 1])


def test_borders_in_training_split_it_too() -> None:
    rows = InputReader(Scaling()).fit(np.arange(5.0), segments=[0, 0, 1, 0, 0])
    np.testing.assert_array_equal(rows.segments, [0, 0, 1, 2, 2])


def test_late_rows_and_gaps_are_answered_in_the_given_order() -> None:
    minutes = np.array([0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 400, 401])
    frame = pl.DataFrame(
        {
            "time": np.datetime64("2026-01-01", "us") + minutes * np.timedelta64(60_000_000, "us"),
            "x": minutes.astype(float),
        }
    )
    reader = InputReader(Scaling())
    rows = reader.fit(frame)
    np.testing.assert_array_equal(rows.answers, [0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11])
    np.testing.assert_array_equal(rows.segments, [0] * 10 + [1] * 2)
    norm = get("norm").fit(frame)
    expected = np.abs(minutes - minutes.mean()) / minutes.std()
    np.testing.assert_allclose(norm.score(frame), expected, rtol=1e-6)


def test_ranges_are_learned_from_training_alone() -> None:
    reader = InputReader(Scaling(bounds=(0.0, 1.0), clip=(-1.0, 2.0)))
    train = np.array([[0.0, 5.0], [10.0, 5.0]])
    np.testing.assert_allclose(reader.fit(train).values, [[0, 0], [1, 0]])
    later = reader.read(np.array([[5.0, 5.0], [-100.0, 6.0]])).values
    np.testing.assert_allclose(later, [[0.5, 0], [-1, 2]])


def test_range_of_anything_is_kept_in_bounds() -> None:
    rng = np.random.default_rng(0)
    values = np.c_[rng.normal(size=20), np.full(20, 3.0), np.r_[np.zeros(19), 1e6]]
    scaled = fit_range(values, low=-1.0, high=1.0).apply(values)
    np.testing.assert_allclose(scaled.min(0), [-1, -1, -1], atol=1e-6)
    np.testing.assert_allclose(scaled.max(0), [1, -1, 1], atol=1e-6)


def test_tables_are_taken_as_they_are() -> None:
    reader = InputReader(Scaling())
    table = as_table(np.arange(4.0))
    np.testing.assert_array_equal(reader.fit(table).values, reader.read(table).values)


def test_what_was_learned_survives_json() -> None:
    for scaling in (Scaling(), Scaling(bounds=(0.0, 1.0), clip=(-3.0, 3.0))):
        reader = InputReader(scaling)
        reader.fit(np.random.default_rng(0).normal(size=(9, 2)))
        twin = InputReader.from_dict(scaling, reader.to_dict())
        x = np.array([[1.0, 99.0]])
        np.testing.assert_array_equal(reader.read(x).values, twin.read(x).values)
        assert twin.variables == ("x0", "x1")


@pytest.mark.parametrize("segments", [[0, 1], [0.0, 0.5, 1.0], [[0], [1], [2]]])
def test_segments_must_fit_the_rows(segments: list[float]) -> None:
    with pytest.raises(DataError, match="one whole number for each row"):
        InputReader(Scaling()).fit(np.arange(3.0), segments=segments)


def test_too_few_training_rows_are_refused() -> None:
    with pytest.raises(DataError, match="5 training rows are too few for KNN, which needs"):
        get("knn").fit(np.arange(5.0))
