"""Flows against automatic Jacobians and their own inverses."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from alora_ts.baselines.parts.flows import (
    AffineCoupling,
    InvertibleLinear,
    PlanarFlow,
    RealNVP,
    chain,
)


def _shaken(flow: nn.Module, seed: int = 0) -> nn.Module:
    """The flow with weights far from where they begin."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in flow.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return flow.double()


@pytest.mark.parametrize(
    ("flow", "size"),
    [
        (PlanarFlow(3), 3),
        (InvertibleLinear(3), 3),
        (AffineCoupling(3, width=5), 3),
        (AffineCoupling(2, width=5), 2),
        (RealNVP(3, layers=3, width=5), 3),
        (RealNVP(4, layers=2, width=5), 4),
    ],
    ids=lambda value: type(value).__name__,
)
def test_log_det_equals_the_automatic_jacobian(flow: nn.Module, size: int) -> None:
    _shaken(flow)
    points = torch.randn(6, size, dtype=torch.float64)
    _, log_det = flow(points)
    for point, ours in zip(points, log_det, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda x: flow(x)[0], point)
        torch.testing.assert_close(torch.linalg.slogdet(jacobian).logabsdet, ours)


@pytest.mark.parametrize("seed", range(20))
def test_planar_direction_keeps_the_map_invertible(seed: int) -> None:
    flow = _shaken(PlanarFlow(3), seed)
    with torch.no_grad():
        flow.u.mul_(10)
    assert flow.direction() @ flow.w > -1


@pytest.mark.parametrize("size", [2, 3, 5])
def test_coupling_and_linear_are_inverted(size: int) -> None:
    points = torch.randn(7, size, dtype=torch.float64)
    for flow in (_shaken(AffineCoupling(size, width=6)), _shaken(InvertibleLinear(size))):
        torch.testing.assert_close(flow.inverse(flow(points)[0]), points)


def test_fresh_coupling_flow_is_a_linear_map() -> None:
    torch.manual_seed(1)
    flow = RealNVP(3, layers=20, width=8).double()
    a, b = torch.randn(2, 4, 3, dtype=torch.float64)
    torch.testing.assert_close(flow(2 * a - b)[0], 2 * flow(a)[0] - flow(b)[0])


def test_chain_adds_log_determinants() -> None:
    flows = nn.ModuleList(_shaken(PlanarFlow(3), seed) for seed in range(3))
    x = torch.randn(4, 5, 3, dtype=torch.float64)
    y, total = chain(flows, x)
    expected = torch.zeros(4, 5, dtype=torch.float64)
    for flow in flows:
        x, log_det = flow(x)
        expected += log_det
    torch.testing.assert_close(y, x)
    torch.testing.assert_close(total, expected)
