"""Scores of rows from the windows that hold them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.bench.covering import covering_mean
from tests import naive


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1.0, 1e9, 1e-9]), min_size=1, max_size=25),
    st.integers(1, 8),
    st.data(),
)
def test_it_equals_the_window_by_window_twin(
    score: list[float], window: int, data: st.DataObject
) -> None:
    values = np.array(score)
    changes = data.draw(st.lists(st.booleans(), min_size=len(score), max_size=len(score)))
    for segments in (None, np.cumsum(changes)):
        np.testing.assert_allclose(
            covering_mean(values, window, segments), naive.covering_mean(values, window, segments)
        )
