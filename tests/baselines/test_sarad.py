"""SARAD as a detector: its splits, its usual errors, its two ways to localize."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.sarad import SARAD
from alora_ts.baselines.windowed import plan_padded

SMALL = {
    "window": 8,
    "width": 16,
    "layers": 1,
    "heads": 2,
    "feed_forward": 16,
    "descent_width": 4,
    "learning_rate": 5e-3,
    "batch_size": 32,
}


def _waves(rows: int) -> NDArray[np.float64]:
    time = np.arange(rows)[:, None]
    waves = np.sin(time * np.array([0.3, 0.5, 0.7]))
    return np.column_stack([waves, np.full(rows, 4.0)])


@cache
def _fitted() -> SARAD:
    return SARAD(**SMALL).fit(_waves(400), progress=False)


def _errors(detector: SARAD, rows: Rows) -> torch.Tensor:
    """The errors of every row's window, one window at a time."""
    plan = plan_padded(rows, 8)
    found = []
    with detector._scoring():
        for row in range(len(rows)):
            window = torch.from_numpy(plan.gather(rows.values, np.array([row])))
            found.append(detector.network_(window).errors(window)[0].double())
    return torch.stack(found)


def test_usual_errors_are_those_of_the_last_fifth() -> None:
    detector = _fitted()
    errors = _errors(detector, detector._read(_waves(400), None))[320:]
    torch.testing.assert_close(
        detector.network_.usual.double(), errors.mean(0), rtol=1e-3, atol=1e-6
    )
    spread = errors.std(0, correction=0).clamp_min(1e-8)
    torch.testing.assert_close(detector.network_.spread.double(), spread, rtol=1e-2, atol=1e-6)


def test_scores_agree_with_the_formula_row_by_row() -> None:
    detector = _fitted()
    rows = _waves(40)
    errors = _errors(detector, detector._read(rows, None))
    usual, spread = detector.network_.usual.double(), detector.network_.spread.double()
    standard = (errors - usual) / spread
    np.testing.assert_allclose(
        detector.score(rows), standard[..., -1].sum(1).numpy(), rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(
        detector.score_variables(rows)[:, :3],
        standard[..., :3].mean(1).numpy(),
        rtol=1e-2,
        atol=1e-2,
    )


def test_error_localization_ranks_by_reconstruction_alone() -> None:
    detector = _fitted()
    rows = _waves(40)
    errors = _errors(detector, detector._read(rows, None))
    try:
        detector.set_params(localization="error")
        found = detector.score_variables(rows)
    finally:
        detector.set_params(localization="full")
    np.testing.assert_allclose(found, errors[:, 0, :-1].numpy(), rtol=1e-3, atol=1e-6)


def test_an_anomaly_scores_high_until_it_has_left_the_window() -> None:
    rows = _waves(60)
    normal = _fitted().score(rows)
    rows[30, 1] += 5
    broken = _fitted().score(rows)
    assert (broken[30:38] > normal.max()).all()
    np.testing.assert_allclose(broken[38:], normal[38:], rtol=1e-3, atol=1e-3)
    assert _fitted().score_variables(rows)[33].argmax() == 1


@pytest.mark.parametrize(
    ("validation", "share", "shown", "judged"),
    [("tail", 1.0, 80, 20), ("tail", 0.5, 40, 20), ("train", 1.0, 100, 20), ("train", 0.1, 10, 20)],
)
def test_windows_to_learn_from_and_to_judge_by(
    validation: str, share: float, shown: int, judged: int
) -> None:
    detector = SARAD(**SMALL, validation=validation, train_share=share)
    rows = _fitted()._read(_waves(100), None)
    learned, held_back = detector._split(detector._windows(rows), np.random.default_rng(0))
    assert (len(learned), len(held_back)) == (shown, judged)
    if validation == "tail":
        last = plan_padded(rows, 8).gather(rows.values, np.arange(80, 100))
        np.testing.assert_array_equal(held_back.take(slice(None)).numpy(), last)


def test_full_size_parameter_count() -> None:
    assert SARAD().parameter_count(38) == 9_568_674
