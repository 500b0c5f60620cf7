"""Explanations: against loops, on odd rows, and that they say what they should."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts import ALoRa
from alora_ts.data.scaling import fit_standardiser
from alora_ts.diagnosis.explanation import Judge
from alora_ts.diagnosis.onset import arrivals
from alora_ts.diagnosis.origins import learn_mechanisms
from alora_ts.diagnosis.sample import Rows, Sample
from alora_ts.diagnosis.story import tell
from alora_ts.diagnosis.usual import Usual, learn_usual
from tests.diagnosis import naive_explanation as naive
from tests.diagnosis.judges import plain_judge, random_judge


def judge_of(normal: np.ndarray, *, held_back: int = 50) -> Judge:
    """What a fit learns beside the network."""
    standardiser = fit_standardiser(normal)
    scaled = standardiser.apply(normal)
    new = np.arange(len(normal)) >= len(normal) - held_back
    rules = learn_mechanisms(scaled, None, window=8, held_back=new)
    usual = learn_usual(
        scaled,
        None,
        held_back=new,
        limit=10.0,
        known=rules.hold(scaled, None, held_back=new),
    )
    return Judge(standardiser, usual, rules, 10.0, 8)


def related(rows: int, *, seed: int = 0) -> np.ndarray:
    """Two pairs of signals that move together, and one that moves alone."""
    rng = np.random.default_rng(seed)
    one, two, three = (np.sin(np.arange(rows) / period) for period in (7, 11, 17))
    x = np.column_stack([one, 2 * one, two, -two, three])
    return x + 0.1 * rng.normal(size=x.shape)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 999), st.integers(1, 6), st.integers(1, 12), st.booleans())
def test_explanations_equal_the_loops(seed: int, d: int, n: int, surprised: bool) -> None:
    judge = random_judge(seed, d)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) * rng.choice([0.1, 1, 5, 1e4], d)
    surprise = rng.normal(size=(n, d)) * rng.choice([0.0, 1, 5], d) if surprised else None
    found = judge.explain(values, surprise)
    twin = naive.explain(judge, values, surprise)
    assert found.aside.tolist() == twin["aside"]
    np.testing.assert_allclose(found.share, twin["share"], rtol=1e-4, atol=1e-6)
    assert found.certainty == pytest.approx(naive.certainty(twin), rel=1e-3)
    assert sorted(found.culprits.tolist()) == sorted(twin["culprits"])
    in_order = [twin["weight"][at] for at in found.culprits]
    np.testing.assert_allclose(in_order, sorted(in_order, reverse=True), rtol=1e-4)
    assert len(found.culprits) > 0


def test_how_many_signals_behave_does_not_matter_to_the_certainty() -> None:
    rng = np.random.default_rng(0)
    normal = np.cumsum(rng.normal(size=(200, 40)), 0)  # too few rows to know relations
    today = normal[-30:].copy()
    today[:, 0] += 20 * normal[:, 0].std()
    few, many = (judge_of(normal[:, :d]).explain(today[:, :d], None) for d in (4, 40))
    assert few.culprits.tolist() == many.culprits.tolist() == [0]
    assert few.certainty == pytest.approx(many.certainty)


def test_a_constant_that_moved_in_one_row_comes_after_one_that_is_away() -> None:
    normal = np.column_stack([np.cumsum(np.random.default_rng(0).normal(size=200)), np.ones(200)])
    today = np.tile([normal[:, 0].max() + 30 * normal[:, 0].std(), 1.0], (30, 1))
    today[7, 1] = 2.0
    assert judge_of(normal).explain(today, None).culprits.tolist() == [0, 1]
    today[:, 0] = normal[:, 0].mean()
    assert judge_of(normal).explain(today, None).culprits.tolist() == [1]


def test_the_heaviest_is_a_culprit_although_it_stayed_within_its_range() -> None:
    normal = related(3000)
    judge = judge_of(normal)
    rows = related(30, seed=5)
    rows[:, 4] += 12
    surprise = np.random.default_rng(0).normal(size=rows.shape)
    surprise[:, 1] *= 20
    found = judge.explain(rows, surprise)
    assert found.culprits.tolist() == [1, 4]
    assert not found.aside[1]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 999), st.integers(1, 5), st.integers(1, 8), st.integers(0, 6))
def test_telling_rows_equal_the_loops(seed: int, d: int, n: int, before: int) -> None:
    judge = random_judge(seed, d)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(before + n, d)) * rng.choice([0.1, 1, 5, 1e4], (before + n, 1))
    assert judge.telling(values, before).tolist() == naive.telling(judge, values, before)


def test_neither_units_nor_zero_matter() -> None:
    normal, today = related(600), related(700)[600:]
    today[40:, 1] += 9
    plain = judge_of(normal).explain(today, None)
    factor, shift = np.array([1e6, 1, 1e-3, 1, 1]), np.array([0, 1e4, 0, -70, 273.15])
    moved = judge_of(normal * factor + shift).explain(today * factor + shift, None)
    np.testing.assert_array_equal(plain.culprits, moved.culprits)
    np.testing.assert_allclose(plain.share, moved.share, rtol=1e-2)


def test_sizes_beyond_the_networks_limit_count() -> None:
    rng = np.random.default_rng(0)
    judge = judge_of(rng.normal(size=(600, 4)))
    today = rng.normal(size=(50, 4))
    today[:, 1] += 12
    today[:, 2] += 3000
    found = judge.explain(today, None)
    assert found.culprits.tolist() == [2, 1]
    assert found.share[2] > 0.95


def test_a_gauge_that_hardly_moved_in_training_does_not_come_first() -> None:
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(300, 3))
    normal[:, 1] = 0
    normal[100:110, 1] = 1e-3  # moved twice
    today = rng.normal(size=(100, 3))
    today[:, 1] = 0.02
    today[:, 0] += 40 + 5 * rng.normal(size=100)
    found = judge_of(normal).explain(today, None)
    assert found.culprits.tolist() == [0, 1]


def test_a_bent_expectation_makes_no_culprit() -> None:
    normal, today = related(600), related(640)[600:]
    judge = judge_of(normal)
    assert judge.usual.relations
    today[:, 1] += 25  # its partner behaves
    found = judge.explain(today, None)
    assert found.culprits.tolist() == [1]
    assert found.aside.tolist() == [False, True, False, False, False]
    np.testing.assert_allclose(found.expected[:, 1], related(640)[600:, 1], atol=0.8)
    # A signal within its range that no longer follows the others is found as well.
    within = related(640)[600:]
    within[:, 3] *= -1
    assert 3 in judge.explain(within, None).culprits


def test_a_signal_within_its_range_that_explains_next_to_nothing_is_not_named() -> None:
    judge = judge_of(related(600))
    today = related(640)[600:]
    today[:, 3] *= -1  # within its range
    assert 3 in judge.explain(today, None).culprits
    today[:, 0] += 5000
    found = judge.explain(today, None)
    assert found.share[3] < 0.01
    assert found.culprits.tolist() == [0]


def test_rows_before_the_alarm_that_deviate_already_tell_and_faint_ones_do_not() -> None:
    rng = np.random.default_rng(0)
    judge = judge_of(rng.normal(size=(600, 3)))
    assert judge.mechanisms is not None
    assert judge.mechanisms.lags == 2
    rows = rng.normal(size=(8, 3)) * 0.5
    rows[2:, 1] += 30
    # The alarm begins at row 5; a rule reaches back two rows.
    assert judge.telling(rows, 5).tolist() == [3, 4, 5, 6, 7]
    rows[:4] = 0.0
    rows[6] = 0.0
    assert judge.telling(rows, 5).tolist() == [4, 5, 7]
    assert judge.telling(np.zeros((4, 3)), 2).tolist() == [2, 3]


def test_everything_at_once_and_one_row_are_no_obstacle() -> None:
    judge = judge_of(related(600))
    found = judge.explain(np.full((1, 5), 1e9), None)
    assert found.aside.all()
    assert len(found.culprits) == 5
    quiet = judge.explain(np.zeros((1, 5)), None)
    assert len(quiet.culprits) >= 1
    assert np.isfinite(quiet.share).all()


def test_too_many_signals_for_the_rows_are_judged_by_their_own_range() -> None:
    rng = np.random.default_rng(0)
    few = np.cumsum(rng.normal(size=(120, 30)), axis=0)
    assert not judge_of(few, held_back=12).usual.relations


def test_a_constant_that_moves_is_named_but_has_no_size() -> None:
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(300, 2))
    normal[:, 1] = 5.0
    today = rng.normal(size=(20, 2))
    today[:, 1] = 6.0
    assert judge_of(normal).explain(today, None).culprits.tolist() == [1]
    today[:, 0] += 1000
    assert set(judge_of(normal).explain(today, None).culprits.tolist()) == {0, 1}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=8))
def test_a_sample_does_not_depend_on_how_rows_come(pieces: list[int]) -> None:
    n = sum(pieces)
    rows = Rows(np.arange(n), np.arange(n)[:, None], np.arange(n)[:, None])
    whole, parts = Sample(rows), Sample(rows.pick(slice(0, 0)))
    for end, piece in zip(np.cumsum(pieces), pieces, strict=True):
        parts.add(rows.pick(slice(end - piece, end)))
    np.testing.assert_array_equal(whole.settled.times, parts.settled.times)
    assert len(whole.settled) <= 256
    assert whole.changed == parts.changed
    assert whole.settled.times[0] == 0
    for one in (whole, parts):
        one.settle()  # it is over
    np.testing.assert_array_equal(whole.settled.times, parts.settled.times)
    assert whole.changed == parts.changed
    if n <= 256:
        assert len(whole.settled) == n


def test_arrivals_need_two_rows_and_know_how_early_it_may_have_been() -> None:
    course = np.array([[0.0, 9], [9, 9], [0, 9], [2, 9], [2, 9], [-9, 9], [-9, 9]])
    times = np.arange(7)
    one, two = arrivals(course, times, [(0, "a"), (1, "b")])
    assert (one.variable, one.time, one.earliest) == ("b", 0, None)
    assert (two.variable, two.direction, two.time, two.earliest) == ("a", "below", 5, 3)
    assert arrivals(np.zeros((3, 1)), times, [(0, "a")]) == ()
    assert len(arrivals(np.full((1, 1), 5.0), times, [(0, "a")])) == 1


def test_a_story_names_the_first_to_leave_and_its_direction_then() -> None:
    judge = plain_judge(3, scale=np.array([0.2, 1.0, 1.0]))
    before, during = np.zeros((6, 3)), np.zeros((8, 3))
    before[4:, 0] = -1  # low first, far too high later
    during[:3, 0] = -1
    during[3:, 0] = 5
    during[2:, 1] = 40
    none = np.full((14, 3), np.nan)
    whole = Rows(np.arange(14), np.vstack([before, during]), none)
    story = tell(
        judge, ["level", "flow", "calm"], whole.pick(slice(6, 14)), whole.pick(slice(0, 6))
    )
    assert [(one.variable, one.direction, one.time) for one in story.spread] == [
        ("level", "below", 4),
        ("flow", "above", 8),
    ]
    level = next(one for one in story.culprits if one.variable == "level")
    assert (level.direction, level.value, level.expected) == ("above", 5.0, 0.0)
    assert "calm" not in [one.variable for one in story.culprits]


def test_sizes_beyond_the_limit_count_where_relations_are_known() -> None:
    table = related(700)
    model = ALoRa(window=8, epochs=1, threads=1, seed=0).fit(table[:500], progress=False)
    assert model.model_.judge.usual.relations
    today = table[500:].copy()
    today[100:140, 0] += 12 * table[:, 0].std()
    today[100:140, 4] += 3000 * table[:, 4].std()
    told = model.explain(today, 100, 140, progress=False)
    assert [one.variable for one in told.culprits[:2]] == ["x4", "x0"]


def test_being_first_decides_between_equals_and_only_when_alone() -> None:
    plain = plain_judge(3)
    known = dataclasses.replace(
        plain.usual, known=np.ones(1), covariance=np.eye(3, dtype=np.float32), size=np.ones(3)
    )
    judge = dataclasses.replace(plain, usual=known)
    before, during = np.zeros((4, 3)), np.zeros((6, 3))
    during[:, 1:] = [8.0, 8.2]
    names = ["calm", "early", "late"]

    def told(judge: Judge) -> tuple[str, float]:
        whole = np.vstack([before, during])
        rows = Rows(np.arange(10), whole, np.full((10, 3), np.nan))
        story = tell(judge, names, rows.pick(slice(4, 10)), rows.pick(slice(0, 4)))
        assert story.culprits[0].variable == story.origin.variable
        shares = [one.share for one in story.culprits]
        assert shares == sorted(shares, reverse=True)
        return story.origin.variable, story.origin.certainty

    name, unsure = told(judge)
    assert name == "late"
    assert unsure < 0.6
    before[2:, 1] = 8.0
    name, surer = told(judge)
    assert name == "early"
    assert surer > 0.75
    assert told(plain)[0] == "late"  # without relations only size counts


def test_where_rows_say_no_more_than_chance_all_explain() -> None:
    rng = np.random.default_rng(0)
    judge = judge_of(rng.normal(size=(600, 3)))
    rows = np.full((8, 3), 0.1)
    rows[5, 0] = 4.0
    assert judge.telling(rows, 0).tolist() == list(range(8))
    rows[5, 0] = 9.0
    assert judge.telling(rows, 0).tolist() == [5]


def test_an_old_model_has_plain_ranges() -> None:
    usual = Usual.unknown(2)
    np.testing.assert_array_equal(usual.scale, [1, 1])
    assert not usual.relations
    rows = np.ones((3, 2))
    expected, deviation = usual.implied(rows, np.zeros(2, bool), limit=10)
    np.testing.assert_array_equal(expected, 0 * rows)
    np.testing.assert_array_equal(deviation, [1, 1])


def test_faint_alarms_before_a_fault_do_not_explain_it() -> None:
    judge = plain_judge(2)
    values = np.array([[0.0, 8.0]] * 5 + [[100.0, 0.0]] * 5)
    rows = Rows(np.arange(10), values, np.full((10, 2), np.nan))
    story = tell(judge, ["pump", "noise"], rows, rows.pick(slice(0, 0)))
    assert [one.variable for one in story.culprits] == ["pump"]


def test_rows_that_are_normal_again_do_not_hide_who_deviated() -> None:
    """An alarm may last a little longer than its fault."""
    rng = np.random.default_rng(0)
    at = np.arange(1500)
    load = np.sin(at / 12) + 0.3 * np.sin(at / 40)
    table = np.column_stack([load, 2 * load + 5, 40 - 3 * load])
    table += 0.05 * rng.normal(size=table.shape)
    table[1400:1420, 1] -= 2.5  # within its usual range, and not where the others say
    model = ALoRa(window=10, epochs=1, epoch_windows=64).fit(table[:1200])
    for end in (220, 240, 250):
        told = model.explain(table[1200:], 200, end)
        assert [one.variable for one in told.culprits] == ["x1"], end
        assert told.aside == ("x1",)
        assert told.onset is not None
