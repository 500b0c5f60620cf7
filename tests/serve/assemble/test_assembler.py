"""Rows of separately arriving samples equal those of the slow twin, whatever arrives."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.errors import AloraError
from alora_ts.serve.assemble import Assembler, Grid, Sample
from alora_ts.serve.rows.interface import Row
from tests.serve.assemble.naive_assembler import NaiveAssembler

GRID = Grid(step=10, tolerance=5, hold=25, wait=8, late=60, ahead=40)

grids = st.integers(1, 12).flatmap(
    lambda step: st.builds(
        Grid,
        step=st.just(step),
        tolerance=st.integers(0, step // 2),
        hold=st.integers(0, 40),
        wait=st.integers(0, 15),
        late=st.integers(0, 80),
        ahead=st.integers(0, 50),
    )
)
samples = st.builds(
    Sample,
    signal=st.sampled_from(["a", "b", "c", "other"]),
    time=st.integers(-30, 150),
    value=st.none() | st.integers(0, 9).map(float),
)
# What happens after a pause: a sample arrives, or rows are asked for.
events = st.lists(st.tuples(st.integers(0, 9), st.none() | samples), max_size=60)
held = st.dictionaries(st.sampled_from(["a", "b"]), st.integers(-20, 20), max_size=2).map(
    lambda times: {name: Sample(name, time, 7.0) for name, time in times.items()}
)


@given(grid=grids, log=events, held=held, names=st.sampled_from([["a"], ["a", "b", "c"]]))
@settings(max_examples=400, deadline=None)
def test_equals_the_twin(
    grid: Grid, log: list[tuple[int, Sample | None]], held: dict[str, Sample], names: list[str]
) -> None:
    known = {name: sample for name, sample in held.items() if name in names}
    fast, slow = Assembler(names, grid, held=known), NaiveAssembler(names, grid, held=known)
    now = 0
    for pause, sample in log:
        now += pause
        if sample is None:
            assert fast.take(now=now) == slow.take(now=now)
        else:
            assert fast.add(sample, now=now) == slow.add(sample, now=now)
    later = now + grid.wait
    assert fast.take(now=later) == slow.take(now=later)
    assert fast.next_due is None


@given(seed=st.integers(0, 10_000), repeats=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_order_and_repetition_do_not_matter_before_rows_are_made(seed: int, repeats: int) -> None:
    rng = random.Random(seed)
    sent = [Sample(name, time, float(time)) for name in "abc" for time in range(0, 60, 7)]
    plain = Assembler("abc", GRID)
    for sample in sent:
        assert plain.add(sample, now=60) is None
    shuffled = Assembler("abc", GRID)
    again = sent * repeats
    rng.shuffle(again)
    for sample in again:
        shuffled.add(sample, now=60)
    assert shuffled.take(now=100) == plain.take(now=100)


@given(log=events)
@settings(max_examples=100, deadline=None)
def test_each_row_is_made_once_and_complete_rows_keep_their_own_samples(
    log: list[tuple[int, Sample | None]],
) -> None:
    assembler = Assembler(["a", "b"], GRID)
    now, made = 0, list[int]()
    for pause, sample in log:
        now += pause
        if sample is not None:
            assembler.add(sample, now=now)
        made += [row.time for row in assembler.take(now=now)]
    assert len(made) == len(set(made))


def test_a_row_nothing_came_for_can_still_be_made_late() -> None:
    assembler = Assembler(["a"], GRID)
    for time in (10, 40):
        assembler.add(Sample("a", time, 1.0), now=time)
    assert [row.time for row in assembler.take(now=41)] == [10, 40]
    assert assembler.add(Sample("a", 20, 5.0), now=42) is None
    assert assembler.take(now=42) == [Row(20, {"a": 5.0})]
    assert assembler.add(Sample("a", 10, 6.0), now=43) == "row already made"


def test_a_wrong_clock_does_not_make_the_others_late() -> None:
    assembler = Assembler(["a", "b"], GRID)
    assert assembler.add(Sample("a", 10**15, 1.0), now=100) == "from the future"
    assert assembler.add(Sample("a", 100, 1.0), now=100) is None
    assert assembler.add(Sample("b", 100, 1.0), now=100) is None
    assert assembler.take(now=100) == [Row(100, {"a": 1.0, "b": 1.0})]


def test_memory_stays_bounded() -> None:
    assembler = Assembler(["a", "b"], GRID)
    for time in range(0, 20_000, 5):
        assembler.add(Sample("a", time, 0.0), now=time)
        assembler.take(now=time)
    assert len(assembler._made) <= GRID.late // GRID.step + 1
    assert max(map(len, assembler._past.values())) <= (GRID.late + GRID.hold) // 5 + 3


def test_an_older_row_being_collected_holds_back_newer_ones() -> None:
    assembler = Assembler(["a", "b"], GRID)
    assembler.add(Sample("a", 10, 1.0), now=10)
    for name in "ab":
        assembler.add(Sample(name, 20, 2.0), now=12)
    assert assembler.take(now=13) == []
    assert assembler.next_due == 18
    assert [row.time for row in assembler.take(now=18)] == [10, 20]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"step": 0}, "step"), ({"tolerance": 6}, "half the step"), ({"wait": -1}, "wait")],
)
def test_a_grid_that_cannot_be_is_refused(change: dict[str, int], message: str) -> None:
    plain = {"step": 10, "tolerance": 5, "hold": 0, "wait": 0, "late": 0, "ahead": 0}
    with pytest.raises(AloraError, match=message):
        Grid(**{**plain, **change})
