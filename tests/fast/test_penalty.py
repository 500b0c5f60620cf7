from __future__ import annotations

import pytest
import torch
from torch import Tensor

from alora_ts.fast.penalty import penalise
from alora_ts.network import low_rank_penalty
from tests import naive

T = 60
MANY = 130
"""More than the directions that kernels look for."""


def attention(kind: str) -> Tensor:
    """Matrices of one kind, more than are worked on together."""
    torch.manual_seed(0)
    count = 19
    steps = torch.arange(T) / T
    smooth = torch.sin(torch.rand(count, T, 1) * 6 + steps) * steps.flip(0)
    return {
        "sharp": torch.randn(count, T, T).mul(4).softmax(-1),
        "one row after the other": torch.eye(T).expand(count, T, T),
        "smooth, nearly of low rank": smooth.softmax(-1),
        "all rows the same": torch.rand(count, 1, T).softmax(-1).expand(count, T, T),
        "of different ranks": torch.cat(
            [torch.randn(2, T, T).softmax(-1), torch.full((count - 2, T, T), 1 / T)]
        ),
    }[kind].contiguous()


KINDS = [
    "sharp",
    "one row after the other",
    "smooth, nearly of low rank",
    "all rows the same",
    "of different ranks",
]


@pytest.mark.parametrize("kept", [0, 1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_few_directions_give_the_penalty(kind: str, kept: int) -> None:
    matrices = attention(kind)
    found = penalise(matrices, kept=kept)
    wanted = [naive.geman(each.double().numpy(), kept) for each in matrices]
    torch.testing.assert_close(
        found.double(), torch.tensor(wanted, dtype=torch.float64), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("kind", ["sharp", "of different ranks"])
def test_few_directions_give_the_gradient(kind: str) -> None:
    ours, plain = (attention(kind).requires_grad_() for _ in range(2))
    weights = torch.rand(len(ours))
    (penalise(ours) * weights).sum().backward()
    (low_rank_penalty(plain) * weights).sum().backward()
    torch.testing.assert_close(ours.grad, plain.grad, rtol=1e-3, atol=1e-5)


def test_directions_that_are_not_looked_at_hardly_count() -> None:
    ours, plain = (attention("smooth, nearly of low rank").requires_grad_() for _ in range(2))
    penalise(ours).sum().backward()
    low_rank_penalty(plain).sum().backward()
    assert ours.grad is not None
    assert plain.grad is not None
    # What differs pulls at singular values below 1e-6 only.
    apart = (ours.grad - plain.grad).double()
    assert (apart * ours.detach().double()).sum().abs() < 1e-5 * len(ours)


def test_leading_shapes_are_kept() -> None:
    assert penalise(torch.eye(T)).shape == ()
    assert penalise(torch.eye(T).expand(2, 3, T, T)).shape == (2, 3)
    assert penalise(torch.empty(0, T, T)).shape == (0,)


def test_double_precision_and_many_directions_stay_with_torch() -> None:
    for matrices in (torch.rand(2, T, T, dtype=torch.float64), torch.eye(MANY)):
        torch.testing.assert_close(penalise(matrices), low_rank_penalty(matrices), rtol=0, atol=0)


def test_without_kernels_torch_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = attention("sharp")
    found = penalise(matrices)
    monkeypatch.setenv("ALORA_TS_FAST", "torch")
    torch.testing.assert_close(penalise(matrices), found, rtol=1e-5, atol=1e-6)
