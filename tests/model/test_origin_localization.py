"""Origins of a fitted model: batch and stream, saved and loaded, old files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts import ALoRa, Architecture, load
from alora_ts.artifact import Artifact, read_artifact, write_artifact
from alora_ts.datasets.synthetic import Disturbance, random_system, simulate
from alora_ts.errors import AloraError
from tests.diagnosis.test_origin_localization import chain


@pytest.fixture(scope="module")
def model() -> ALoRa:
    small = ALoRa(
        window=8,
        architecture=Architecture(layers=1, heads=2),
        epochs=1,
        epoch_windows=96,
        localization="origin",
        scoring="refined",
    )
    return small.fit(chain(600)[:500])


@pytest.fixture(scope="module")
def faulty() -> NDArray[np.float64]:
    rows = chain(600)[500:]
    for t in range(50, 60):
        rows[t, 1] += 6
        rows[t + 1, 2] += 0.95 * 6
        rows[t + 2, 3] += 0.95**2 * 6
    return rows


def test_stream_and_batch_name_the_same_origins(model: ALoRa, faulty: np.ndarray) -> None:
    batch = model.diagnose(faulty)
    stream = model.stream()
    rows = np.array([stream.push(row).localization for row in faulty])
    full = ~batch.warm_up
    np.testing.assert_allclose(batch.localization[full], rows[full], rtol=1e-5)
    assert batch.localization[52].argmax() == 1


def test_an_incident_has_culprits_and_an_origin(model: ALoRa, faulty: np.ndarray) -> None:
    found = model.diagnose(faulty)
    incident = max(found.incidents, key=lambda one: one.score)
    assert incident.origin is not None
    assert incident.origin.variable == "x1"
    assert 0.25 < incident.origin.share <= 1
    worst = max(found.to_dict()["incidents"], key=lambda one: one["score"])
    assert worst["origin"] == {
        "variable": "x1",
        "contribution_score": incident.origin.share,
    }


def test_a_saved_model_keeps_its_origins(model: ALoRa, faulty: np.ndarray, tmp_path: Path) -> None:
    again = load(model.save(tmp_path / "model.alora"))
    np.testing.assert_array_equal(
        again.diagnose(faulty).localization, model.diagnose(faulty).localization
    )


def test_a_model_saved_before_origins_still_loads(
    model: ALoRa, faulty: np.ndarray, tmp_path: Path
) -> None:
    now = read_artifact(model.save(tmp_path / "new.alora"))
    tensors = {name: t for name, t in now.tensors.items() if not name.startswith("mechanisms.")}
    parameters = {**now.description["parameters"], "localization": "blend"}
    before = {**now.description, "parameters": parameters}
    old = load(write_artifact(Artifact("ALoRa", before, tensors), tmp_path / "old.alora"))
    found = old.diagnose(faulty)
    assert found.incidents
    assert all(incident.origin is None for incident in found.incidents)
    assert found.to_dict()["incidents"][0]["origin"] is None
    wrong = Artifact("ALoRa", now.description, tensors)
    with pytest.raises(AloraError, match="fit it again"):
        load(write_artifact(wrong, tmp_path / "wrong.alora")).diagnose(faulty)


def test_gaps_and_short_segments_are_no_obstacle(model: ALoRa, faulty: np.ndarray) -> None:
    segments = np.repeat([0, 1, 2], [45, 4, len(faulty) - 49])
    found = model.diagnose(faulty, segments=segments)
    assert np.isfinite(found.localization).all()


def test_origins_are_named_far_more_often_than_by_error() -> None:
    """The small twin of benchmarks/origins.py."""
    named: dict[str, list[float]] = {"origin": [], "error": []}
    for seed in (1, 2):
        system = random_system(8, seed=seed)
        feeds = sorted({edge.source for edge in system.edges})
        kinds = ("level-shift", "leak", "drift", "stuck-actuator", "variance-change", "trend")
        faults = [
            Disturbance(kind, feeds[number % len(feeds)], start, start + 40)
            for number, kind in enumerate(kinds)
            for start in [150 + 190 * number]
        ]
        data = simulate(system, faults, train_rows=2500, test_rows=1300, seed=seed)
        options = {
            "epochs": 2,
            "epoch_windows": 480,
            "architecture": Architecture(heads=4, layers=2),
        }
        model = ALoRa(localization="origin", **options).fit(data.train)  # type: ignore[arg-type]
        found = model.diagnose(data.test)
        rows = np.flatnonzero(data.origin_truth().any(1))
        truth = data.origin_truth()[rows].argmax(1)
        named["origin"] += (found.localization[rows].argmax(1) == truth).tolist()
        named["error"] += (found.error[rows].argmax(1) == truth).tolist()
    assert np.mean(named["origin"]) > np.mean(named["error"]) + 0.2
