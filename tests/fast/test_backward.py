from __future__ import annotations

import pytest
import torch

from alora_ts.fast.backward import _cut, encode
from alora_ts.fast.threads import use_threads
from alora_ts.learning import Training
from alora_ts.learning.descent import descend
from alora_ts.learning.loss import judge
from alora_ts.network import low_rank_penalty
from tests.fast.networks import NARROW, NOT_FOLDED, SHAPES, build
from tests.fast.plain_steps import gradients


@pytest.mark.parametrize("count", [1, 3, 32, 33, 70])
@pytest.mark.parametrize("penalty", ["paper", "authors"])
def test_parts_give_the_gradient_of_the_whole_batch(count: int, penalty: str) -> None:
    options = Training(penalty=penalty)  # type: ignore[arg-type]
    network = build(3, 60, heads=4, window=20).double()
    windows = torch.randn(count, 20, 3, dtype=torch.float64)
    loss = descend(network, windows, options)
    ours = gradients(network)
    network.zero_grad()
    plain = judge(network(windows), windows, options)
    plain.total.backward()
    for name in ("total", "error", "penalty", "squares"):
        torch.testing.assert_close(getattr(loss, name), getattr(plain, name).detach())
    # The authors' penalty is a sum over the windows, not a mean, and so is its rounding.
    rounding = 1e-9 * (count if penalty == "authors" else 1)
    torch.testing.assert_close(ours, gradients(network), rtol=1e-6, atol=rounding)


@pytest.mark.parametrize(
    ("count", "steps", "sizes"),
    [
        (1, 1, [1]),
        (15, 20, [15]),
        (32, 20, [16, 16]),
        (33, 20, [16, 17]),
        (32, 100, [8, 8, 8, 8]),
        (3, 1000, [1, 1, 1]),
        (100, 100, [25, 25, 25, 25]),
    ],
)
def test_parts_are_even_and_not_too_small(count: int, steps: int, sizes: list[int]) -> None:
    windows = torch.empty(count, steps, 2)
    found = _cut(windows, whole=False)
    assert [part.stop - part.start for part in found] == sizes
    assert [index for part in found for index in range(part.start, part.stop)] == list(range(count))
    assert _cut(windows, whole=True) == [slice(0, count)]


@pytest.mark.parametrize("heads", [8, 1])
def test_the_number_of_threads_does_not_change_a_single_bit(heads: int) -> None:
    # Large enough for the products to be worth a second thread.
    network = build(12, 256, heads=heads, window=20)
    windows = torch.randn(70, 20, 12)
    found = []
    for threads in (1, 2, 3):
        with use_threads(threads):
            descend(network, windows, Training())
        found.append(gradients(network))
    for name, one in found[0].items():
        assert all(torch.equal(one, other[name]) for other in found[1:]), name


@pytest.mark.parametrize("shape", [*NARROW, *SHAPES])
def test_any_shape_gives_the_same_reconstruction(shape: str) -> None:
    d, embedded, how = {**SHAPES, **NARROW}[shape]
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
