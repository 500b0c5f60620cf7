"""Means over the clock, gaps and attack lists against their slow twins."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.datasets.attacks import Attack, locate
from alora_ts.datasets.blocks import Stretch, block_means, split_at_gaps
from alora_ts.datasets.dataset import Segment
from alora_ts.datasets.hai_attacks import ATTACKS_21_03
from alora_ts.datasets.swat_attacks import ATTACKS
from tests.datasets import naive_rows


@st.composite
def stretches(draw: Any) -> Stretch:
    steps = draw(st.lists(st.sampled_from([0, 1, 1, 1, 2, 61, 300]), min_size=1, max_size=40))
    n = len(steps)
    clock = (np.datetime64("2020-01-01T00:00:30") + np.cumsum(steps)).astype("datetime64[us]")
    seed = draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    start = draw(st.integers(0, n - 1))
    return Stretch(
        values=rng.normal(1e4, 1, (n, 2)).astype(np.float32),
        timestamps=clock,
        segments=np.sort(rng.integers(0, 3, n)),
        label=rng.random(n) < 0.2,
        interpretation=(Segment(start, draw(st.integers(start + 1, n)), (1,)),),
    )


@given(stretches(), st.sampled_from([1, 2, 60]))
@settings(deadline=None)
def test_block_means_are_the_loop(rows: Stretch, seconds: int) -> None:
    found = block_means(rows, seconds=seconds)
    wanted = naive_rows.block_means(rows, seconds)
    np.testing.assert_allclose(found.values, np.array(wanted["values"]), rtol=1e-6)
    stamps = found.timestamps.astype("datetime64[s]").astype(int).tolist()
    assert stamps == wanted["timestamps"]
    assert found.segments.tolist() == wanted["segments"]
    assert found.label.tolist() == wanted["label"]
    (segment,) = found.interpretation
    inside = [[segment.start <= t < segment.end] for t in range(len(found.values))]
    assert inside == wanted["truth"]


@given(stretches())
def test_gaps_and_borders_begin_segments(rows: Stretch) -> None:
    longest = np.timedelta64(60, "s")
    found = split_at_gaps(rows.timestamps, rows.segments, longest=longest)
    wanted = naive_rows.split_at_gaps(list(rows.timestamps), rows.segments.tolist(), longest)
    assert found.tolist() == wanted


@given(stretches(), st.integers(-50, 400), st.integers(0, 200))
def test_an_attack_covers_the_rows_of_its_seconds(rows: Stretch, start: int, length: int) -> None:
    first = np.datetime64("2020-01-01T00:00:30", "us") + np.timedelta64(start, "s")
    attack = Attack("1", first, first + np.timedelta64(length, "s"), ("b", "not recorded"))
    wanted = naive_rows.attacked_rows(attack, rows.timestamps)
    found = locate([attack], rows.timestamps, ["a", "b"], aliases={})
    if not wanted:
        assert found == ()
    else:
        assert found == (Segment(wanted[0], wanted[-1] + 1, (1,)),)


def test_coarse_times_snap_to_the_labels_they_touch() -> None:
    clock = np.datetime64("2020-01-01T00:00:00", "us") + np.arange(100) * np.timedelta64(1, "s")
    label = np.zeros(100, np.bool_)
    label[20:31] = label[80:90] = True
    attack = Attack("1", clock[10], clock[25], ("old",))
    (segment,) = locate([attack], clock, ["new"], aliases={"old": "new"}, snap_to=label)
    assert segment == Segment(20, 31, (0,))
    label[:] = False
    (segment,) = locate([attack], clock, ["new"], aliases={"old": "new"}, snap_to=label)
    assert segment == Segment(10, 26, (0,))


def test_the_published_lists_are_whole_and_in_order() -> None:
    assert len(ATTACKS) == 36
    assert len(ATTACKS_21_03) == 50
    for attacks in (ATTACKS, ATTACKS_21_03):
        assert all(attack.points and attack.start < attack.end for attack in attacks)
        starts = [attack.start for attack in attacks]
        assert starts == sorted(starts)
        assert len({attack.name for attack in attacks}) == len(attacks)
