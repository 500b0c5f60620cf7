"""Bad input is named, and the documented values of one-sided input hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from alora_ts import metrics
from alora_ts.errors import AloraError, DataError

WITH_SCORE: dict[str, Callable[..., Any]] = {
    "best_f1": metrics.best_f1,
    "curve": metrics.curve,
    "auc_roc": metrics.auc_roc,
    "auc_pr": metrics.auc_pr,
    "vus": metrics.vus,
    "range_auc": metrics.range_auc,
    "evaluate": metrics.evaluate,
}
WITH_ALARM: dict[str, Callable[..., Any]] = {
    "affiliation": metrics.affiliation,
    "range_based": metrics.range_based,
    "tsb_range_f1": metrics.tsb_range_f1,
    "point": metrics.point,
    "point_adjusted": lambda a, b: metrics.point_adjusted(a, b, i_know_it_misleads=True),
    "event_based": metrics.event_based,
    "detection_delay": metrics.detection_delay,
}
BAD = [
    ([0, 1], [0, 1, 1], "label has 2 rows but (score|alarm) has 3"),
    ([0, 2], [0, 1], "label must hold only 0 and 1, but row 1 holds 2"),
    ([0.0, np.nan], [0, 1], "row 1 holds nan"),
    ([], [], "label is empty"),
    ([[0, 1]], [0, 1], r"one-dimensional, but its shape is \(1, 2\)"),
    (["a", "b"], [0, 1], "label must be numbers"),
    ([0, 0], [0, 1], "marks no event"),
]


@pytest.mark.parametrize(("label", "other", "message"), BAD)
@pytest.mark.parametrize("name", [*WITH_SCORE, *WITH_ALARM])
def test_bad_labels(name: str, label: object, other: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        (WITH_SCORE | WITH_ALARM)[name](label, other)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", list(WITH_SCORE))
def test_scores_that_are_not_finite(name: str, value: float) -> None:
    with pytest.raises(DataError, match="score must be finite, but row 2 holds"):
        WITH_SCORE[name]([0, 1, 0], [0.0, 1.0, value])


@pytest.mark.parametrize("name", list(WITH_ALARM))
def test_alarms_other_than_0_and_1(name: str) -> None:
    with pytest.raises(DataError, match=r"alarm must hold only 0 and 1, but row 0 holds 0\.5"):
        WITH_ALARM[name]([0, 1], [0.5, 1.0])


@pytest.mark.parametrize("name", ["auc_roc", "auc_pr", "vus", "range_auc", "evaluate"])
def test_areas_need_both_classes(name: str) -> None:
    with pytest.raises(DataError, match="no normal row"):
        WITH_SCORE[name]([1, 1], [0.0, 1.0])


def test_no_alarm_is_worth_nothing() -> None:
    label, none = [0, 1, 0, 1], [0, 0, 0, 0]
    for name in ("affiliation", "range_based", "point", "point_adjusted", "event_based"):
        found = WITH_ALARM[name](label, none)
        assert (found.precision, found.recall, found.f1) == (0.0, 0.0, 0.0)
    assert np.isnan(metrics.affiliation(label, none).event_precision).all()
    late = metrics.detection_delay(label, none)
    assert (late.caught, late.mean, late.median) == (0.0, None, None)


def test_everything_anomalous_and_alarmed_is_perfect() -> None:
    for name in ("affiliation", "range_based", "point", "point_adjusted", "event_based"):
        assert WITH_ALARM[name]([1, 1, 1], [1, 1, 1]).f1 == 1.0


def test_point_adjustment_must_be_asked_for_in_so_many_words() -> None:
    with pytest.raises(AloraError, match="i_know_it_misleads=True"):
        metrics.point_adjusted([0, 1], [0, 1])
    with pytest.raises(AloraError, match="i_know_it_misleads=True"):
        metrics.best_f1([0, 1], [0, 1], "point-adjusted")


def test_spelling_is_suggested() -> None:
    with pytest.raises(AloraError, match="did you mean 'affiliation'"):
        metrics.best_f1([0, 1], [0, 1], "afiliation")
    with pytest.raises(AloraError, match="did you mean 'front'"):
        metrics.range_based([0, 1], [0, 1], bias="frnt")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.range_based([0, 1], [0, 1], alpha=2), "alpha must lie between"),
        (lambda: metrics.vus([0, 1], [0, 1], -1), "window must not be negative"),
        (lambda: metrics.vus([0, 1], [0, 1], 2, thresholds=1), "thresholds must be at least 2"),
        (
            lambda: metrics.detection_delay([0, 1], [0, 1], seconds_per_row=0),
            "seconds_per_row must be positive",
        ),
        (lambda: metrics.false_alarms([1, 1], [0, 1]), "no normal row"),
    ],
)
def test_options_out_of_range(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(AloraError, match=message):
        call()


def test_the_lowest_threshold_alarms_every_row_and_is_finite() -> None:
    found = metrics.curve([0, 1, 0], [0.0, 0.0, 5.0], "point")
    assert np.isfinite(found.threshold).all()
    assert (np.array([0.0, 0.0, 5.0]) > found.threshold[-1]).all()
