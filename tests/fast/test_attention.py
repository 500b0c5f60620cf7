from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from alora_ts.fast import attention as module
from alora_ts.fast.attention import Heads, SharedHeads
from alora_ts.fast.scratch import Scratch
from alora_ts.network.attention import attend

SIZES = [(2, 3, 2, 3), (1, 1, 1, 1), (5, 4, 3, 8)]


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def plain_heads(
    joint: Tensor, heads: int, width: int, *, summed: bool, causal: bool
) -> list[Tensor]:
    """What the heads mix and their matrices, by the lines of the network itself."""
    batch, steps, columns = joint.shape
    value_width = (columns - 2 * heads * width) // (heads + summed)
    parts = [2 * heads * width, heads * value_width, summed * value_width]
    query_key, values, carried = joint.split(parts, dim=-1)
    query, key = query_key.reshape(batch, steps, 2, heads, width).permute(2, 0, 3, 1, 4)
    matrices = attend(query, key, causal=causal)
    by_head = matrices @ values.reshape(batch, steps, heads, value_width).transpose(1, 2)
    return [carried + by_head.sum(1) if summed else by_head.transpose(1, 2).flatten(2), matrices]


def plain_shared(left: Tensor, u: Tensor, *, causal: bool) -> list[Tensor]:
    batch, _, width = u.shape
    query = left.view(batch, u.shape[1], -1, width).transpose(1, 2) * width**0.5
    matrices = attend(query, u[:, None], causal=causal)  # (B, H, T, T)
    return [(matrices @ u[:, None]).transpose(1, 2).reshape(left.shape), matrices]


def assert_same_way_back(ours: Heads | SharedHeads, expected: list[Tensor], given: Tensor) -> None:
    """Whether a gradient of what came out becomes that of what was given, as torch says."""
    of_mixed, of_matrices = (torch.randn_like(each) for each in expected)
    of_given = torch.full_like(given, torch.nan).detach()
    ours.backward(of_mixed, of_matrices, of_given)
    plain = torch.autograd.grad(expected, given, [of_mixed, of_matrices])
    torch.testing.assert_close(of_given, plain[0])


@pytest.mark.parametrize("together", [1, 2**18], ids=["window by window", "all at once"])
@pytest.mark.parametrize(("summed", "causal"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize(("batch", "steps", "heads", "width"), SIZES)
def test_heads_give_the_plain_numbers_and_their_gradient(
    monkeypatch: pytest.MonkeyPatch,
    *,
    batch: int,
    steps: int,
    heads: int,
    width: int,
    summed: bool,
    causal: bool,
    together: int,
) -> None:
    monkeypatch.setattr(module, "_TOGETHER", together)
    torch.manual_seed(0)
    scratch = Scratch()
    for windows in (batch + 1, batch):  # the second pass finds the first one's numbers
        joint = draw(windows, steps, 2 * heads * width + (heads + summed) * 2)
        expected = plain_heads(joint, heads, width, summed=summed, causal=causal)
        ours = Heads(heads, width, summed=summed, causal=causal, scratch=scratch)
        mixed = torch.full_like(expected[0], torch.nan)
        found = [mixed, ours.forward(joint.detach(), mixed).heads]
        torch.testing.assert_close(found, [each.detach() for each in expected])
        assert_same_way_back(ours, expected, joint)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("batch", "steps", "heads", "width"), SIZES)
def test_shared_heads_give_the_plain_numbers_and_their_gradient(
    batch: int, steps: int, heads: int, width: int, *, causal: bool
) -> None:
    torch.manual_seed(0)
    scratch = Scratch()
    for windows in (batch + 1, batch):
        left = draw(windows, steps * heads, width)
        u = torch.randn(windows, steps, width, dtype=torch.float64)
        expected = plain_shared(left, u, causal=causal)
        ours = SharedHeads(causal=causal, scratch=scratch)
        mixed = torch.full_like(expected[0], torch.nan)
        found = [mixed, ours.forward(left.detach(), u, mixed).heads]
        torch.testing.assert_close(found, [each.detach() for each in expected])
        assert_same_way_back(ours, expected, left)


def test_a_gradient_may_be_that_of_the_mean() -> None:
    torch.manual_seed(0)
    joint = draw(2, 4, 18)
    expected = plain_heads(joint, 2, 3, summed=False, causal=False)
    ours = Heads(2, 3, summed=False, causal=False, scratch=Scratch())
    mean = ours.forward(joint.detach(), torch.empty_like(expected[0])).mean
    torch.testing.assert_close(mean, expected[1].mean(1).detach())
    of_mean, of_joint = torch.randn(2, 4, 4, dtype=torch.float64), torch.empty_like(joint).detach()
    ours.backward(torch.zeros_like(expected[0]), of_mean, of_joint)
    plain = torch.autograd.grad(expected[1].mean(1), joint, of_mean)
    torch.testing.assert_close(of_joint, plain[0])
