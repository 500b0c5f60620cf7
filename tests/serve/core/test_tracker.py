from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.serve.incidents.tracker import Moment, Tracker
from tests.serve.core.naive_tracker import incidents


@given(
    rows=st.lists(st.tuples(st.sampled_from([0.5, 2.0, 5.0]), st.integers(0, 9)), max_size=60),
    merge=st.integers(0, 4),
    minimum=st.integers(1, 4),
)
def test_rows_one_by_one_give_the_batchs_incidents(
    rows: list[tuple[float, int]], merge: int, minimum: int
) -> None:
    score = [one for one, _ in rows]
    warm_up = [chance == 0 for _, chance in rows]
    tracker = Tracker(("a",), np.ones(1), merge=merge, minimum=minimum)
    found: dict[int, tuple[int, int]] = {}
    one = np.ones(1)
    for time, (value, warm) in enumerate(zip(score, warm_up, strict=True)):
        for trail in tracker.add(Moment(time, value, value, warm, one, one, one)):
            found[trail.start] = (trail.start, trail.end)
            assert trail.rows == trail.end - trail.start + 1
    assert list(found.values()) == incidents(score, warm_up, merge=merge, minimum=minimum)
