"""The kernels, for each instruction set that this machine has."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from alora_ts.fast import native
from tests import naive

pytestmark = pytest.mark.skipif(
    native.installed() is None, reason="installed without compiled kernels"
)

# Smaller than a tile, one more and one less than tiles and panels, several of each.
PRODUCTS = [(1, 1, 1), (7, 5, 3), (12, 9, 32), (13, 4, 33), (25, 385, 15), (6, 800, 70), (1, 3, 97)]
HEADS = [(1, 1, 1, 1, 1), (2, 3, 5, 4, 6), (1, 2, 17, 8, 33), (2, 1, 40, 37, 3), (1, 2, 2, 70, 16)]


@pytest.fixture(params=native.usable())
def library(request: pytest.FixtureRequest) -> native.Library:
    torch.manual_seed(0)
    return native.Library(request.param)


def views(tensor: Tensor, heads: int) -> Tensor:
    """(B, T, H·w) as (B, H, T, w), as the products of a layer leave it."""
    return tensor.unflatten(-1, (heads, -1)).transpose(1, 2)


@pytest.mark.parametrize(("rows", "depth", "columns"), PRODUCTS)
def test_products(library: native.Library, rows: int, depth: int, columns: int) -> None:
    left, right = torch.randn(rows, depth), torch.randn(depth, columns)
    bias, before = torch.randn(columns), torch.randn(rows, columns)
    wanted = torch.from_numpy(naive.product(left.numpy(), right.numpy()))
    for given in (right, right.T.contiguous().T):  # rows, or columns, in one piece
        panels = native.Panels(library, given)
        for side in (left, left.T.contiguous().T):
            out = torch.full_like(before, torch.nan)
            native.multiply(library, side, panels, out, bias=bias)()
            torch.testing.assert_close(out.double(), wanted + bias, rtol=1e-5, atol=1e-4)
        out = before.clone()
        native.multiply(library, left, panels, out, add=True)()
        torch.testing.assert_close(out.double(), wanted + before, rtol=1e-5, atol=1e-4)


def test_a_product_writes_its_own_place_only(library: native.Library) -> None:
    whole = torch.zeros(9, 50)
    native.multiply(
        library, torch.ones(5, 2), native.Panels(library, torch.ones(2, 35)), whole[2:7, 4:39]
    )()
    assert (whole[2:7, 4:39] == 2).all()
    assert whole.sum() == 5 * 35 * 2


@pytest.mark.parametrize(("count", "steps", "blocks", "columns"), [(1, 1, 1, 1), (5, 7, 3, 70)])
def test_windows_in_a_row(
    library: native.Library, count: int, steps: int, blocks: int, columns: int
) -> None:
    panel_width = library.panel_width()
    rounded = -(-columns // panel_width) * panel_width
    weights, bias = torch.zeros(4, blocks, rounded), torch.zeros(blocks, rounded)
    weights[..., :columns], bias[:, :columns] = torch.randn(columns), torch.randn(columns)
    rows = torch.randn(count + steps - 1, 4)
    spread, out = torch.randn(count, blocks, steps, steps), torch.empty(count, steps, columns)
    panels = native.Panels(library, weights.flatten(1))
    projected = panels.room_for(library, len(rows))
    native.project(library, rows, panels, projected, bias=bias.flatten())()
    native.combine(library, spread, projected, out)()
    plain = torch.einsum("rd,dgm->rgm", rows, weights) + bias
    for window in range(count):
        own = plain[window : window + steps, :, :columns]
        wanted = torch.einsum("gst,sgm->tm", spread[window], own)
        torch.testing.assert_close(out[window], wanted, rtol=1e-4, atol=1e-4)


def test_mixing(library: native.Library) -> None:
    weights, value, mixed = (
        torch.randn(2, 3, 5, 7),
        torch.randn(2, 3, 7, 20),
        torch.empty(2, 3, 5, 20),
    )
    native.mix(library, weights, value, mixed)()
    torch.testing.assert_close(mixed, weights @ value, rtol=1e-5, atol=1e-5)
    shared = weights[:1, :1].expand(2, 3, -1, -1)
    native.mix(library, shared, value, mixed)()
    torch.testing.assert_close(mixed, shared @ value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("batch", "heads", "steps", "width", "value_width"), HEADS)
def test_attention(
    library: native.Library,
    *,
    batch: int,
    heads: int,
    steps: int,
    width: int,
    value_width: int,
    causal: bool,
) -> None:
    query, key = torch.randn(2, batch, steps, heads * width)
    value = torch.randn(batch, steps, heads * value_width)
    mixed, last = torch.empty_like(value), torch.empty(batch, heads, steps)
    transposed, mean = torch.empty(batch, heads, steps, steps), torch.empty(batch, steps, steps)
    native.attend(
        library,
        views(query, heads),
        views(key, heads),
        scale=0.7,
        causal=causal,
        value=views(value, heads),
        mixed=views(mixed, heads),
        transposed=transposed,
        mean_transposed=mean,
        last=last,
    )()
    matrices = transposed.transpose(2, 3)
    for window in range(batch):
        for head in range(heads):
            matrix, made = naive.attend(
                *(views(each, heads)[window, head].numpy() for each in (query, key, value)),
                scale=0.7,
                causal=causal,
            )
            np.testing.assert_allclose(matrices[window, head], matrix, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(
                views(mixed, heads)[window, head], made, rtol=1e-4, atol=1e-5
            )
            np.testing.assert_array_equal(last[window, head], matrices[window, head, -1])
    torch.testing.assert_close(mean.transpose(1, 2), matrices.mean(1))


def test_heads_in_one_place_are_added_up(library: native.Library) -> None:
    query, key, value = torch.randn(3, 2, 3, 5, 4)
    sums = torch.randn(2, 5, 4)
    wanted = sums + ((query @ key.transpose(2, 3)).softmax(-1) @ value).sum(1)
    native.attend(
        library,
        query,
        key,
        scale=1.0,
        causal=False,
        value=value,
        mixed=sums[:, None].expand(-1, 3, -1, -1),
        add=True,
    )()
    torch.testing.assert_close(sums, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [0.0, 1e-30, 88.0, 1e4, 1e18])
def test_scores_of_any_size(library: native.Library, size: float) -> None:
    query, key = (
        torch.full((1, 1, 1, 1), size),
        torch.tensor([1.0, 0.999, -1, 0])[None, None, :, None],
    )
    transposed = torch.empty(1, 1, 4, 1)
    native.attend(library, query, key, scale=1.0, causal=False, transposed=transposed)()
    wanted = (query * key).double().softmax(2)
    torch.testing.assert_close(transposed.double(), wanted, rtol=2e-5, atol=1e-30)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_does_not_become_a_number(library: native.Library, bad: float) -> None:
    query, key = torch.randn(2, 1, 1, 6, 3)
    query[0, 0, 2, 1] = bad
    transposed = torch.empty(1, 1, 6, 6)
    native.attend(library, query, key, scale=1.0, causal=False, transposed=transposed)()
    wanted = (query @ key.transpose(2, 3)).softmax(-1)
    torch.testing.assert_close(transposed.transpose(2, 3), wanted, equal_nan=True)
    assert wanted[0, 0, 2].isnan().all()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("batch", "heads", "steps", "width", "value_width"), HEADS)
def test_the_backward_pass(
    library: native.Library,
    *,
    batch: int,
    heads: int,
    steps: int,
    width: int,
    value_width: int,
    causal: bool,
) -> None:
    joint = torch.randn(batch, steps, heads * (2 * width + value_width), requires_grad=True)
    parts = [heads * width, heads * width, heads * value_width]
    query, key, value = (views(each, heads) for each in joint.split(parts, dim=-1))
    scores = query @ key.transpose(2, 3) * 0.7
    if causal:
        hidden = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    matrices = scores.softmax(-1)
    grad_mixed, grad_mean = (
        torch.randn(batch, heads, steps, value_width),
        torch.randn(batch, steps, steps),
    )
    spread = (0.3 * grad_mean)[:, None].expand(-1, heads, -1, -1)
    wanted = torch.autograd.grad([matrices @ value, matrices], joint, [grad_mixed, spread])[0]
    transposed = matrices.detach().transpose(2, 3).contiguous()
    grad_transposed = grad_mean.transpose(1, 2).contiguous()[:, None].expand(-1, heads, -1, -1)
    given = joint.detach().clone()
    query, key, value = (views(each, heads) for each in given.split(parts, dim=-1))
    native.attend_backward(
        library,
        query,
        key,
        value,
        scale=0.7,
        transposed=transposed,
        grad_mixed=grad_mixed,
        grad_transposed=grad_transposed,
        share=0.3,
        grad_query=query,
        grad_key=key,
        grad_value=value,
    )()
    torch.testing.assert_close(given, wanted, rtol=1e-4, atol=1e-5)


def test_operands_that_kernels_cannot_read_are_refused(library: native.Library) -> None:
    panels = native.Panels(library, torch.ones(3, 4))
    with pytest.raises(ValueError, match="cannot multiply"):
        native.multiply(library, torch.ones(2, 4), panels, torch.empty(2, 4))
    with pytest.raises(ValueError, match="float32 on the cpu"):
        native.multiply(library, torch.ones(2, 3).double(), panels, torch.empty(2, 4))
    square = torch.ones(1, 1, 4, 4)
    with pytest.raises(ValueError, match="in one piece"):
        native.mix(library, square, square.transpose(2, 3), square)


@pytest.mark.parametrize("n", [1, 2, 9, 20, 47])
@pytest.mark.parametrize("kept", [0, 1, 3])
def test_penalties(library: native.Library, n: int, kept: int) -> None:
    # More than there are lanes, and one lane is left over.
    matrices = torch.rand(33, n, n) + 2 * torch.eye(n)
    found = native.penalise(library, matrices, kept=kept, smallest=1e-6)
    assert found is not None
    each = [one.double().numpy() for one in matrices]
    totals = torch.tensor([naive.geman(one, kept) for one in each], dtype=torch.float64)
    gradients = torch.from_numpy(np.stack([naive.geman_gradient(one, kept) for one in each]))
    torch.testing.assert_close(found[0].double(), totals, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found[1].double(), gradients, rtol=1e-3, atol=3e-5)


def test_penalties_of_odd_matrices(library: native.Library) -> None:
    n = 6
    orthogonal = torch.linalg.qr(torch.randn(n, n))[0]
    odd = {
        "zeros": (torch.zeros(n, n), 0.0),
        "one direction": (torch.full((n, n), 1 / n), 0.0),
        "equal singular values": (torch.eye(n), (n - 1) / 2),
        "the same, turned": (3 * orthogonal, (n - 1) * 3 / 4),
        "many sizes": (
            torch.diag(10.0 ** -torch.arange(n)),
            sum(1 / (1 + 10.0**i) for i in range(1, n)),
        ),
        "below what counts": (torch.diag(torch.tensor([1.0, *[1e-7] * (n - 1)])), 0.0),
    }
    together = torch.stack([matrix for matrix, _ in odd.values()])
    found = native.penalise(library, together, kept=1, smallest=1e-6)
    assert found is not None
    wanted = torch.tensor([total for _, total in odd.values()])
    torch.testing.assert_close(found[0], wanted, rtol=1e-5, atol=1e-6)
    assert found[1].isfinite().all()
    assert not found[1][0].any()
    # One of the equal singular values is spared, whichever; the others are pulled alike.
    pull = torch.linalg.svdvals(found[1][2])
    torch.testing.assert_close(pull, torch.tensor([0.25] * (n - 1) + [0.0]))
    nan = native.penalise(library, torch.full((1, n, n), torch.nan), kept=1, smallest=1e-6)
    assert nan is not None
    assert nan[0].isnan().all()


def test_many_directions_are_left_to_others(library: native.Library) -> None:
    wide = torch.eye(150)
    wide[100:] = 0
    assert native.penalise(library, wide[None], kept=1, smallest=1e-6) is not None
    both = torch.stack([wide, torch.eye(150)])
    assert native.penalise(library, both, kept=1, smallest=1e-6) is None
