from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from alora_ts.fast.attention import Heads
from alora_ts.network.attention import attend

SIZES = [(2, 3, 2, 3), (1, 1, 1, 1), (5, 4, 3, 8), (2, 9, 3, 5)]
BOTH = (False, True)


def views(rows: Tensor, heads: int) -> Tensor:
    return rows.unflatten(-1, (heads, -1)).transpose(1, 2)


def plain(heads: Heads, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """What each head mixes (B, H, T, v), and the matrices, by the network's own lines."""
    query = views(query, heads.count)
    query = query * heads.scale * query.shape[-1] ** 0.5
    matrices = attend(query, views(key, key.shape[-1] // query.shape[-1]), causal=heads.causal)
    return matrices @ (value[:, None] if value is key else views(value, heads.count)), matrices


def assert_same(found: list[Tensor], wanted: list[Tensor], leaves: list[Tensor]) -> None:
    """The same numbers, and the same gradient of any sum of them."""
    single = leaves[0].dtype is torch.float32
    how = {"rtol": 1e-4, "atol": 1e-5} if single else {}
    torch.testing.assert_close(found, wanted, **how)
    pulls = [torch.randn_like(each) for each in wanted]
    torch.testing.assert_close(
        torch.autograd.grad(found, leaves, pulls), torch.autograd.grad(wanted, leaves, pulls), **how
    )


@pytest.mark.parametrize(("summed", "causal", "per_head"), list(itertools.product(BOTH, repeat=3)))
@pytest.mark.parametrize(("batch", "steps", "count", "width"), SIZES)
def test_heads(
    way: str,
    *,
    batch: int,
    steps: int,
    count: int,
    width: int,
    summed: bool,
    causal: bool,
    per_head: bool,
) -> None:
    torch.manual_seed(0)
    kind = torch.float32 if way == "native" else torch.float64
    widths = [count * width, count * width, count * 2, 2]
    leaves = [torch.randn(batch, steps, n, dtype=kind, requires_grad=True) for n in widths]
    heads = Heads(count, 0.7, causal, per_head)
    found = heads(*leaves[: 3 + summed])
    mixed, matrices = plain(heads, *leaves[:3])
    mixed = leaves[3] + mixed.sum(1) if summed else mixed.transpose(1, 2).flatten(2)
    wanted = [mixed, matrices if per_head else matrices.mean(1)]
    assert_same([found.mixed, found.matrices], wanted, leaves[: 3 + summed])


@pytest.mark.parametrize(("causal", "per_head"), list(itertools.product(BOTH, repeat=2)))
@pytest.mark.parametrize(("batch", "steps", "count", "width"), SIZES)
def test_heads_that_share_keys_and_values(
    way: str, *, batch: int, steps: int, count: int, width: int, causal: bool, per_head: bool
) -> None:
    torch.manual_seed(0)
    kind = torch.float32 if way == "native" else torch.float64
    query = torch.randn(batch, steps, count * width, dtype=kind, requires_grad=True)
    u = torch.randn(batch, steps, width, dtype=kind)
    heads = Heads(count, 1.0, causal, per_head)
    found = heads(query, u, u)
    mixed, matrices = plain(heads, query, u, u)
    wanted = [mixed.transpose(1, 2).flatten(2), matrices if per_head else matrices.mean(1)]
    assert_same([found.mixed, found.matrices], wanted, [query])
