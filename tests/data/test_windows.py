from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.data.windows import plan_windows, window_ends, window_view
from alora_ts.errors import DataError
from tests.data.naive_windows import as_array, naive_ends, naive_segments, naive_window_of_row


@given(st.lists(st.integers(1, 9), max_size=5), st.integers(1, 6))
def test_windows_equal_their_naive_twins(lengths: list[int], window: int) -> None:
    segments = naive_segments(lengths)
    count = len(segments)
    values = np.arange(2.0 * count).reshape(count, 2)
    assert window_ends(count, window, as_array(segments)).tolist() == naive_ends(segments, window)
    plan = plan_windows(count, window, as_array(segments))
    windows = plan.gather(values, slice(None))
    assert windows.shape == (len(plan.ends), window, 2)
    position = plan.position()
    for row in range(count):
        expected, place, warm_up = naive_window_of_row(values, segments, window, row)
        np.testing.assert_array_equal(windows[plan.of_row[row]], expected)
        assert position[row] == place
        assert plan.warm_up[row] == warm_up
        np.testing.assert_array_equal(windows[plan.of_row[row], place], values[row])


@given(st.integers(0, 12), st.integers(1, 6))
def test_no_segments_is_one_segment(count: int, window: int) -> None:
    one = np.zeros(count, np.int32)
    assert window_ends(count, window).tolist() == window_ends(count, window, one).tolist()
    np.testing.assert_array_equal(
        plan_windows(count, window).of_row, plan_windows(count, window, one).of_row
    )


def test_the_view_is_a_view_and_cannot_be_written() -> None:
    values = np.arange(12.0).reshape(6, 2)
    view = window_view(values, 4)
    assert view.shape == (3, 4, 2)
    assert np.shares_memory(view, values)
    assert not view.flags.writeable
    for at in range(3):
        np.testing.assert_array_equal(view[at], values[at : at + 4])
    with pytest.raises(DataError, match="6 rows are fewer than one window of 7"):
        window_view(values, 7)


def test_gather_takes_any_choice_of_windows() -> None:
    values = np.arange(10.0)[:, None]
    plan = plan_windows(10, 3)
    picked = plan.gather(values, np.array([5, 0]))
    assert picked[:, :, 0].tolist() == [[5, 6, 7], [0, 1, 2]]
