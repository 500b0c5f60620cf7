"""Who is affected now, by row: the default localization."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts import ALoRa, Architecture, load
from alora_ts.artifact import Artifact, read_artifact, write_artifact
from alora_ts.data import as_table
from alora_ts.model.examine import examine
from tests import naive

MEMORY = 3


def rows(count: int, seed: int) -> NDArray[np.float64]:
    """Three signals that share a wave, one that nothing is related to, one that never moves."""
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(count) / 7)[:, None] * [1.0, -2.0, 0.5]
    alone, still = rng.normal(size=(count, 1)), np.full((count, 1), 4.0)
    return np.concatenate([wave + 0.1 * rng.normal(size=(count, 3)), alone, still], axis=1)


@pytest.fixture(scope="module")
def model() -> ALoRa:
    small = ALoRa(
        window=8,
        pairs=2,
        architecture=Architecture(layers=1, heads=2),
        epochs=1,
        epoch_windows=96,
        localization_memory=MEMORY,
    )
    return small.fit(rows(600, seed=0))


@pytest.fixture(scope="module")
def faulty() -> NDArray[np.float64]:
    x = rows(120, seed=1)
    x[60:100, 3] += 8.0
    return x


def test_each_row_is_the_mean_of_three_squared_deviations(model: ALoRa, faulty: np.ndarray) -> None:
    fitted = model.model_
    rule, mechanisms, usual = fitted.calibration.rule, fitted.mechanisms, fitted.judge.usual
    assert mechanisms is not None
    prepared, values, borders = fitted.prepare(as_table(faulty), None)
    seen = examine(fitted, prepared, values, borders, report=lambda _: None)
    expected = naive.affected(
        values.astype(float),
        seen.evidence.expected.astype(float),
        warm_up=int(seen.evidence.warm_up.sum()),
        weights=mechanisms.weights.astype(float),
        offset=mechanisms.offset,
        centre=usual.centre,
        normal=(rule.scale, np.square(mechanisms.size), np.square(usual.scale)),
        cap=rule.cap,
        memory=MEMORY,
    )
    found = model.diagnose(faulty).localization
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_a_signal_that_is_in_no_pair_is_found_as_long_as_it_deviates(
    model: ALoRa, faulty: np.ndarray
) -> None:
    found = model.diagnose(faulty).localization
    assert (found[60:100].argmax(1) == 3).all()
    assert not np.abs(model.model_.contributions[3]).any()


def test_other_forms_go_by_the_errors_alone(model: ALoRa, faulty: np.ndarray) -> None:
    other = ALoRa(**{**model.get_params(deep=False), "localization": "error"})
    other.model_ = replace(
        model.model_, options=replace(model.model_.options, localization="error")
    )
    found, less = (one.diagnose(faulty).localization for one in (model, other))
    assert (found >= less).all()
    assert (found > less).any()


def test_a_model_without_rules_goes_by_the_other_two(
    model: ALoRa, faulty: np.ndarray, tmp_path: Path
) -> None:
    refined = ALoRa(**{**model.get_params(deep=False), "scoring": "refined"})
    refined.fit(rows(600, seed=0))
    now = read_artifact(refined.save(tmp_path / "new.alora"))
    later = ("mechanisms.", "usual.")
    tensors = {name: t for name, t in now.tensors.items() if not name.startswith(later)}
    before = Artifact("ALoRa", now.description, tensors)
    old = load(write_artifact(before, tmp_path / "old.alora"))
    found = old.diagnose(faulty)
    assert (found.localization[62:100].argmax(1) == 3).all()
    stream = old.stream()
    pushed = np.array([stream.push(row).localization for row in faulty])
    full = ~found.warm_up
    np.testing.assert_allclose(found.localization[full], pushed[full], rtol=1e-4)
