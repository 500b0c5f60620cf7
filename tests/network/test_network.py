"""The forward pass, the embedding and the pairs, each against a plain twin."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from alora_ts.network import ALoRaT, Architecture, choose_pairs, low_rank_penalty
from alora_ts.network.embedding import DenseEmbedding, PairEmbedding
from alora_ts.network.pairs import correlations
from tests import naive


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("padding", ["circular", "edge"])
@pytest.mark.parametrize("kernel", ["average", "learned"])
def test_forward_equals_the_equations_written_out(heads: int, padding: str, kernel: str) -> None:
    torch.manual_seed(1)
    pairs = torch.combinations(torch.arange(5))
    how = Architecture(layers=2, heads=heads, padding=padding, kernel=kernel)
    network = ALoRaT(pairs, variables=5, window=6, architecture=how).double()
    window = torch.randn(1, 6, 5, dtype=torch.float64)
    expected, attention = naive.forward(network, window[0].numpy())
    encoding = network(window, per_head=True)
    np.testing.assert_allclose(encoding.reconstruction[0].detach(), expected, atol=1e-10)
    np.testing.assert_allclose(encoding.attention[-1][0].detach(), attention, atol=1e-10)
    assert encoding.heads is not None
    torch.testing.assert_close(encoding.heads[0].mean(1), encoding.attention[0])


@pytest.mark.parametrize(
    "change",
    [
        {"positional": True},
        {"time_norm": True},
        {"activation": "relu"},
        {"activation": "gelu", "feed_forward": True},
        {"embedding": "dense"},
        {"causal": True},
        {"skip": False},
        {"window": 1},
        {"layers": 1, "heads": 1},
        {"heads": 64},
    ],
    ids=str,
)
def test_every_switch_trains_a_step(change: dict[str, Any]) -> None:
    torch.manual_seed(0)
    shape = {"window": 8, **change}
    rows = shape.pop("window")
    how = replace(Architecture(heads=2), **shape)
    pairs = torch.combinations(torch.arange(4))
    network = ALoRaT(pairs, variables=4, window=rows, architecture=how)
    window = torch.randn(3, rows, 4)
    encoding = network(window)
    assert encoding.reconstruction.shape == window.shape
    for attention in encoding.attention:
        torch.testing.assert_close(attention.sum(-1), torch.ones(3, rows))
    loss = encoding.reconstruction.square().mean() + low_rank_penalty(encoding.attention[-1]).mean()
    loss.backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_causal_attention_sees_no_later_step() -> None:
    network = ALoRaT(
        torch.combinations(torch.arange(3)),
        variables=3,
        window=5,
        architecture=Architecture(heads=1, causal=True),
    )
    assert (network(torch.randn(2, 5, 3)).attention[0].triu(1) == 0).all()


@pytest.mark.parametrize(
    ("d", "expected"), [(10, 90), (20, 380), (40, 1024), (50, 1024), (100, 1024), (200, 1024)]
)
def test_embedding_weights_count_as_in_the_papers_table(d: int, expected: int) -> None:
    pairs = choose_pairs(
        np.random.default_rng(0).normal(size=(30, d)), limit=512, correlation="spearman"
    )
    embedding = PairEmbedding(
        torch.from_numpy(pairs), variables=d, kernel="average", width=3, padding="circular"
    )
    assert embedding.weight.numel() == expected
    dense = DenseEmbedding(variables=d, embedded=512, width=3, padding="circular")
    assert dense.weight.numel() == d * 512 * 3


def test_the_full_size_network_has_the_papers_parameter_count() -> None:
    pairs = torch.from_numpy(
        choose_pairs(
            np.random.default_rng(0).normal(size=(50, 38)), limit=512, correlation="spearman"
        )
    )
    network = ALoRaT(pairs, variables=38, window=20, architecture=Architecture.paper())
    assert round(sum(p.numel() for p in network.parameters()) / 1e6, 1) == 3.2


table = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(2, 5)),
    elements=st.sampled_from([-2.0, 0.0, 0.5, 1.0, 3.0, 1e6]),
)


@settings(max_examples=60, deadline=None)
@given(table)
def test_spearman_equals_scipy_where_it_is_defined(values: np.ndarray) -> None:
    ours = correlations(values, kind="spearman")
    for i in range(values.shape[1]):
        for j in range(values.shape[1]):
            if np.ptp(values[:, i]) == 0 or np.ptp(values[:, j]) == 0:
                assert ours[i, j] == 0
            else:
                theirs = stats.spearmanr(values[:, i], values[:, j]).statistic
                assert ours[i, j] == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(table, st.integers(1, 10))
def test_pairs_equal_the_obvious_choice(values: np.ndarray, limit: int) -> None:
    chosen = choose_pairs(values, limit=limit, correlation="spearman")
    expected = naive.pairs(values, limit)
    np.testing.assert_array_equal(chosen[: len(expected)], expected)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_few_variables_still_get_a_workable_width(d: int) -> None:
    pairs = choose_pairs(
        np.random.default_rng(0).normal(size=(40, d)), limit=512, correlation="spearman"
    )
    assert len(pairs) >= 15
    network = ALoRaT(torch.from_numpy(pairs), variables=d, window=5, architecture=Architecture())
    assert network(torch.randn(2, 5, d)).reconstruction.isfinite().all()


def test_pearson_and_all_pairs() -> None:
    x = np.random.default_rng(0).normal(size=(200, 40))
    np.testing.assert_allclose(
        correlations(x, kind="pearson"), np.corrcoef(x, rowvar=False), atol=1e-12
    )
    assert len(choose_pairs(x, limit=None, correlation="spearman")) == 40 * 39 // 2


def test_more_variables_than_rows() -> None:
    assert (
        len(
            choose_pairs(
                np.random.default_rng(0).normal(size=(3, 60)), limit=512, correlation="spearman"
            )
        )
        == 512
    )


def test_penalty_gradient_is_exact() -> None:
    matrices = torch.rand(2, 5, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda m: low_rank_penalty(m.softmax(-1)), (matrices,))
    assert torch.autograd.gradcheck(lambda m: low_rank_penalty(m, kept=2), (matrices,))


@pytest.mark.parametrize(
    "matrix",
    [
        torch.zeros(4, 4),
        torch.eye(4),
        torch.full((4, 4), 0.25),
        torch.diag(torch.tensor([1.0, 1, 0, 0])),
    ],
    ids=["zero", "identity", "rank one", "repeated and zero"],
)
def test_penalty_gradient_is_finite_at_repeated_and_zero_singular_values(
    matrix: torch.Tensor,
) -> None:
    matrix = matrix.clone().requires_grad_()
    low_rank_penalty(matrix).backward()
    assert matrix.grad is not None
    assert matrix.grad.isfinite().all()
    assert matrix.grad.norm() <= math.sqrt(4) + 1e-6


def test_penalty_equals_the_formula() -> None:
    matrices = torch.rand(6, 7, 7, dtype=torch.float64).softmax(-1)
    np.testing.assert_allclose(
        low_rank_penalty(matrices), [naive.geman(m.numpy(), 1) for m in matrices], rtol=1e-12
    )


def test_kernel_width_must_be_odd() -> None:
    with pytest.raises(ValueError, match="odd"):
        PairEmbedding(
            torch.tensor([[0, 1]]), variables=2, kernel="average", width=4, padding="edge"
        )
