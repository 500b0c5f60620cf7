"""One call, one table: every number is the metric's own, and chance stands beside it."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts import metrics
from alora_ts.errors import AloraError, DataError


@pytest.fixture(scope="module")
def case() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rng = np.random.default_rng(5)
    label = np.zeros(3000, dtype=np.int64)
    for start in (200, 900, 1500, 2950):
        label[start : start + 50] = 1
    return label, rng.normal(size=3000) + 1.5 * label


def test_numbers_are_the_metrics_own(
    case: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> None:
    label, score = case
    found = metrics.evaluate(label, score, threshold=2.0, window=20, seconds_per_row=60, repeats=3)
    assert (found.rows, found.events) == (3000, 4)
    assert found.anomalous == label.mean()
    for metric in ("affiliation", "range", "event", "point"):
        best = metrics.best_f1(label, score, metric)
        line = found["best threshold", f"{metric} F1"]
        assert (line.value, line.precision, line.recall) == (best.f1, best.precision, best.recall)
        once = metrics.at_threshold(label, score, 2.0, metric)
        line = found["given threshold", f"{metric} F1"]
        assert (line.value, line.precision, line.recall) == (once.f1, once.precision, once.recall)
        everything = metrics.at_threshold(label, np.ones(3000), 0.0, metric)
        assert line.always == pytest.approx(everything.f1)
    alarm = score > 2.0
    late = metrics.detection_delay(label, alarm, seconds_per_row=60)
    wrong = metrics.false_alarms(label, alarm, seconds_per_row=60)
    assert found["given threshold", "events caught"].value == late.caught
    assert found["given threshold", "mean delay (s)"].value == late.mean
    assert found["given threshold", "false alarms per day"].value == wrong.per_day
    assert found["given threshold", "normal rows alarmed"].always == 1.0
    assert found["all thresholds", "AUC-ROC"].value == metrics.auc_roc(label, score)
    assert found["all thresholds", "AUC-ROC"].always == 0.5
    assert found["all thresholds", "AUC-PR"].always == pytest.approx(label.mean())
    assert found["all thresholds", "VUS-PR"].value == metrics.vus(label, score, 20).pr
    json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_a_random_score_stands_at_chance_and_a_perfect_one_at_one(
    case: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> None:
    label, _ = case
    random = metrics.evaluate(label, np.random.default_rng(9).random(3000), window=20)
    perfect = metrics.evaluate(label, label + 0.0, window=20)
    for choice, name in (
        ("best threshold", "affiliation F1"),
        ("best threshold", "point F1"),
        ("all thresholds", "AUC-ROC"),
        ("all thresholds", "AUC-PR"),
    ):
        line = random[choice, name]
        assert line.value is not None
        assert line.random_std is not None
        assert abs(line.value - (line.random or 0.0)) < 4 * line.random_std
        assert perfect[choice, name].above_chance == 1.0


def test_point_adjustment_shows_how_well_chance_does(
    case: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> None:
    label, score = case
    plain = metrics.evaluate(label, score, repeats=1)
    with pytest.raises(AloraError, match="no measure 'best threshold / point-adjusted F1'; known"):
        plain["best threshold", "point-adjusted F1"]
    found = metrics.evaluate(label, score, repeats=3, i_know_it_misleads=True)
    line = found["best threshold", "point-adjusted F1"]
    assert line.random is not None
    point = found["best threshold", "point F1"].random
    assert point is not None
    assert line.random > 4 * point


def test_no_caught_event_gives_no_delay() -> None:
    found = metrics.evaluate([0, 0, 1, 0], [3.0, 1.0, 0.0, 2.0], threshold=2.5, window=2)
    line = found["given threshold", "mean delay (rows)"]
    assert line.value is None
    assert line.above_chance is None


def test_localization_joins_the_table() -> None:
    truth = np.zeros((6, 4), dtype=int)
    truth[2:4, 1] = 1
    scores = np.tile([0.1, 0.9, 0.2, 0.3], (6, 1))
    label = truth.any(axis=1)
    found = metrics.evaluate(
        label, label + 0.0, truth=truth, variable_scores=scores, window=2, repeats=2
    )
    line = found["localization", "HR@100"]
    assert (line.value, line.random, line.above_chance) == (1.0, 0.25, 1.0)
    assert found["localization", "IPS@150"].random == 0.5
    with pytest.raises(AloraError, match="both truth and variable_scores"):
        metrics.evaluate(label, label + 0.0, truth=truth)


def test_it_is_repeatable_and_says_how_far_it_is() -> None:
    label, score = [0, 0, 1, 1, 0, 0], [0.1, 0.5, 0.4, 0.9, 0.2, 0.3]
    seen: list[tuple[int, int]] = []
    first = metrics.evaluate(
        label, score, window=2, repeats=2, on_step=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert first == metrics.evaluate(label, score, window=2, repeats=2)
    assert first != metrics.evaluate(label, score, window=2, repeats=2, seed=1)


def test_bad_options() -> None:
    with pytest.raises(AloraError, match="repeats must be at least 1"):
        metrics.evaluate([0, 1], [0, 1], repeats=0)
    with pytest.raises(AloraError, match="threshold must be finite"):
        metrics.evaluate([0, 1], [0, 1], threshold=float("nan"))
    with pytest.raises(DataError, match="truth has shape"):
        metrics.evaluate([0, 1], [0, 1], truth=[[1], [0]], variable_scores=[[1, 2], [1, 2]])
    with pytest.raises(DataError, match="label has 2 rows but truth has 1"):
        metrics.evaluate([0, 1], [0, 1], truth=[[1]], variable_scores=[[1]])
