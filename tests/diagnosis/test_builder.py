"""One builder: the same incidents from one block, many blocks and single rows, and by hand."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.diagnosis.alarms import Alarms, Levels
from alora_ts.diagnosis.builder import Block, Details, IncidentBuilder
from alora_ts.diagnosis.fields import describe, incidents_frame
from alora_ts.diagnosis.incident import Incident
from tests.diagnosis import naive_builder as naive

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
    values = rng.integers(-3, 4, (n, d)).astype(float)
    values[rng.random((n, d)) < 0.2] = np.nan  # missing cells
    return {
        # Finite, as every score is.
        "score": np.array([min(score, 1e6) for score, *_ in rows]),
        "warm_up": np.array([warm for _, warm, _ in rows], dtype=bool),
        "segments": np.cumsum([change for *_, change in rows]).astype(int),
        # Ties and zeros are frequent.
        "localization": rng.integers(-1, 4, (n, d)).astype(float),
        "values": values,
        "expected": rng.integers(-1, 2, (n, d)).astype(float),
        "scale": np.array([1.0, 0.5, 2.0, 3.0])[:d],
        "origin": None if seed % 3 == 0 else rng.integers(0, 4, (n, d)).astype(float),
    }


def block_of(table: dict[str, Any], start: int, end: int) -> Block:
    def details(rows: np.ndarray) -> Details:
        at = rows + start
        origin = None if table["origin"] is None else table["origin"][at]
        parts = (table[name][at] for name in ("localization", "values", "expected"))
        return Details(*parts, table["scale"], origin)

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
    data: st.DataObject,
) -> None:
    n = len(rows)
    table = table_of(rows, d, seed)
    names = ["a", "b", "c", "d"][:d]

    def fresh() -> IncidentBuilder:
        return IncidentBuilder(names, merge=merge, minimum=minimum, levels=levels)

    cuts = data.draw(st.lists(st.integers(0, n), max_size=5))
    alarm, whole = build(table, [], fresh())
    for some in (cuts, list(range(n))):
        again, parts = build(table, some, fresh())
        assert again == alarm
        # Equal to the last bit; NaN stands for values nobody measured.
        assert list(map(repr, parts)) == list(map(repr, whole))

    lists = [table[name].tolist() for name in ("score", "warm_up", "segments")]
    assert alarm == naive.alarms(*lists, opening=levels.opening, closing=levels.closing)
    found = naive.stretches(alarm, *lists[1:], merge=merge, minimum=minimum)
    assert [(one.start, one.end) for one in whole] == found
    for one in whole:
        twin = naive.incident(one.start, one.end, alarm, table, names)
        assert one.ending == naive.ending(one.end - 1, *lists[1:], merge=merge)
        assert one.peak == twin["peak"]
        assert (one.score, one.raw) == (table["score"][one.peak], 2 * table["score"][one.peak])
        origin = None if one.origin is None else dataclasses.asdict(one.origin)
        _agree([origin] if origin else [], [twin["origin"]] if twin["origin"] else [])
        _agree([dataclasses.asdict(culprit) for culprit in one.culprits], twin["culprits"])
        json.dumps(describe(one), allow_nan=False)


def _agree(found: list[dict[str, Any]], twin: list[dict[str, Any]]) -> None:
    for one, other in zip(found, twin, strict=False):
        assert one["share"] == pytest.approx(other["share"])
    # Shares that are equal but for rounding may change places, and so may the last one listed.
    close = np.diff(sorted(other["share"] for other in twin), prepend=-1).min(initial=1) < 1e-9
    edge = abs(sum(one["share"] for one in found) - 0.9) < 1e-9
    if close or edge or abs(sum(one["share"] for one in twin) - 0.9) < 1e-9:
        return
    assert [one["variable"] for one in found] == [other["variable"] for other in twin]
    for one, other in zip(found, twin, strict=True):
        for name in one.keys() - {"share"}:
            np.testing.assert_equal(one[name], other[name])


def test_details_are_asked_of_alarming_rows_only_once_and_in_order() -> None:
    rng = np.random.default_rng(0)
    score = np.where(rng.random(20_000) < 0.5, 2.0, 0.5)
    asked: list[int] = []

    def details(rows: np.ndarray) -> Details:
        asked.extend(rows.tolist())
        one = np.ones((len(rows), 1))
        return Details(one, one, one, np.ones(1))

    builder = IncidentBuilder(["a"], merge=0, minimum=1)
    builder.push(Block(score, score, np.zeros(len(score), dtype=bool), details))
    assert asked == np.flatnonzero(score > 1).tolist()


def test_an_incident_is_open_until_more_than_merge_rows_were_quiet() -> None:
    one = np.ones((1, 1))
    builder = IncidentBuilder(["a"], merge=2, minimum=2)

    def push(score: float) -> list[tuple[int, int, bool]]:
        row = np.array([score])
        block = Block(row, row, np.zeros(1, dtype=bool), lambda _: Details(one, one, one, one[0]))
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
    localization = np.array([[1, 1, 1], [0, 9, 1], [0, 9, 1], [1, 1, 1]], dtype=float)
    values = np.array([[0, 0, 0], [0, -4, 1], [0, -6, 1], [0, 0, 0]], dtype=float)
    zero, one = np.zeros_like(values), np.ones(3)
    times = np.datetime64("2026-01-01T00:00", "m") + np.arange(4)
    block = Block(
        score,
        score,
        np.zeros(4, dtype=bool),
        lambda rows: Details(localization[rows], values[rows], zero[rows], one),
        times=times,
    )
    (incident,) = IncidentBuilder(["a", "b", "c"], merge=0, minimum=1).push(block).incidents
    assert (incident.start, incident.end, incident.peak) == (1, 3, 2)
    assert incident.severity == "medium"
    assert str(incident.end_time) == "2026-01-01T00:02"
    first = incident.culprits[0]
    assert (first.variable, first.direction, first.value) == ("b", "below", -6.0)
    assert abs(first.share - 0.9) < 1e-9
    frame = incidents_frame([incident], kind="polars")
    assert frame.columns == [
        *("incident", "start", "end", "rows", "score", "severity", "returns", "changed"),
        *("origin", "ending", "place"),
        *("variable", "share", "direction", "value", "expected"),
    ]
    assert frame["origin"].to_list() == [""] * len(incident.culprits)
