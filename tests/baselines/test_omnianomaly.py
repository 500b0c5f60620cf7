"""OmniAnomaly as a detector: its two variants, what it scores and where."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from alora_ts.baselines.omnianomaly import OmniAnomaly
from alora_ts.baselines.omnianomaly_network import OmniAnomalyNetwork

SMALL = {"window": 8, "width": 8, "flows": 2, "epochs": 4, "batch_size": 16}


def _waves(rows: int) -> NDArray[np.float64]:
    time = np.arange(rows)[:, None]
    return np.sin(time * np.array([0.3, 0.5, 0.7])) + 0.05 * np.cos(37.0 * time)


@cache
def _fitted() -> OmniAnomaly:
    return OmniAnomaly(**{**SMALL, "epochs": 20}).fit(_waves(300), progress=False)


def _fresh(detector: OmniAnomaly) -> OmniAnomalyNetwork:
    torch.manual_seed(detector.seed)
    return detector._build(3)


@pytest.mark.parametrize("variant", ["elbo", "official"])
def test_the_official_encoder_never_learns(variant: str) -> None:
    detector = OmniAnomaly(**SMALL, variant=variant).fit(_waves(120), progress=False)
    before, after = _fresh(detector).state_dict(), detector.network_.state_dict()
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert any(name.startswith("decoder") for name in moved)
    assert any(name.startswith("flows") for name in moved)
    assert any(name.startswith("encoder") for name in moved) == (variant == "elbo")


def test_official_noise_is_shared_and_truncated() -> None:
    detector = OmniAnomaly(**SMALL, variant="official")
    network = _fresh(detector)
    row = torch.randn(1, 8, 3)
    out = detector._pass(network, row.expand(5, -1, -1))
    torch.testing.assert_close(out.z, out.z[:1].expand(5, -1, -1))
    independent = OmniAnomaly(**SMALL)._pass(network, row.expand(5, -1, -1))
    assert not torch.allclose(independent.z[0], independent.z[1])


def test_the_prior_is_in_the_paper_bound_only() -> None:
    torch.manual_seed(0)
    paper, official = OmniAnomaly(**SMALL), OmniAnomaly(**SMALL, variant="official")
    batch = torch.rand(4, 8, 3)
    out = paper._pass(_fresh(paper), batch)
    bound = out.log_likelihood(batch).sum(-1) - out.log_posterior
    torch.testing.assert_close(official._loss(out, batch), -bound.mean())
    assert paper._loss(out, batch) > official._loss(out, batch)


def test_the_score_rises_with_the_last_row_and_names_the_variable() -> None:
    detector = _fitted()
    rows = _waves(60)
    broken = rows.copy()
    broken[40, 1] += 4
    before, after = detector.score(rows), detector.score(broken)
    np.testing.assert_allclose(after[:40], before[:40], rtol=1e-5)
    assert after[40] > before[40] + 10
    assert detector.score_variables(broken)[40].argmax() == 1


def test_the_score_is_the_sum_over_variables() -> None:
    rows = _waves(30)
    np.testing.assert_allclose(_fitted().score(rows), _fitted().score_variables(rows).sum(1))


def test_the_last_position_of_each_window_is_scored() -> None:
    detector = _fitted()
    rows = _waves(20)
    scaled = detector._read(rows, None).values
    scores = detector.score_variables(rows)
    windows = torch.stack([torch.from_numpy(scaled[t - 7 : t + 1]) for t in range(7, 20)])
    with detector._scoring():
        likely = detector._pass(detector.network_, windows).log_likelihood(windows)
    np.testing.assert_allclose(scores[7:], -likely[:, -1].double().numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(scores[:8], -likely[0].double().numpy(), rtol=1e-4, atol=1e-4)


def test_full_size_parameter_count() -> None:
    assert OmniAnomaly().parameter_count(38) == 2_610_740
