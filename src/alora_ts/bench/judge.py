"""From the scores of a run to its measurements."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.record import Measurement
from alora_ts.datasets import Dataset
from alora_ts.diagnosis.alarms import LEVELS
from alora_ts.metrics import best_f1, localization, period_window
from alora_ts.metrics.evaluation import PERCENTS
from alora_ts.metrics.measures import measured

__all__ = ["judge_detection", "judge_localization"]

_ALARM = LEVELS.opening
"""Calibrated scores above it alarm."""


def judge_detection(
    data: Dataset, score: NDArray[np.float64], *, range_window: int | Literal["period"]
) -> dict[str, Measurement]:
    """Every detection metric, at the oracle threshold and at the one chosen without labels.

    Parameters
    ----------
    data : Dataset
        With normal and anomalous rows.
    score : ndarray of shape (M,)
        Calibrated: above 1 alarms.
    range_window : int or "period"
        Of VUS and range-AUC; "period" is TSB-AD's, of the first variable.
    """
    found = measured(
        data.label,
        score,
        best=best_f1(data.label, score).threshold,
        alarm=score > _ALARM,
        window=period_window(data.test[:, 0]) if range_window == "period" else range_window,
        seconds_per_row=None,
    )
    return {
        f"{choice} / {name}": Measurement(one.value, one.precision, one.recall)
        for (choice, name), one in found.items()
    }


def judge_localization(
    truth: NDArray[np.bool_], located: NDArray[np.floating], *, by_segment: bool
) -> dict[str, Measurement]:
    """Every localization metric, with the level of chance beside it.

    Parameters
    ----------
    truth : ndarray of bool, shape (M, d)
        With at least one affected variable.
    located : ndarray of shape (M, d)
    by_segment : bool
        Whether only whole segments can be judged.
    """
    judged = {}
    for percent in PERCENTS:
        found = localization(truth, located, None, percent)
        judged[f"IPS@{percent}"] = Measurement(found.ips, chance=found.ips_chance)
        judged[f"segment NDCG@{percent}"] = Measurement(
            found.segment_ndcg, chance=found.segment_ndcg_chance
        )
        if not by_segment:
            judged[f"HR@{percent}"] = Measurement(found.hit_rate, chance=found.hit_rate_chance)
            judged[f"NDCG@{percent}"] = Measurement(found.ndcg, chance=found.ndcg_chance)
    return judged
