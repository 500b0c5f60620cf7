from __future__ import annotations

import pytest
import torch

from alora_ts.learning import TrainingOptions
from alora_ts.learning.descent import descend
from alora_ts.learning.loss import objective
from alora_ts.threads import use_threads
from tests.scoring.networks import build


@pytest.mark.parametrize("count", [1, 3, 16, 17, 32])
@pytest.mark.parametrize("penalty", ["paper", "authors"])
def test_parts_give_the_gradient_of_the_whole_batch(count: int, penalty: str) -> None:
    options = TrainingOptions(penalty=penalty)  # type: ignore[arg-type]
    network = build(3, 60, heads=4).double()
    windows = torch.randn(count, 7, 3, dtype=torch.float64)
    loss = descend(network, windows, options)
    ours = [parameter.grad for parameter in network.parameters()]
    network.zero_grad()
    plain = objective(network, windows, options)
    plain.total.backward()
    for name in ("total", "error", "penalty", "squares"):
        torch.testing.assert_close(getattr(loss, name), getattr(plain, name).detach())
    for mine, parameter in zip(ours, network.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad, rtol=1e-6, atol=1e-9)


def test_the_number_of_threads_does_not_change_a_single_bit() -> None:
    # Large enough for the products to be worth a second thread.
    network = build(12, 256, heads=8, window=20)
    windows = torch.randn(32, 20, 12)
    found = []
    for threads in (1, 2):
        with use_threads(threads):
            descend(network, windows, TrainingOptions())
        found.append([parameter.grad for parameter in network.parameters()])
    for one, two in zip(*found, strict=True):
        assert one is two is None or torch.equal(one, two)


def test_a_loss_that_is_not_finite_leaves_no_gradient() -> None:
    network = build(3, 60, heads=4)
    windows = torch.randn(32, 7, 3)
    descend(network, windows, TrainingOptions())  # leaves one, which must not stay
    windows[20, 0, 0] = torch.inf
    loss = descend(network, windows, TrainingOptions())
    assert not torch.isfinite(loss.total)
    assert all(parameter.grad is None for parameter in network.parameters())
