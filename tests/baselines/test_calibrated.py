"""Calibration of any detector uses held-back rows only."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from alora_ts.baselines import get
from alora_ts.baselines.calibrated import Calibrated
from alora_ts.baselines.kmeans_ad import KMeansAD
from alora_ts.errors import AloraError, DataError, NotFittedError
from alora_ts.model.fit import hold_back
from alora_ts.scoring import AlarmOptions, choose_level


@pytest.mark.parametrize("name", ["norm", "knn", "pca", "isolation-forest"])
def test_scores_are_divided_by_the_level_of_held_back_rows(name: str) -> None:
    x = np.random.default_rng(0).normal(size=(800, 4))
    today = np.r_[x[:50], np.full((5, 4), 9.0)]
    alarms = AlarmOptions(false_alarms="1 per 100 rows", drift_memory=0)
    calibrated = Calibrated(get(name), held_back=0.25, alarms=alarms).fit(x)
    held = hold_back(800, 0.25, window=1)  # the blocks that ALoRa holds back
    assert held.sum() == 200
    by_hand = get(name).fit(x[~held])
    normal = by_hand.score(x[held])
    lowest = min(normal.min(), 0.0)
    blocks = np.repeat(range(5), 40)
    level = choose_level(np.maximum(normal - lowest, 1e-12), blocks, alarms=alarms, gap=10)
    expected = np.maximum(by_hand.score(today) - lowest, 1e-12) / level.value
    np.testing.assert_allclose(calibrated.score(today), expected)
    assert (calibrated.score(today)[-5:] > 1).all()


@pytest.mark.parametrize("name", ["memto", "anomaly-transformer"])
def test_weights_that_would_underflow_leave_a_level_to_measure_by(name: str) -> None:
    """The product of weight and error was 0 for most rows, and the level 1e-38."""
    rng = np.random.default_rng(0)
    x = np.sin(np.arange(400)[:, None] * [0.2, 0.3]) + 0.1 * rng.normal(size=(400, 2))
    small = {"window": 20, "width": 8, "heads": 2, "layers": 1, "stride": 20, "epochs": 1}
    # A tenth of MEMTO's temperature: the more one-hot, the more underflows.
    sharp = {"temperature": 0.001} if name == "memto" else {"temperature": 5e5}
    detector = get(name, **small, **sharp)
    calibrated = Calibrated(detector).fit(x)
    raw = detector.score(x)
    assert np.exp(raw).min() == 0  # without the logarithm
    assert len(np.unique(raw)) > 350
    scores = calibrated.score(x)
    assert calibrated.threshold_.value > 1e-3
    assert 0 < scores.max() < 1e3


def test_a_score_that_depends_on_its_whole_segment_is_calibrated_on_whole_segments() -> None:
    x = np.sin(np.arange(600)[:, None] * [0.2, 0.3])
    detector = get("daemon", window=16, base=4, latent=8, epochs=1, draws=0)
    calibrated = Calibrated(detector, held_back=0.25).fit(x)
    held = hold_back(600, 0.25, window=16)
    normal = detector.score(x)[held]
    blocks = np.cumsum(np.r_[True, np.diff(np.flatnonzero(held)) > 1])
    level = choose_level(np.maximum(normal, 1e-12), blocks, alarms=AlarmOptions(), gap=10)
    assert calibrated.threshold_.value == pytest.approx(level.value)


def test_held_back_rows_have_the_past_that_ran_into_them() -> None:
    """No cold start: the first row of a block is scored as in the middle of a series."""
    x = np.cumsum(np.random.default_rng(0).normal(size=(600, 2)), axis=0)
    shown: list[tuple[int, int]] = []

    class Watched(KMeansAD):
        def score(self, x: object, **options: Any) -> np.ndarray:
            found = super().score(x, **options)
            shown.append((len(found), len(x)))  # type: ignore[arg-type]
            return found

    Calibrated(Watched(window=8)).fit(x)
    assert [rows for rows, _ in shown] == [24 + 7] * 5


def test_frames_and_segments_pass_through() -> None:
    x = np.random.default_rng(0).normal(size=(300, 2))
    segments = np.repeat([0, 1, 2], 100)
    frame = pl.DataFrame(x, schema=["a", "b"])
    calibrated = Calibrated(get("norm")).fit(frame, segments=segments)
    assert calibrated.score(frame, segments=segments).shape == (300,)


def test_bad_use_is_refused() -> None:
    with pytest.raises(NotFittedError):
        Calibrated(get("norm")).score(np.zeros((3, 2)))
    with pytest.raises(AloraError, match="held_back"):
        Calibrated(get("norm"), held_back=1.5).fit(np.zeros((30, 2)))
    with pytest.raises(DataError, match="cannot be parted"):
        Calibrated(get("norm")).fit(np.zeros((1, 2)))
