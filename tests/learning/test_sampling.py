from __future__ import annotations

import itertools

import numpy as np

from alora_ts.learning.sampling import WindowSource, shuffled_forever


def test_windows_are_the_rows_up_to_their_end() -> None:
    values = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    ends = np.array([4, 9, 29])
    source = WindowSource(values, ends, window=5)
    assert len(source) == 3
    which = np.array([2, 0, 2, 1])
    taken = source.take(which)
    for window, number in zip(taken.numpy(), which, strict=True):
        np.testing.assert_array_equal(window, values[ends[number] - 4 : ends[number] + 1])
    assert taken.is_contiguous()


def test_taken_windows_do_not_change_the_table() -> None:
    values = np.zeros((6, 1), dtype=np.float32)
    WindowSource(values, np.array([3]), window=2).take(np.array([0])).fill_(7)
    assert (values == 0).all()


def test_all_windows_are_seen_before_any_repeats() -> None:
    drawn = list(itertools.islice(shuffled_forever(7, np.random.default_rng(0)), 21))
    for start in (0, 7, 14):
        assert sorted(drawn[start : start + 7]) == list(range(7))
    assert drawn[:7] != drawn[7:14]
    again = list(itertools.islice(shuffled_forever(7, np.random.default_rng(0)), 21))
    assert again == drawn
