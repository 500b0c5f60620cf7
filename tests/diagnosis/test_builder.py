"""One builder: the same incidents from one block, many blocks and single rows, and by hand."""

from __future__ import annotations

import itertools
import json
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.diagnosis import flares
from alora_ts.diagnosis.alarms import Alarms, Levels
from alora_ts.diagnosis.builder import Block, Details, IncidentBuilder
from alora_ts.diagnosis.fields import describe, incidents_frame
from alora_ts.diagnosis.incident import Incident
from alora_ts.scoring import pauses
from tests.diagnosis import naive_builder as naive
from tests.diagnosis.judges import plain_details, plain_judge, random_judge

SCORES = st.sampled_from([0.0, 0.4, 0.5, 0.7, 1.0, 1.1, 2.0, 2.0, 50.0, np.inf])
ROWS = st.lists(
    st.tuples(
        SCORES,
        st.sampled_from([False] * 6 + [True]),  # warm-up
        st.sampled_from([0] * 9 + [1]),  # a new segment
    ),
    max_size=40,
)
LEVELS = st.sampled_from([Levels(), Levels(1.0, 0.5), Levels(2.0, 0.4)])


def table_of(rows: list[tuple[float, bool, int]], d: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    n = len(rows)
    return {
        # Finite, as every score is.
        "score": np.array([min(score, 1e6) for score, *_ in rows]),
        "warm_up": np.array([warm for _, warm, _ in rows], dtype=bool),
        "segments": np.cumsum([change for *_, change in rows]).astype(int),
        "values": rng.normal(size=(n, d)) * rng.choice([0.3, 1, 20], d),
        "surprise": rng.normal(size=(n, d)),
        "judge": random_judge(seed, d),
    }


def block_of(table: dict[str, Any], start: int, end: int) -> Block:
    def details(rows: np.ndarray) -> Details:
        at = rows + start

        def before(place: int) -> tuple[np.ndarray, np.ndarray, None, None]:
            earlier = slice(max(at[place] - 4, 0), at[place])
            return table["values"][earlier], table["surprise"][earlier], None, None

        return Details(table["values"][at], table["surprise"][at], table["judge"], before)

    part = slice(start, end)
    score = table["score"][part]
    return Block(
        score, 2 * score, table["warm_up"][part], details, segments=table["segments"][part]
    )


def build(
    table: dict[str, Any], cuts: list[int], builder: IncidentBuilder
) -> tuple[list[bool], list[Incident]]:
    alarm: list[bool] = []
    found: dict[int, Incident] = {}
    n = len(table["score"])
    edges = [0, *sorted(cuts), n]
    for start, end in itertools.pairwise(edges):
        pushed = builder.push(block_of(table, start, end))
        alarm += pushed.alarm.tolist()
        found |= {one.start: one for one in pushed.incidents}
    return alarm, list(found.values())


@settings(max_examples=300, deadline=None)
@given(
    rows=ROWS,
    merge=st.integers(0, 4),
    minimum=st.integers(1, 4),
    levels=LEVELS,
    d=st.integers(1, 4),
    seed=st.integers(0, 99),
    settled=st.sampled_from([1, 3, 500]),
    part=st.sampled_from([2, 5, 50]),
    data=st.data(),
)
def test_any_cutting_gives_the_incidents_of_the_obvious_loop(
    *,
    rows: list[tuple[float, bool, int]],
    merge: int,
    minimum: int,
    levels: Levels,
    d: int,
    seed: int,
    settled: int,
    part: int,
    data: st.DataObject,
) -> None:
    n = len(rows)
    table = table_of(rows, d, seed)
    names = ["a", "b", "c", "d"][:d]

    def fresh() -> IncidentBuilder:
        return IncidentBuilder(names, merge=merge, minimum=minimum, levels=levels)

    cuts = data.draw(st.lists(st.integers(0, n), max_size=5))
    with mock.patch.object(flares, "_SETTLED", settled), mock.patch.object(pauses, "_PART", part):
        alarm, whole = build(table, [], fresh())
        others = [build(table, some, fresh()) for some in (cuts, list(range(n)))]
    for again, parts in others:
        assert again == alarm
        # Equal to the last bit.
        assert list(map(repr, parts)) == list(map(repr, whole))

    lists = [table[name].tolist() for name in ("score", "warm_up", "segments")]
    assert alarm == naive.alarms(*lists, opening=levels.opening, closing=levels.closing)
    found: dict[tuple[int, int], str | None] = {}
    for start, end in naive.stretches(alarm, *lists[1:], merge=merge, part=part):
        parted = naive.parts(start, end, alarm, lists[0], merge=merge, settled=settled)
        found |= dict.fromkeys(parted, "another")
        pause = max(merge, sum(alarm[start:end]) // part)
        found[parted[-1]] = naive.ending(end - 1, *lists[1:], merge=pause)
    found = {part: how for part, how in found.items() if part[1] - part[0] >= minimum}
    assert {(one.start, one.end): one.ending for one in whole} == found
    for one in whole:
        over = one.ending is not None
        twin = naive.incident(one.start, one.end, alarm, table, names, over=over)
        assert one.peak == twin["peak"]
        assert (one.score, one.raw) == (table["score"][one.peak], 2 * table["score"][one.peak])
        _agree(one, twin)
        json.dumps(describe(one), allow_nan=False)


def _agree(found: Incident, twin: dict[str, Any]) -> None:
    by_name = dict(zip(twin["variables"], twin["share"], strict=True))
    for culprit in found.culprits:
        assert culprit.share == pytest.approx(by_name[culprit.variable], rel=1e-3, abs=1e-6)
    assert sorted(one.variable for one in found.culprits) == sorted(twin["culprits"])
    assert set(found.aside) == set(twin["aside"])
    assert found.origin is not None
    assert found.origin.variable == found.culprits[0].variable
    assert found.origin.certainty == pytest.approx(twin["certainty"], rel=1e-3)


def test_details_are_asked_of_alarming_rows_only_once_and_in_order() -> None:
    rng = np.random.default_rng(0)
    score = np.where(rng.random(20_000) < 0.5, 2.0, 0.5)
    asked: list[int] = []

    def details(rows: np.ndarray) -> Details:
        asked.extend(rows.tolist())
        return plain_details(score[:, None], rows, plain_judge(1))

    builder = IncidentBuilder(["a"], merge=0, minimum=1)
    builder.push(Block(score, score, np.zeros(len(score), dtype=bool), details))
    assert asked == np.flatnonzero(score > 1).tolist()


def test_an_incident_is_open_until_more_than_merge_rows_were_quiet() -> None:
    judge = plain_judge(1)
    builder = IncidentBuilder(["a"], merge=2, minimum=2)

    def push(score: float) -> list[tuple[int, int, bool]]:
        row = np.array([score])
        block = Block(
            row,
            row,
            np.zeros(1, dtype=bool),
            lambda rows: plain_details(row[:, None], rows, judge),
        )
        return [(s.start, s.end, s.open) for s in builder.push(block).changed]

    assert push(2.0) == []  # one row is too short
    assert push(0.0) == []
    assert push(2.0) == [(0, 3, True)]
    assert push(0.0) == push(0.0) == []
    assert push(0.0) == [(0, 3, False)]
    assert push(0.0) == []
    assert builder.open is None


@settings(deadline=None)
@given(rows=ROWS, levels=LEVELS)
def test_rows_pushed_one_by_one_alarm_like_rows_at_once(
    rows: list[tuple[float, bool, int]], levels: Levels
) -> None:
    score = np.array([one for one, *_ in rows])
    warm_up = np.array([warm for _, warm, _ in rows], dtype=bool)
    alarms = Alarms(levels)
    single = [
        alarms.push(one, warm_up=warm)
        for one, warm in zip(score.tolist(), warm_up.tolist(), strict=True)
    ]
    together = Alarms(levels)
    assert together.take(score, warm_up).tolist() == single
    assert together.active == alarms.active


def test_a_score_of_exactly_one_a_missing_score_and_warm_up_rows_do_not_alarm() -> None:
    score, warm_up = np.array([1.0, np.nan, 9.0]), np.array([False, False, True])
    assert not Alarms().take(score, warm_up).any()


def test_culprits_are_ranked_with_direction_and_values() -> None:
    score = np.array([0.1, 2.0, 5.0, 0.1])
    values = np.array([[0, 0, 0], [0, -40, 1], [0, -60, 1], [0, 0, 0]], dtype=float)
    times = np.datetime64("2026-01-01T00:00", "m") + np.arange(4)
    block = Block(
        score,
        score,
        np.zeros(4, dtype=bool),
        lambda rows: plain_details(values, rows, plain_judge(3), times=times),
        times=times,
    )
    (incident,) = IncidentBuilder(["a", "b", "c"], merge=0, minimum=1).push(block).incidents
    assert (incident.start, incident.end, incident.peak) == (1, 3, 2)
    assert incident.severity == "medium"
    assert str(incident.end_time) == "2026-01-01T00:02"
    first = incident.culprits[0]
    assert (first.variable, first.direction, first.value) == ("b", "below", -60.0)
    assert first.share > 0.9
    assert incident.onset is not None
    assert (incident.onset.variable, incident.onset.direction) == ("b", "below")
    assert str(incident.onset.time) == "2026-01-01T00:01"
    frame = incidents_frame([incident], kind="polars")
    assert frame.columns == [
        *("incident", "start", "end", "rows", "score", "severity", "returns", "witnesses"),
        *("changed", "onset", "origin", "ending", "place"),
        *("variable", "share", "direction", "value", "expected"),
    ]
    assert frame["origin"].to_list() == ["b"] * len(incident.culprits)
