from __future__ import annotations

import pytest
import torch

from alora_ts.learning import TrainingOptions
from alora_ts.learning.encode import _foldable, encode
from alora_ts.learning.loss import objective
from alora_ts.network import low_rank_penalty
from alora_ts.threads import use_threads
from tests.scoring.networks import NOT_FOLDED, SHAPES, build

WIDE = {
    "default": (3, 60, {"heads": 4}),
    "two layers": (3, 60, {"heads": 4, "layers": 2}),
    "learned lags": (3, 60, {"heads": 4, "kernel": "learned"}),
    "edge padding": (3, 60, {"heads": 4, "padding": "edge"}),
    "dense embedding": (3, 60, {"heads": 4, "embedding": "dense"}),
    "causal": (3, 60, {"heads": 4, "causal": True}),
    "heads do not divide the width": (3, 62, {"heads": 4}),
    "one variable": (1, 16, {"heads": 2}),
}


@pytest.mark.parametrize("shape", WIDE)
def test_folded_training_pass_and_its_gradients_equal_the_networks_own(shape: str) -> None:
    d, embedded, how = WIDE[shape]
    network = build(d, embedded, **how).double()
    assert _foldable(network)
    windows = torch.randn(4, network.architecture.window, d, dtype=torch.float64)
    results = []
    for run in (
        lambda: encode(network, windows, per_head=True),
        lambda: network(windows, per_head=True),
    ):
        network.zero_grad()
        encoding = run()
        loss = encoding.reconstruction.square().mean()
        loss = loss + sum(low_rank_penalty(s).mean() for s in encoding.attention)
        loss.backward()
        # The keys' bias has no effect; autograd gives it nothing or zeros.
        gradients = {
            name: parameter.grad.clone()
            for name, parameter in network.named_parameters()
            if parameter.grad is not None
        }
        results.append((encoding, gradients))
    (ours, our_gradients), (plain, plain_gradients) = results
    torch.testing.assert_close(ours.reconstruction, plain.reconstruction)
    torch.testing.assert_close(ours.attention, plain.attention)
    torch.testing.assert_close(ours.heads, plain.heads)
    torch.testing.assert_close(our_gradients, plain_gradients, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_gives_the_same_reconstruction(shape: str) -> None:
    d, embedded, how = SHAPES[shape]
    network = build(d, embedded, **how)
    windows = torch.randn(3, network.architecture.window, d)
    ours, plain = encode(network, windows), network(windows)
    torch.testing.assert_close(ours.reconstruction, plain.reconstruction, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(ours.attention, plain.attention, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", NOT_FOLDED)
def test_other_networks_train_as_they_are(kind: str) -> None:
    network = build(3, 60, heads=4, **NOT_FOLDED[kind])
    assert not _foldable(network)
    windows = torch.randn(3, 7, 3)
    ours, plain = encode(network, windows), network(windows)
    torch.testing.assert_close(ours.reconstruction, plain.reconstruction)
    torch.testing.assert_close(ours.attention, plain.attention)


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


def test_a_step_goes_the_same_way_as_the_plain_step() -> None:
    options = TrainingOptions(low_rank_weight=0.5)
    network = build(3, 60, heads=4).double()
    windows = torch.randn(8, 7, 3, dtype=torch.float64)
    loss = objective(network, windows, options)
    plain = network(windows)
    error = (plain.reconstruction - windows).square().mean()
    penalty = sum(low_rank_penalty(s).mean() for s in plain.attention)
    torch.testing.assert_close(loss.total, error + 0.5 * penalty)
