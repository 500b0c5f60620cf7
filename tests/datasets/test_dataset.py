"""The Dataset, its truth matrix and its refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from alora_ts.datasets.dataset import (
    Dataset,
    Segment,
    label_segments,
    matrix_segments,
    truth_matrix,
)
from alora_ts.errors import DataError
from tests.datasets import naive_rows


def make(**changes: Any) -> Dataset:
    dataset = Dataset(
        name="TOY",
        entity="a",
        train=np.zeros((3, 2), np.float32),
        test=np.zeros((4, 2), np.float32),
        label=np.array([False, True, True, False]),
        interpretation=(Segment(1, 3, (0,)),),
        variables=("x", "y"),
        train_timestamps=None,
        test_timestamps=None,
        train_segments=np.zeros(3, np.int64),
        test_segments=np.zeros(4, np.int64),
        licence="none",
        citation="none",
    )
    return replace(dataset, **changes)


def test_truth_is_the_segments_spread_out() -> None:
    assert make().truth().tolist() == [[0, 0], [1, 0], [1, 0], [0, 0]]
    assert not make(interpretation=()).truth().any()
    assert make(interpretation=(Segment(0, 1, ()),)).truth().shape == (4, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": np.zeros((3, 1), np.float32)}, "train has shape"),
        ({"test": np.zeros((0, 2), np.float32)}, "test has no rows"),
        ({"label": np.zeros(3, np.bool_)}, "label has 3 rows where the data have 4"),
        ({"test_segments": np.zeros(5, np.int64)}, "test_segments has 5 rows"),
        ({"interpretation": (Segment(3, 5, (0,)),)}, "rows 3 to 5"),
        ({"interpretation": (Segment(2, 2, (0,)),)}, "rows 2 to 2"),
        ({"interpretation": (Segment(0, 1, (2,)),)}, r"variables \[2\]"),
        ({"interpretation": (Segment(0, 1, (-1,)),)}, r"variables \[-1\]"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=f"TOY a: .*{message}"):
        make(**changes)


@given(arrays(np.bool_, st.integers(0, 40)))
def test_label_segments_are_the_runs(label: Any) -> None:
    assert label_segments(label) == naive_rows.runs(label.tolist())


@given(arrays(np.bool_, st.tuples(st.integers(1, 20), st.integers(1, 4))))
def test_matrix_segments_and_truth_matrix_are_inverse(truth: Any) -> None:
    segments = matrix_segments(truth)
    rows, variables = truth.shape
    assert np.array_equal(truth_matrix(segments, rows=rows, variables=variables), truth)
    assert naive_rows.truth(segments, rows, variables) == truth.tolist()
