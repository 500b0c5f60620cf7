from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.diagnosis import Culprit, Incident
from alora_ts.diagnosis.repeats import find_repeats, pattern_key, pattern_of


def incident(start: int, *culprits: tuple[str, float, str], score: float = 2.0) -> Incident:
    return Incident(
        start=start,
        end=start + 5,
        start_time=start,
        end_time=start + 4,
        peak=start,
        peak_time=start,
        score=score,
        raw=score,
        severity="low",
        culprits=tuple(
            Culprit(name, share, side, 1.0, 0.0)  # type: ignore[arg-type]
            for name, share, side in culprits
        ),
    )


FLOW, POWER = ("flow", 0.6, "above"), ("power", 0.3, "below")


def test_the_same_culprits_and_directions_are_one_pattern() -> None:
    one = incident(0, FLOW, POWER)
    swapped = incident(0, ("power", 0.5, "below"), ("flow", 0.4, "above"))
    other_side = incident(0, FLOW, ("power", 0.3, "above"))
    weak = incident(0, FLOW, ("power", 0.1, "below"))
    key = pattern_key(one.culprits)
    assert key == pattern_key(swapped.culprits) != pattern_key(other_side.culprits)
    assert pattern_key(weak.culprits) == pattern_key(incident(0, FLOW).culprits) != key
    assert pattern_key(()) is None


def test_repeats_are_counted_until_too_much_time_has_passed() -> None:
    found = find_repeats(
        [
            incident(0, FLOW),
            incident(50, POWER),
            incident(100, FLOW, score=9.0),
            incident(205, FLOW),
            incident(311, FLOW),
        ],
        within=100,
    )
    assert [[one.start for one in group.incidents] for group in found] == [
        [0, 100, 205],
        [50],
        [311],
    ]
    assert (found[0].count, found[0].worst.start) == (3, 100)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)), max_size=20))
def test_every_incident_is_in_one_group(given_: list[tuple[str, int]]) -> None:
    incidents = [
        incident(start * 10, (name, 1.0, "above"))
        for name, start in sorted(given_, key=lambda one: one[1])
    ]
    groups = find_repeats(incidents, within=40)
    assert sum(group.count for group in groups) == len(incidents)
    for group in groups:
        assert len({pattern_of(one.culprits) for one in group.incidents}) == 1
