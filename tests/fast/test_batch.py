from __future__ import annotations

import pytest
import torch
from torch import Tensor

from alora_ts.fast.batch import encode
from alora_ts.fast.folds import fold
from alora_ts.fast.threads import use_threads
from alora_ts.learning import Training
from alora_ts.learning.descent import Descent
from alora_ts.learning.loss import Loss
from alora_ts.network import ALoRaT, low_rank_penalty
from tests.fast.networks import NOT_FOLDED, SHAPES, build

WIDE = {
    "default": (3, 60, {"heads": 4}),
    "two layers": (3, 60, {"heads": 4, "layers": 2}),
    "five layers": (3, 60, {"heads": 4, "layers": 5}),
    "learned lags": (3, 60, {"heads": 4, "kernel": "learned"}),
    "edge padding": (3, 60, {"heads": 4, "padding": "edge"}),
    "dense embedding": (3, 60, {"heads": 4, "embedding": "dense"}),
    "causal": (3, 60, {"heads": 4, "causal": True}),
    "heads do not divide the width": (3, 62, {"heads": 4}),
    "widths that need no rounding": (8, 128, {"heads": 8}),
    "one head": (3, 60, {"heads": 1}),
    "one variable": (1, 16, {"heads": 2}),
    "window of one": (3, 60, {"heads": 4, "window": 1}),
}


def plain_loss(network: ALoRaT, windows: Tensor, options: Training) -> Loss:
    """Eq. 8 by the network's own pass, layer by layer."""
    encoding = network(windows, per_head=True)
    matrices = encoding.heads if options.placement == "heads" else encoding.attention
    squares = (encoding.reconstruction - windows).square().mean((0, 1))
    error, penalty = squares.mean(), sum(low_rank_penalty(s).mean() for s in matrices)
    assert isinstance(penalty, Tensor)
    return Loss(error + options.low_rank_weight * penalty, error, penalty, squares)


def gradients(network: ALoRaT) -> dict[str, Tensor]:
    # The keys' bias has no effect, and gets rounding or nothing.
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in network.named_parameters()
    }


def assert_same_step(network: ALoRaT, windows: Tensor, options: Training) -> None:
    loss = Descent()(network, windows, options)
    ours = gradients(network)
    network.zero_grad()
    plain = plain_loss(network, windows, options)
    plain.total.backward()
    for name in ("total", "error", "penalty", "squares"):
        torch.testing.assert_close(getattr(loss, name), getattr(plain, name).detach())
    torch.testing.assert_close(ours, gradients(network), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("placement", ["mean", "heads"])
@pytest.mark.parametrize("shape", WIDE)
def test_a_folded_step_equals_the_plain_one(shape: str, placement: str) -> None:
    d, embedded, how = WIDE[shape]
    network = build(d, embedded, **how).double()
    assert fold(network) is not None
    windows = torch.randn(4, network.window, d, dtype=torch.float64)
    options = Training(low_rank_weight=0.5, placement=placement)  # type: ignore[arg-type]
    assert_same_step(network, windows, options)


@pytest.mark.parametrize("kind", NOT_FOLDED)
def test_other_networks_train_as_they_are(kind: str) -> None:
    network = build(3, 60, heads=4, window=20, **NOT_FOLDED[kind]).double()
    assert fold(network) is None
    windows = torch.randn(33, 20, 3, dtype=torch.float64)
    assert_same_step(network, windows, Training())


@pytest.mark.parametrize("shape", [*WIDE, *SHAPES])
def test_any_shape_gives_the_same_reconstruction(shape: str) -> None:
    d, embedded, how = {**SHAPES, **WIDE}[shape]
    network = build(d, embedded, **how).double()
    windows = torch.randn(3, network.window, d, dtype=torch.float64)
    ours, plain = encode(network, windows, per_head=True), network(windows, per_head=True)
    torch.testing.assert_close(ours.reconstruction, plain.reconstruction)
    torch.testing.assert_close(ours.attention, plain.attention)
    torch.testing.assert_close(ours.heads, plain.heads)
    assert not ours.reconstruction.requires_grad


@pytest.mark.parametrize("kind", NOT_FOLDED)
def test_other_networks_are_encoded_as_they_are(kind: str) -> None:
    network = build(3, 60, heads=4, **NOT_FOLDED[kind])
    windows = torch.randn(3, 7, 3)
    ours, plain = encode(network, windows), network(windows)
    torch.testing.assert_close(ours.reconstruction, plain.reconstruction)
    torch.testing.assert_close(ours.attention, plain.attention)
    assert not ours.reconstruction.requires_grad


def test_threads_do_not_change_the_penalty_or_its_gradient() -> None:
    matrices = torch.randn(3, 21, 30, 30).softmax(-1)
    found = []
    for threads in (1, 2):
        with use_threads(threads):
            leaf = matrices.clone().requires_grad_()
            total = low_rank_penalty(leaf)
            total.sum().backward()
            found.append((total.detach(), leaf.grad))
    assert torch.equal(found[0][0], found[1][0])
    torch.testing.assert_close(found[0][1], found[1][1])
