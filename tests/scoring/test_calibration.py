from __future__ import annotations

import json

import numpy as np
import pytest

from alora_ts.fast.engine import Engine
from alora_ts.progress import Step
from alora_ts.scoring import (
    AlarmOptions,
    Calibration,
    CalibrationOptions,
    calibrate,
    choose_level,
)
from tests import naive
from tests.fast.networks import build


def run(values: np.ndarray, held_back_from: int, **options: object) -> Calibration:
    def quiet(_: Step) -> None:
        pass

    return calibrate(
        Engine(build(3, 20)),
        values,
        None,
        held_back=np.arange(len(values)) >= held_back_from,
        window=7,
        scoring="refined",
        options=CalibrationOptions(**options),  # type: ignore[arg-type]
        alarms=AlarmOptions(false_alarms="1 per 50 rows"),
        gap=3,
        rows_per_day=1440.0,
        report=quiet,
    )


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)


def test_every_number_equals_the_loops(values: np.ndarray) -> None:
    found = run(values, 60, rank_rule="max-4th", smoothing=1)
    network = build(3, 20)
    windows = [naive.forward(network, values[end - 6 : end + 1]) for end in range(6, 80)]
    residual = np.array([values[end] - w[0][-1] for end, w in enumerate(windows, start=6)])
    sigma = np.array([np.linalg.svd(w[1], compute_uv=False) for w in windows])
    assert found.rank_level == pytest.approx(sigma[:, 3].max(), rel=1e-3)
    np.testing.assert_allclose(found.rule.scale, (residual**2).mean(0), rtol=1e-3)
    np.testing.assert_array_equal(found.rule.weight, 1)
    error = np.minimum(residual**2 / found.rule.scale, found.rule.cap).sum(1)
    rank = (sigma > found.rank_level).sum(1)
    alarms = AlarmOptions(false_alarms="1 per 50 rows")
    # Rows 60 to 79 alone: the network did not learn from them.
    chosen = choose_level((error * rank)[60 - 6 :], alarms=alarms, gap=3)
    assert found.threshold.value == pytest.approx(chosen.value, rel=0.02)
    assert (found.rows, found.held_back_rows) == (74, 20)


def test_without_held_back_rows_all_rows_serve(values: np.ndarray) -> None:
    found = run(values, len(values))
    assert found.held_back_rows == found.rows == 74


def test_constant_rows_calibrate(values: np.ndarray) -> None:
    found = run(np.zeros_like(values), 60)
    assert np.isfinite(found.threshold.value)
    assert (found.rule.scale > 0).all()


def test_rows_after_the_border_are_averaged_with_those_before_them(values: np.ndarray) -> None:
    """Windows of held-back rows follow one another."""
    alone, together = (run(values, 60, smoothing=rows).normal for rows in (1, 3))
    assert alone[-1] >= together[-1]
    assert alone != together


@pytest.mark.parametrize(
    ("columns", "weights"),
    [
        # Measured values alone, and a few switches among them: all count alike.
        (["m", "m", "m"], [1, 1, 1]),
        (["m", "s", "c"], [1, 1 / 4, 1 / 4]),
        (["m", "m", "s"], [1, 1, 1]),
        # Nothing but switches: they are what there is.
        (["s", "c", "s"], [1, 1, 1]),
    ],
)
def test_switches_count_less_where_they_are_most(columns, weights) -> None:
    rng = np.random.default_rng(1)
    kinds = {
        "m": rng.normal(size=80),
        "s": rng.integers(0, 2, size=80) * 3.0,
        "c": np.full(80, 7.0),
    }
    table = np.column_stack([kinds[kind] for kind in columns]).astype(np.float32)
    np.testing.assert_allclose(run(table, 60).rule.weight, weights)


def test_models_from_before_the_weights_count_all_alike(values: np.ndarray) -> None:
    saved = run(values, 60).to_dict()
    del saved["rule"]["weight"]
    np.testing.assert_array_equal(Calibration.from_dict(saved).rule.weight, 1)


def test_it_survives_json(values: np.ndarray) -> None:
    found = run(values, 60)
    again = Calibration.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
