"""The shared attention layer against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from alora_ts.baselines.parts.attention import PostNormLayer, SelfAttention


def test_self_attention_equals_torch_multihead() -> None:
    torch.manual_seed(0)
    ours = SelfAttention(6, inner=6, heads=2)
    theirs = nn.MultiheadAttention(6, 2, batch_first=True)
    with torch.no_grad():
        stacked = [ours.query, ours.key, ours.value]
        theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in stacked]))
        theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in stacked]))
        theirs.out_proj.weight.copy_(ours.out.weight)
        theirs.out_proj.bias.copy_(ours.out.bias)
    tokens = torch.randn(3, 5, 6)
    expected, expected_weights = theirs(tokens, tokens, tokens, average_attn_weights=False)
    mixed, weights = ours(tokens)
    torch.testing.assert_close(mixed, expected)
    torch.testing.assert_close(weights, expected_weights)


def test_inner_width_is_free() -> None:
    mixed, weights = SelfAttention(5, inner=8, heads=4)(torch.randn(2, 3, 5))
    assert mixed.shape == (2, 3, 5)
    assert weights.shape == (2, 4, 3, 3)


def test_layer_output_is_normalised() -> None:
    layer = PostNormLayer(8, inner=8, heads=2, feed_forward=16, dropout=0.0)
    out, _ = layer(torch.randn(2, 3, 8) * 10)
    torch.testing.assert_close(out.mean(-1), torch.zeros(2, 3), atol=1e-5, rtol=0)


def test_inner_width_must_divide() -> None:
    with pytest.raises(ValueError, match="multiple"):
        SelfAttention(5, inner=7, heads=2)
