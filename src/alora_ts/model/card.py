"""The model card: what a reader must know before trusting a model."""

from __future__ import annotations

from typing import Any

from alora_ts.model.fitted import FittedModel

__all__ = ["model_card"]

LIMITS = (
    "Learns what was in the training rows: behaviour that is normal but was absent there alarms.",
    "A fault already present in training counts as normal.",
    "Shares say which variables deviate and how the network ties them together, not what broke.",
    "The first rows after a start or a gap are scored from an incomplete past (warm-up).",
)


def model_card(model: FittedModel) -> dict[str, Any]:
    """Training period, variables, window, calibration, expected alarms, limits."""
    calibration, training = model.calibration, model.training
    how = model.network.architecture
    return {
        "variables": list(model.preparation.variables),
        "training_rows": model.period.rows,
        "training_start": model.period.start,
        "training_end": model.period.end,
        "step_seconds": model.preparation.step,
        "cycle": None if model.cycle is None else model.cycle.name,
        "window": model.window,
        "incident_gap": model.options.gap(model.window),
        "layers": how.layers,
        "heads": model.network.blocks[0].heads,
        "pairs": model.network.decode.in_features,
        "parameters": sum(p.numel() for p in model.network.parameters()),
        "scoring": calibration.rule.scoring,
        "rank_level": calibration.rank_level,
        "threshold": calibration.threshold.value,
        "threshold_note": calibration.threshold.note,
        **_false_alarms(model),
        "calibration_rows": calibration.held_back_rows,
        "training_error": training.error[-1] if training.error else None,
        "best_epoch": training.best_epoch,
        "training_stopped": training.stopped,
        "limits": list(LIMITS),
    }


def _false_alarms(model: FittedModel) -> dict[str, Any]:
    """What days to come may bring, if they are like the held-back rows."""
    per_day, threshold = model.preparation.rows_per_day, model.calibration.threshold
    if threshold.each is None or threshold.tail is None:
        rows = None if per_day is None else per_day * threshold.share
        return {"expected_alarming_rows_per_day": rows}
    low, high = threshold.tail.interval(threshold.each)
    return {
        "rows_per_false_alarm": threshold.each,
        "rows_per_false_alarm_from": low,
        "rows_per_false_alarm_to": high,
        "expected_false_alarms_per_day": None if per_day is None else per_day / threshold.each,
        "promise_holds": threshold.each <= threshold.tail.rows,
        "longest_return_rows": threshold.tail.longest,
    }
