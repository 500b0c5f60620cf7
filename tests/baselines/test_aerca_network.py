"""AERCA's networks and loss against loops and torch.distributions."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from alora_ts.baselines.aerca_loss import aerca_loss, gaussian_divergence, smoothness, sparsity
from alora_ts.baselines.aerca_network import AercaNetwork, LagCoefficients


def _tiny(variables: int = 3, order: int = 2) -> AercaNetwork:
    torch.manual_seed(0)
    return AercaNetwork(variables=variables, order=order, width=5, hidden=2)


@pytest.mark.parametrize(
    ("variables", "hidden", "expected"),
    [(10, 4, 9_342_300), (38, 4, 13_462_332), (51, 8, 28_987_803)],
)
def test_full_size_parameter_count(variables: int, hidden: int, expected: int) -> None:
    with torch.device("meta"):
        network = AercaNetwork(variables=variables, order=1, width=1000, hidden=hidden)
    assert sum(p.numel() for p in network.parameters()) == expected


def _predict(net: LagCoefficients, past: torch.Tensor) -> torch.Tensor:
    """One window (K, p), lag by lag."""
    total = torch.zeros(past.shape[1])
    for lag, coefficients in enumerate(net.nets):
        theta = coefficients(past[lag]).view(past.shape[1], past.shape[1])
        total = total + theta @ past[lag]
    return total


@pytest.mark.parametrize(("variables", "order"), [(3, 2), (1, 1), (2, 3)])
def test_forward_agrees_with_loops(variables: int, order: int) -> None:
    network = _tiny(variables, order)
    rows = torch.randn(11, variables)
    out = network(rows)
    u = {t: _predict(network.encoder, rows[t - order : t]) - rows[t] for t in range(order, 11)}
    for t, value in u.items():
        torch.testing.assert_close(out.exogenous[t - order], value)
    for t in range(2 * order, 11):
        lagged_u = torch.stack([u[s] for s in range(t - order, t)])
        expected = (
            _predict(network.decoder, lagged_u)
            + u[t]
            + _predict(network.decoder_past, rows[t - 2 * order : t - order])
        )
        torch.testing.assert_close(out.reconstruction[t - 2 * order], expected)
    torch.testing.assert_close(network.exogenous(rows), out.exogenous)


def test_correct_divergence_equals_torch_distributions() -> None:
    rows = torch.randn(200, 3, dtype=torch.float64) @ torch.randn(3, 3, dtype=torch.float64) + 1
    fitted = MultivariateNormal(rows.mean(0), torch.cov(rows.T))
    unit = MultivariateNormal(
        torch.zeros(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64)
    )
    expected = kl_divergence(fitted, unit)
    ours = gaussian_divergence(rows, form="correct")
    torch.testing.assert_close(ours, expected, rtol=1e-3, atol=1e-3)


def test_official_divergence_turns_the_log_determinant_round() -> None:
    rows = torch.randn(100, 2, dtype=torch.float64)
    covariance = torch.cov(rows.T)
    common = rows.mean(0).square().sum() + covariance.trace() - 2
    expected = common + torch.logdet(covariance)
    torch.testing.assert_close(
        gaussian_divergence(rows, form="official"), expected, rtol=1e-4, atol=1e-4
    )
    assert gaussian_divergence(rows * 1e-3, form="official") < -10
    assert gaussian_divergence(rows * 1e-3, form="correct") > 0


@pytest.mark.parametrize(
    "rows",
    [torch.zeros(10, 3), torch.ones(1, 2), torch.randn(3, 8), torch.randn(10, 1).expand(10, 3)],
    ids=["constant", "one row", "more variables than rows", "copies"],
)
def test_degenerate_covariances_stay_finite(rows: torch.Tensor) -> None:
    rows = rows.clone().requires_grad_()
    for form in ("correct", "official"):
        value = gaussian_divergence(rows, form=form)
        value.backward()
        assert torch.isfinite(value)
        assert rows.grad is not None
        assert torch.isfinite(rows.grad).all()


def test_one_lag_has_nothing_to_smooth() -> None:
    assert smoothness(torch.randn(4, 1, 2, 2)) == 0


def test_penalties_agree_with_loops() -> None:
    theta = torch.randn(2, 3, 2, 2)
    sparse = smooth = 0.0
    for b in range(2):
        for i in range(2):
            for j in range(2):
                lags = [float(v) for v in theta[b, :, i, j]]
                l2 = sum(v * v for v in lags) ** 0.5
                sparse += (0.5 * l2 + 0.5 * sum(abs(v) for v in lags)) / 8
                steps = [(b - a) ** 2 for a, b in itertools.pairwise(lags)]
                smooth += sum(steps) ** 0.5 / 8
    assert float(sparsity(theta)) == pytest.approx(sparse, rel=1e-5)
    assert float(smoothness(theta)) == pytest.approx(smooth, rel=1e-5)


def test_loss_reaches_every_weight() -> None:
    network = _tiny()
    rows = torch.randn(30, 3)
    aerca_loss(network(rows), rows, divergence="correct").backward()
    assert all(p.grad is not None for p in network.parameters())
