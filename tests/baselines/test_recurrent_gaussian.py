"""The recurrent Gaussian against one step at a time with torch.distributions."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Normal

from alora_ts.baselines.parts.recurrent_gaussian import (
    GaussianHead,
    RecurrentGaussian,
    Scale,
    gaussian_log_prob,
)


@pytest.mark.parametrize("scale", ["softplus", "exp"])
@pytest.mark.parametrize(("batch", "steps"), [(1, 1), (4, 6)])
def test_sampling_agrees_with_single_steps(scale: Scale, batch: int, steps: int) -> None:
    torch.manual_seed(0)
    latent = RecurrentGaussian(5, 3, scale=scale).double()
    features = torch.randn(batch, steps, 5, dtype=torch.float64)
    noise = torch.randn(batch, steps, 3, dtype=torch.float64)
    z, log_prob = latent.sample(features, noise)
    last = torch.zeros(batch, 3, dtype=torch.float64)
    for t in range(steps):
        mean, std = latent.head(torch.cat([features[:, t], last], dim=-1))
        last = mean + std * noise[:, t]
        torch.testing.assert_close(z[:, t], last)
        torch.testing.assert_close(log_prob[:, t], Normal(mean, std).log_prob(last).sum(-1))
    torch.testing.assert_close(latent.log_prob(features, z), log_prob)


def test_sampling_sends_gradients_to_all_weights() -> None:
    latent = RecurrentGaussian(5, 3, scale="softplus")
    z, log_prob = latent.sample(torch.randn(2, 4, 5), torch.randn(2, 4, 3))
    (z.sum() + log_prob.sum()).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in latent.parameters())


@pytest.mark.parametrize(("scale", "low", "high"), [("softplus", 1e-4, None), ("exp", -5, 2)])
def test_standard_deviations_are_bounded(scale: Scale, low: float, high: float | None) -> None:
    head = GaussianHead(1, 1, scale=scale)
    with torch.no_grad():
        head.spread.weight.fill_(1)
        head.spread.bias.zero_()
    with torch.no_grad():
        _, std = head(torch.tensor([[-1e4], [1e4]]))
    if high is None:
        assert float(std[0]) == pytest.approx(low)
    else:
        torch.testing.assert_close(std[:, 0].log(), torch.tensor([low, high], dtype=torch.float32))


def test_log_prob_equals_torch_distributions() -> None:
    x, mean, raw = torch.randn(3, 7)
    std = raw.exp()
    torch.testing.assert_close(gaussian_log_prob(x, mean, std), Normal(mean, std).log_prob(x))
