"""Origins of a fitted model: batch and stream, saved and loaded, old files."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts import ALoRa, Architecture, load
from alora_ts.artifact import Artifact, read_artifact, write_artifact
from alora_ts.data import as_table
from alora_ts.datasets.synthetic import Disturbance, random_system, simulate
from alora_ts.errors import AloraError
from alora_ts.model.diagnose import diagnose_part
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
    assert 0.25 < incident.origin.certainty <= 1
    worst = max(found.to_dict()["incidents"], key=lambda one: one["score"])
    assert worst["origin"] == {
        "variable": "x1",
        "certainty": incident.origin.certainty,
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
    later = ("mechanisms.", "usual.")
    tensors = {name: t for name, t in now.tensors.items() if not name.startswith(later)}
    parameters = {**now.description["parameters"], "localization": "blend"}
    before = {**now.description, "parameters": parameters}
    old = load(write_artifact(Artifact("ALoRa", before, tensors), tmp_path / "old.alora"))
    found = old.diagnose(faulty)
    assert found.incidents
    # It knows nothing about relations, and still names who deviates by its own scale.
    worst = max(found.incidents, key=lambda one: one.score)
    assert worst.culprits[0].variable in {"x1", "x2", "x3"}
    np.testing.assert_array_equal(found.score, model.diagnose(faulty).score)
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


def test_rows_that_somebody_else_found_are_explained(model: ALoRa, faulty: np.ndarray) -> None:
    incident = model.explain(faulty, 50, 60)
    assert (incident.start, incident.end) == (50, 60)
    assert incident.origin is not None
    assert incident.origin.variable == "x1"
    assert incident.onset is not None
    assert incident.onset.variable == "x1"
    assert model.explain(faulty, 0, 1).culprits  # one row, and in the warm-up
    with pytest.raises(AloraError, match="not a stretch"):
        model.explain(faulty, 90, 200)


def test_one_by_one_explains_like_all_at_once(model: ALoRa, faulty: np.ndarray) -> None:
    """The service's way: blocks of rows with their own past."""
    fitted = model.model_
    found, block = diagnose_part(fitted, as_table(faulty), segments=None, report=lambda _: None)
    whole = fitted.incident_builder().push(block).incidents
    builder = fitted.incident_builder()
    parts = {}
    for row in range(len(found)):
        part = block.onward(row)
        one = dataclasses.replace(
            part,
            score=part.score[:1],
            raw=part.raw[:1],
            warm_up=part.warm_up[:1],
            segments=None if part.segments is None else part.segments[:1],
        )
        parts |= {incident.start: incident for incident in builder.push(one).incidents}
    assert list(map(repr, parts.values())) == list(map(repr, whole))
