"""ALoRa in scikit-learn's and PyOD's tools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from alora_ts import ALoRa, Training
from alora_ts.pyod import ALoRaOD
from alora_ts.sklearn import EXPECTED_FAILED_CHECKS, ALoRaDetector


def quick(**parameters: Any) -> ALoRa:
    return ALoRa(**{"window": 6, "epochs": 1, "epoch_windows": 128, **parameters})


def plant(rows: int = 400, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    load = np.sin(np.arange(rows) / 9)
    return np.column_stack([load, 2 * load, -load]) + 0.05 * rng.normal(size=(rows, 3))


@pytest.fixture(scope="module")
def broken() -> tuple[Any, Any]:
    """Rows with a fault, and which rows it is in."""
    x, truth = plant(200, seed=1), np.zeros(200, int)
    x[120:140, 1] += 8
    truth[120:140] = 1
    return x, truth


def lenient() -> ALoRaDetector:
    """With a level that a few hundred rows reach: the checks ask for outliers among them."""
    model = ALoRa(
        window=3,
        epochs=1,
        epoch_windows=64,
        false_alarms="1 per 50 rows",
        training=Training(validation_share=0.5),
    )
    return ALoRaDetector(model)


@parametrize_with_checks(
    [lenient()],
    expected_failed_checks=lambda _: EXPECTED_FAILED_CHECKS,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_expected_failures_do_fail() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(lenient(), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == set(EXPECTED_FAILED_CHECKS)
    assert sum(result["status"] == "passed" for result in results) >= 45


def test_a_detector_finds_what_alora_finds(broken: tuple[Any, Any]) -> None:
    x, truth = broken
    detector = ALoRaDetector(quick()).fit(plant())
    direct = quick().fit(plant()).score(x)
    judged = np.arange(len(x)) >= 5
    np.testing.assert_allclose(-detector.score_samples(x)[judged], direct[judged], rtol=1e-6)
    predicted = detector.predict(x)
    assert set(predicted) == {-1, 1}
    assert (predicted[truth == 1] == -1).mean() > 0.8
    np.testing.assert_array_equal(predicted == -1, detector.decision_function(x) < 0)
    assert (detector.predict(x[:5]) == 1).all()  # warm-up rows never alarm
    assert detector.fit_predict(plant()).shape == (400,)
    blamed = detector.set_output(transform="pandas").transform(x)
    assert list(blamed.columns) == ["x0", "x1", "x2"]
    assert blamed.iloc[125:135].mean().idxmax() == "x1"


def test_names_and_times_of_a_frame() -> None:
    times = pd.date_range("2026-01-01", periods=400, freq="min")
    frame = pd.DataFrame(plant(), columns=["load", "flow", "heat"], index=times)
    detector = ALoRaDetector(quick()).fit(frame)
    assert detector.feature_names_in_.tolist() == ["load", "flow", "heat"]
    assert detector.n_features_in_ == 3
    assert detector.estimator_.model_.preparation.step == 60
    with pytest.raises(ValueError, match="feature names should match"):
        detector.predict(frame.rename(columns={"flow": "flux"}))


def test_pipelines_searches_and_scores(broken: tuple[Any, Any]) -> None:
    x, truth = broken
    pipe = make_pipeline(StandardScaler(), ALoRaDetector(quick()))
    assert isinstance(clone(pipe), Pipeline)
    splits = TimeSeriesSplit(2)
    alone = cross_val_score(pipe, plant(), cv=splits)
    assert alone.shape == (2,)
    assert (alone < 0).all()
    search = GridSearchCV(
        pipe, {"aloradetector__estimator__window": [4, 8]}, cv=splits, error_score="raise"
    )
    search.fit(plant())
    assert search.best_params_["aloradetector__estimator__window"] in (4, 8)
    best = search.best_estimator_
    assert best.score(x, truth) > 0.8
    assert best.score(x, np.where(truth == 1, -1, 1)) == best.score(x, truth)


def test_pyod(broken: tuple[Any, Any]) -> None:
    x, truth = broken
    detector = ALoRaOD(quick(), contamination=0.02).fit(plant())
    assert detector.decision_scores_.shape == detector.labels_.shape == (400,)
    assert detector.labels_.mean() == pytest.approx(0.02, abs=0.005)
    assert detector.predict(x)[truth == 1].mean() > 0.8
    assert detector.predict_proba(x).shape == (200, 2)
    assert clone(detector).get_params()["contamination"] == 0.02
