from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from alora_ts.learning.attention import attend_and_mix, attend_and_mix_shared
from alora_ts.network.attention import attend

SWITCHES = list(itertools.product([False, True], repeat=3))


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("summed", "causal", "per_head"), SWITCHES)
@pytest.mark.parametrize(("batch", "steps", "heads", "width"), [(2, 3, 2, 3), (1, 1, 1, 1)])
def test_heads_give_the_plain_numbers_and_their_gradient(
    batch: int, steps: int, heads: int, width: int, *, summed: bool, causal: bool, per_head: bool
) -> None:
    torch.manual_seed(0)
    parts = [2 * heads * width, heads * 2, 2 if summed else 0]
    joint = draw(batch, steps, sum(parts))

    def ours(joint: Tensor) -> tuple[Tensor, Tensor]:
        return attend_and_mix(joint, heads, width, summed=summed, causal=causal, per_head=per_head)

    query_key, values, carried = joint.split(parts, dim=-1)
    query, key = query_key.view(batch, steps, 2, heads, width).permute(2, 0, 3, 1, 4)
    attention = attend(query, key, causal=causal)
    by_head = attention @ values.view(batch, steps, heads, 2).transpose(1, 2)
    beside = by_head.transpose(1, 2).flatten(2)
    mixed, shown = ours(joint)
    torch.testing.assert_close(mixed, carried + by_head.sum(1) if summed else beside)
    torch.testing.assert_close(shown, attention.transpose(0, 1) if per_head else attention.mean(1))
    assert torch.autograd.gradcheck(ours, (joint,))


@pytest.mark.parametrize(("causal", "per_head"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize(("batch", "steps", "heads", "width"), [(2, 3, 2, 3), (1, 1, 1, 1)])
def test_shared_heads_give_the_plain_numbers_and_their_gradient(
    batch: int, steps: int, heads: int, width: int, *, causal: bool, per_head: bool
) -> None:
    torch.manual_seed(0)
    left = draw(batch, steps * heads, width)
    u = torch.randn(batch, steps, width, dtype=torch.float64)

    def ours(left: Tensor) -> tuple[Tensor, Tensor]:
        return attend_and_mix_shared(left, u, causal=causal, per_head=per_head)

    query = left.view(batch, steps, heads, width).transpose(1, 2) * width**0.5
    attention = attend(query, u[:, None], causal=causal)  # (B, H, T, T)
    mixed, shown = ours(left)
    by_step = (attention @ u[:, None]).transpose(1, 2).reshape(batch, -1, width)
    torch.testing.assert_close(mixed, by_step)
    torch.testing.assert_close(shown, attention.transpose(0, 1) if per_head else attention.mean(1))
    assert torch.autograd.gradcheck(ours, (left,))


def test_parts_of_a_wider_tensor_may_be_given() -> None:
    torch.manual_seed(0)
    wide = draw(2, 4, 20)
    how = {"summed": False, "causal": False, "per_head": False}
    given = attend_and_mix(wide[..., 1:19], 2, 3, **how)
    torch.testing.assert_close(given, attend_and_mix(wide[..., 1:19].contiguous(), 2, 3, **how))
    assert torch.autograd.gradcheck(
        lambda wide: attend_and_mix(wide[..., 1:19], 2, 3, **how), (wide,)
    )
