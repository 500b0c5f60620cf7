"""InterFusion as a detector: it learns waves, scores hidden rows and names variables."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from alora_ts.baselines.interfusion import InterFusion
from alora_ts.progress import Step

SMALL = {
    "window": 12,
    "convolutions": 3,
    "width": 16,
    "flows": 2,
    "flow_width": 8,
    "batch_size": 32,
    "learning_rate": 3e-3,
    "pretrain_epochs": 3,
    "epochs": 12,
    "iterations": 3,
    "chains": 2,
    "draws": 4,
    "score_stride": 3,
}


def _waves(rows: int) -> NDArray[np.float64]:
    time = np.arange(rows)[:, None]
    return np.sin(time * np.array([0.5, 0.5, 0.5]) + np.array([0.0, 1.0, 2.0]))


@cache
def _fitted() -> tuple[InterFusion, tuple[Step, ...]]:
    steps: list[Step] = []
    detector = InterFusion(**SMALL).fit(_waves(400), progress=steps.append)
    return detector, tuple(steps)


def test_the_bound_grows_in_both_phases() -> None:
    _, steps = _fitted()
    for task in ("pre-training", "fitting"):
        losses = [step.facts["loss"] for step in steps if step.task == task]
        assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 1


def test_a_broken_row_scores_high_and_names_its_variable() -> None:
    detector, _ = _fitted()
    rows = _waves(60)
    rows[40, 1] += 3
    scores = detector.score(rows)
    assert scores.argmax() == 40
    assert detector.score_variables(rows)[40].argmax() == 1


def test_scored_rows_are_hidden_from_the_encoder() -> None:
    detector, _ = _fitted()
    batch = torch.rand(1, 12, 3)
    hidden = detector._hidden_rows(batch)
    assert hidden[:, -3:].all()
    assert not hidden[:, :-3].any()


def test_rows_are_scored_at_hidden_positions() -> None:
    detector, _ = _fitted()
    rows = detector._read(_waves(40), None)

    def place(batch: torch.Tensor) -> torch.Tensor:
        return -torch.arange(12.0)[None, :, None].expand_as(batch)

    places = detector._evaluate(rows, place, lambda _: None)[:, 0]
    np.testing.assert_array_equal(places[:12], np.arange(12))
    assert (places[12:] >= 12 - 3).all()


def test_without_iterations_rows_are_scored_as_they_are() -> None:
    detector, _ = _fitted()
    plain = InterFusion(**{**SMALL, "iterations": 0})
    plain.reader_, plain.network_ = detector.reader_, detector.network_
    rows = _waves(30)
    assert np.isfinite(plain.score(rows)).all()
    assert plain.score(rows).mean() <= detector.score(rows).mean() + 1


def test_usual_likelihood_is_that_of_training_windows() -> None:
    detector, _ = _fitted()
    scaled = torch.from_numpy(detector._read(_waves(400), None).values)
    windows = scaled.unfold(0, 12, 1).transpose(1, 2)[:272]
    with detector._scoring():
        likely = detector.network_(windows).log_likelihood(windows).sum((1, 2)).mean()
    assert float(detector.network_.usual) == pytest.approx(float(likely), rel=0.1, abs=2.0)


def test_full_size_parameter_count() -> None:
    assert InterFusion().parameter_count(38) == 1_732_272
