from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts import ALoRa, Architecture
from alora_ts.bench.speed import wavy_rows
from alora_ts.scoring.drift import Level, summarise
from tests import naive

NORMAL = summarise(np.random.default_rng(0).gamma(2.0, size=500))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 30),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e6]) | st.floats(0, 1e9), max_size=60),
    st.integers(0, 9),
)
def test_factors_equal_the_twin(memory: int, scores: list[float], early: int) -> None:
    raw, warm_up = np.array(scores), np.arange(len(scores)) < early
    found = Level(NORMAL, memory=memory).follow(raw, warm_up)
    twin = naive.drift_factors(raw, warm_up, np.array(NORMAL), memory)
    np.testing.assert_allclose(found, twin)


def test_drift_lifts_the_threshold_and_an_incident_does_not() -> None:
    rng = np.random.default_rng(1)
    normal = rng.gamma(2.0, size=4000)
    quiet = np.zeros(2000, dtype=bool)
    level = Level(summarise(normal), memory=500)
    assert level.follow(rng.gamma(2.0, size=2000), quiet).max() < 1.3
    incident = rng.gamma(2.0, size=2000)
    incident[1000:1100] *= 100
    level.restart()
    assert level.follow(incident, quiet).max() < 2
    level.restart()
    assert level.follow(3 * rng.gamma(2.0, size=2000), quiet)[-1] == pytest.approx(3, rel=0.2)
    level.restart()
    assert level.follow(99 * rng.gamma(2.0, size=2000), quiet)[-1] == 10


@pytest.mark.parametrize("normal", [(0.0,), (0.0, 0.0), (5.0,)])
def test_odd_normal_scores(normal: tuple[float, ...]) -> None:
    level = Level(normal, memory=5)
    factors = level.follow(np.array([0.0, 5.0, 5.0]), np.zeros(3, dtype=bool))
    assert np.isfinite(factors).all()
    assert (factors >= 1).all()


def test_batch_stream_and_a_rebuilt_stream_agree_under_drift() -> None:
    rows = wavy_rows(400, 4)
    quick = ALoRa(
        window=8,
        pairs=40,
        architecture=Architecture(heads=4),
        epochs=1,
        epoch_windows=64,
        drift_memory=50,
    )
    model = quick.fit(rows[:300], progress=False)
    drifting = rows[300:] * np.linspace(1, 4, 100)[:, None]
    batch = model.score(drifting)
    stream = model.stream()
    readings = [stream.push(row) for row in drifting]
    assert max(reading.drift for reading in readings) > 1.2
    np.testing.assert_allclose([r.score for r in readings[7:]], batch[7:], rtol=1e-3)
    said = [(one.raw, one.novelty, one.spread) for one in readings[:70] if not one.warm_up]
    again = model.stream()
    for row in drifting[30:70]:
        again.push(row)
    again.follow_from(said)  # fewer than the memory of storms reaches back
    for row, reading in zip(drifting[70:], readings[70:], strict=True):
        assert again.push(row).score == pytest.approx(reading.score, rel=1e-3)


def test_a_fixed_threshold_can_be_asked_for() -> None:
    rows = wavy_rows(300, 4)
    quick = ALoRa(
        window=8,
        pairs=40,
        architecture=Architecture(heads=4),
        epochs=1,
        epoch_windows=64,
        drift_memory=0,
        scoring="refined",
    )
    model = quick.fit(rows, progress=False)
    diagnosis = model.diagnose(3 * rows[:200])  # too few incidents for a storm
    threshold = model.model_.calibration.threshold.value
    np.testing.assert_allclose(diagnosis.score, diagnosis.raw / threshold)
