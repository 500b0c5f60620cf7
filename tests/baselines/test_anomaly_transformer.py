from __future__ import annotations

import numpy as np
import pytest
import torch

from alora_ts.baselines.anomaly_transformer import AnomalyTransformer
from alora_ts.baselines.anomaly_transformer_network import (
    AnomalyTransformerNetwork,
    gaussian_prior,
)
from alora_ts.baselines.parts.divergence import row_kl, symmetric_kl
from alora_ts.errors import AloraError
from tests.baselines import naive_attention as naive
from tests.baselines.check_detector import waves


@pytest.fixture
def network() -> AnomalyTransformerNetwork:
    torch.manual_seed(0)
    return AnomalyTransformerNetwork(3, window=12, width=16, heads=4, layers=2)


def test_counts_the_published_parameters() -> None:
    detector = AnomalyTransformer()
    assert detector.published_parameter_count(38) == 4_828_222
    # The published code registers a normalisation in each of the three attentions and skips it.
    assert detector.parameter_count(38) == 4_828_222 - 3 * 2 * 512


@pytest.mark.parametrize("raw", [-30.0, -1.0, 0.0, 0.4, 30.0])
def test_prior_agrees_with_the_density(raw: float) -> None:
    fast = gaussian_prior(torch.full((1, 1, 7), raw, dtype=torch.float64))[0, 0]
    slow = [naive.prior_row(raw, at, 7) for at in range(7)]
    np.testing.assert_allclose(fast, slow, atol=1e-12)
    np.testing.assert_allclose(fast.sum(-1), 1.0)


def test_divergence_agrees_with_loops() -> None:
    generator = torch.Generator().manual_seed(1)
    p, q = torch.rand(2, 1, 3, 5, 5, generator=generator, dtype=torch.float64).softmax(-1)
    p[0, 0, 0] = torch.tensor([1.0, 0, 0, 0, 0])
    np.testing.assert_allclose(row_kl(p, q)[0], naive.row_kl(p[0].numpy(), q[0].numpy()))
    both = naive.row_kl(p[0].numpy(), q[0].numpy()) + naive.row_kl(q[0].numpy(), p[0].numpy())
    np.testing.assert_allclose(symmetric_kl(p, q)[0], both)


def test_losses_have_one_value_and_two_gradients(network: AnomalyTransformerNetwork) -> None:
    window = torch.randn(2, 12, 3)
    series, prior = network(window).losses()
    assert abs(series.item() - prior.item()) < 1e-6
    series.backward()
    assert all(layer.weight.grad is None for layer in network.sigmas)
    _, prior = network(window).losses()
    prior.backward()
    assert all(layer.weight.grad.abs().sum() > 0 for layer in network.sigmas)


def test_weights_of_a_window_sum_to_one(network: AnomalyTransformerNetwork) -> None:
    passed = network(torch.randn(2, 12, 3))
    for series, prior in zip(passed.series, passed.prior, strict=True):
        np.testing.assert_allclose(series.detach().sum(-1), 1.0, rtol=1e-5)
        np.testing.assert_allclose(prior.detach().sum(-1), 1.0, rtol=1e-5)
    gaps = passed.discrepancy()
    assert gaps.shape == (2, 12)
    np.testing.assert_allclose((-50 * gaps).softmax(-1).sum(-1).detach(), 1.0, rtol=1e-5)


def test_score_is_the_logarithm_of_weight_times_error() -> None:
    x = waves(47)
    detector = AnomalyTransformer(
        window=20, stride=5, width=8, heads=2, layers=2, epochs=2, batch_size=8
    ).fit(waves(200))
    values = torch.from_numpy(detector.reader_.read(x).values)
    scores = detector.score(x)
    with torch.no_grad():
        for start, shown in ((0, 0), (20, 0), (27, 13)):  # the last window ends at the last row
            window = values[None, start : start + 20]
            passed = detector.network_(window)
            gap = sum(
                naive.row_kl(s[0].numpy(), p[0].numpy()) + naive.row_kl(p[0].numpy(), s[0].numpy())
                for s, p in zip(passed.series, passed.prior, strict=True)
            )
            weight = np.exp(-50 * (gap - gap.min()).astype(np.float64))
            error = (passed.reconstruction - window).square().mean(-1)[0].numpy()
            expected = np.log(weight / weight.sum() * error)
            np.testing.assert_allclose(
                scores[start + shown : start + 20], expected[shown:], rtol=1e-2, atol=1e-2
            )


def test_width_must_fit_the_heads() -> None:
    with pytest.raises(AloraError, match="width=10 must be a multiple of heads=4"):
        AnomalyTransformer(width=10, heads=4, window=20).fit(waves(100))
