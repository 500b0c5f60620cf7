from __future__ import annotations

import pytest
import torch

from alora_ts.fast.threads import use_threads
from alora_ts.learning import Training
from alora_ts.learning.descent import Descent, _parts
from alora_ts.learning.loss import judge
from tests.fast.networks import build
from tests.fast.test_batch import gradients


@pytest.mark.parametrize("count", [1, 3, 32, 33, 70])
@pytest.mark.parametrize("penalty", ["paper", "authors"])
def test_parts_give_the_gradient_of_the_whole_batch(count: int, penalty: str) -> None:
    options = Training(penalty=penalty)  # type: ignore[arg-type]
    network = build(3, 60, heads=4, window=20).double()
    windows = torch.randn(count, 20, 3, dtype=torch.float64)
    loss = Descent()(network, windows, options)
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
    found = _parts(windows, whole=False)
    assert [part.stop - part.start for part in found] == sizes
    assert [index for part in found for index in range(part.start, part.stop)] == list(range(count))
    assert _parts(windows, whole=True) == [slice(0, count)]


@pytest.mark.parametrize("heads", [8, 1])
def test_the_number_of_threads_does_not_change_a_single_bit(heads: int) -> None:
    # Large enough for the products to be worth a second thread.
    network = build(12, 256, heads=heads, window=20)
    windows = torch.randn(70, 20, 12)
    found = []
    for threads in (1, 2, 3):
        with use_threads(threads):
            Descent()(network, windows, Training())
        found.append(gradients(network))
    for name, one in found[0].items():
        assert all(torch.equal(one, other[name]) for other in found[1:]), name


def test_memory_of_earlier_batches_and_networks_leaves_no_trace() -> None:
    options = Training()
    kept = Descent()
    for d, embedded, window, count, kind in [
        (3, 60, 20, 40, torch.float32),
        (2, 40, 7, 5, torch.float32),
        (3, 60, 20, 33, torch.float64),
        (3, 60, 20, 33, torch.float32),
    ]:
        network = build(d, embedded, heads=4, window=window).to(kind)
        windows = torch.randn(count, window, d, dtype=kind)
        kept(network, windows, options)
        found = gradients(network)
        Descent()(network, windows, options)
        torch.testing.assert_close(found, gradients(network), rtol=0, atol=0)


def test_a_loss_that_is_not_finite_leaves_no_gradient() -> None:
    network = build(3, 60, heads=4, window=20)
    windows = torch.randn(32, 20, 3)
    descend = Descent()
    descend(network, windows, Training())  # leaves one, which must not stay
    windows[20, 0, 0] = torch.inf
    loss = descend(network, windows, Training())
    assert not torch.isfinite(loss.total)
    assert all(parameter.grad is None for parameter in network.parameters())
