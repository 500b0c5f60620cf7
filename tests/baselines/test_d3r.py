"""D3R as a detector."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.baselines.d3r import D3R

SMALL = {
    "window": 12,
    "period": 40,
    "width": 16,
    "heads": 2,
    "feed_forward": 32,
    "reach": 4,
    "learning_rate": 3e-3,
    "dropout": 0.0,
    "epochs": 12,
    "batch_size": 32,
    "stride": 3,
}


def _waves(rows: int) -> NDArray[np.float64]:
    time = np.arange(rows)[:, None]
    return np.sin(time * 0.4 + np.array([0.0, 1.5]))


@cache
def _fitted() -> D3R:
    return D3R(**SMALL).fit(_waves(400), progress=False)


def test_a_broken_row_scores_high() -> None:
    rows = _waves(80)
    before = _fitted().score(rows)
    rows[50, 0] += 4
    after = _fitted().score(rows)
    np.testing.assert_allclose(after[:50], before[:50], rtol=1e-5, atol=1e-7)
    assert after[50] > 5 * before.mean()


def test_a_constant_shift_moves_trend_and_reconstruction_along() -> None:
    detector = _fitted()
    rows = torch.from_numpy(detector._read(_waves(24), None).values)
    windows = torch.stack([rows[:12], rows[12:]])
    time = torch.zeros(2, 12, 5)
    with detector._scoring():
        torch.manual_seed(0)
        plain = detector.network_(windows, time)
        torch.manual_seed(0)
        moved = detector.network_(windows + 5, time)
    assert (moved.trend - plain.trend - 5).abs().mean() < 1
    assert (moved.reconstruction - plain.reconstruction - 5).abs().mean() < 1


def test_averaging_draws_steadies_the_score() -> None:
    detector = _fitted()
    rows = _waves(60)

    def spread(draws: int) -> float:
        scores = []
        for seed in range(4):
            other = D3R(**SMALL, draws=draws, seed=seed)
            other.reader_, other.network_ = detector.reader_, detector.network_
            scores.append(other.score(rows))
        return float(np.std(scores, axis=0).mean())

    assert spread(8) < 0.7 * spread(1)


def test_gaps_that_leave_one_window_still_fit() -> None:
    rows = _waves(99)
    segments = np.repeat(np.arange(12), [33] + [6] * 11)
    detector = D3R(**{**SMALL, "window": 30, "epochs": 1}).fit(rows, segments=segments)
    assert np.isfinite(detector.score(rows)).all()


def test_full_size_parameter_count() -> None:
    assert D3R().parameter_count(38) == 52_241_266
