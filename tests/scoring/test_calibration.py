from __future__ import annotations

import json

import numpy as np
import pytest

from alora_ts.progress import Step
from alora_ts.scoring import Calibration, CalibrationOptions, Engine, calibrate, choose_threshold
from tests import naive
from tests.scoring.networks import build


def run(values: np.ndarray, held_back_from: int, **options: object) -> Calibration:
    def quiet(_: Step) -> None:
        pass

    return calibrate(
        Engine(build(3, 20)),
        values,
        None,
        held_back_from=held_back_from,
        window=7,
        options=CalibrationOptions(**options),  # type: ignore[arg-type]
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
    squares = (residual**2).mean(0)
    np.testing.assert_allclose(found.rule.scale, squares + 0.3 * squares.mean(), rtol=1e-3)
    error = np.minimum(residual**2 / found.rule.scale, found.rule.cap).sum(1)
    rank = (sigma > found.rank_level).sum(1)
    raw = (error * rank)[60 - 6 :]
    chosen = choose_threshold(raw, alarm_share=5e-3)
    assert found.threshold.value == pytest.approx(chosen.value, rel=0.02)
    assert (found.rows, found.held_back_rows) == (74, 20)


def test_without_held_back_rows_all_rows_serve(values: np.ndarray) -> None:
    found = run(values, len(values))
    assert found.held_back_rows == found.rows == 74


def test_constant_rows_calibrate(values: np.ndarray) -> None:
    found = run(np.zeros_like(values), 60)
    assert np.isfinite(found.threshold.value)
    assert (found.rule.scale > 0).all()


def test_it_survives_json(values: np.ndarray) -> None:
    found = run(values, 60)
    again = Calibration.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
