from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.scoring.observations import observations
from tests.diagnosis import naive_explanation as naive


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 999), st.integers(2, 40))
def test_observations_equal_the_loops(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack(
        [
            rng.normal(size=n),
            np.cumsum(rng.normal(size=n)),
            np.round(rng.normal(size=n)),
            np.ones(n),
        ]
    )
    segments = np.cumsum(rng.random(n) < 0.1)
    found = observations(rows, segments)
    twin = [naive.observations(column.tolist(), segments.tolist()) for column in rows.T]
    np.testing.assert_allclose(found, twin, rtol=1e-6)
