"""Incidents against a loop over rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.diagnosis.assemble import build_incidents
from alora_ts.diagnosis.incident import find_incidents
from tests import naive


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 1)), max_size=30),
    st.integers(0, 4),
    st.integers(1, 4),
)
def test_incidents_equal_the_obvious_loop(
    rows: list[tuple[bool, int]], merge: int, minimum: int
) -> None:
    score = np.array([2.0 if alarm else 0.5 for alarm, _ in rows])
    segments = np.cumsum([change for _, change in rows]).astype(int)
    found = find_incidents(score, merge=merge, minimum=minimum, segments=segments)
    assert found == naive.incidents(score.tolist(), segments.tolist(), merge, minimum)


def test_a_score_of_exactly_one_does_not_alarm() -> None:
    assert find_incidents(np.array([1.0, 1.0]), merge=0, minimum=1) == []


def test_culprits_are_ranked_with_direction_and_values() -> None:
    score = np.array([0.1, 2.0, 5.0, 0.1])
    localization = np.array([[1, 1, 1], [0, 9, 1], [0, 9, 1], [1, 1, 1]], dtype=float)
    values = np.array([[0, 0, 0], [0, -4, 1], [0, -6, 1], [0, 0, 0]], dtype=float)
    (incident,) = build_incidents(
        score=score,
        localization=localization,
        values=values,
        expected=np.zeros_like(values),
        scale=np.ones(3),
        variables=["a", "b", "c"],
        timestamps=np.array(
            ["2026-01-01T00:00", "2026-01-01T00:01", "2026-01-01T00:02", "2026-01-01T00:03"],
            dtype="datetime64[m]",
        ),
        segments=None,
        merge=0,
        minimum=1,
    )
    assert (incident.start, incident.end, incident.peak) == (1, 3, 2)
    assert incident.severity == "medium"
    assert str(incident.end_time) == "2026-01-01T00:02"
    first = incident.culprits[0]
    assert (first.variable, first.direction, first.value) == ("b", "below", -6.0)
    assert abs(first.share - 0.9) < 1e-9
