"""OmniAnomaly's network: its prior against a dense Gaussian, its size, its density."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal

from alora_ts.baselines.omnianomaly_network import OmniAnomalyNetwork, random_walk_log_prob


@pytest.mark.parametrize("steps", [1, 5, 30])
def test_kalman_prior_equals_the_dense_gaussian(steps: int) -> None:
    torch.manual_seed(0)
    z = 3 * torch.randn(4, steps, 2, dtype=torch.float64)
    index = torch.arange(1, steps + 1, dtype=torch.float64)
    covariance = torch.minimum(index[:, None], index[None]) + torch.eye(steps, dtype=torch.float64)
    dense = MultivariateNormal(torch.zeros(steps, dtype=torch.float64), covariance)
    expected = dense.log_prob(z[..., 0]) + dense.log_prob(z[..., 1])
    torch.testing.assert_close(random_walk_log_prob(z).sum(1), expected)


@pytest.mark.parametrize(
    ("variables", "millions"), [(25, 2.58), (38, 2.61), (51, 2.64), (55, 2.65), (78, 2.71)]
)
def test_full_size_parameter_count(variables: int, millions: float) -> None:
    with torch.device("meta"):
        network = OmniAnomalyNetwork(variables=variables)
    count = sum(p.numel() for p in network.parameters())
    # torch's GRU has a second bias for each of its 3·500 gates that the first program's lacks.
    ours = 1500 * (variables + 501) + 1500 * 504 + 4 * 500 * 501 + 2 * 504 * 3 + 140
    assert count == ours + 2 * 501 * variables + 2 * 1500
    assert round((count - 3000) / 1e6, 2) == millions


def test_log_likelihood_and_posterior_are_densities() -> None:
    torch.manual_seed(0)
    network = OmniAnomalyNetwork(variables=3, width=6, flows=2).double()
    window = torch.randn(4, 7, 3, dtype=torch.float64)
    noise = torch.randn(4, 7, 3, dtype=torch.float64)
    out = network(window, noise)
    torch.testing.assert_close(
        out.log_likelihood(window), Normal(out.mean, out.std).log_prob(window)
    )
    # Change of variables, checked on a whole window: d(z path) / d(noise path).
    jacobian = torch.autograd.functional.jacobian(
        lambda e: network(window[:1], e[None]).z[0], noise[0]
    )
    log_det = torch.linalg.slogdet(jacobian.reshape(21, 21)).logabsdet
    standard = Normal(torch.zeros((), dtype=torch.float64), 1.0).log_prob(noise[0]).sum()
    torch.testing.assert_close(out.log_posterior[0].sum(), standard - log_det)


def test_rows_depend_on_the_past_and_present_of_the_path_only() -> None:
    torch.manual_seed(0)
    network = OmniAnomalyNetwork(variables=2, width=5, flows=1)
    window, noise = torch.randn(1, 6, 2), torch.randn(1, 6, 3)
    changed = window.clone()
    changed[:, 4:] += 1
    before, after = network(window, noise), network(changed, noise)
    torch.testing.assert_close(before.mean[:, :4], after.mean[:, :4])
    assert not torch.allclose(before.mean[:, 4:], after.mean[:, 4:])
