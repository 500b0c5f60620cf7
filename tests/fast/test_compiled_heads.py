"""Heads in kernels give what heads in torch give."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from alora_ts.fast import native
from alora_ts.fast.attention import Heads, SharedHeads
from alora_ts.fast.compiled_heads import CompiledHeads, CompiledSharedHeads
from alora_ts.fast.scratch import Scratch
from alora_ts.learning import Training
from alora_ts.learning.descent import Descent
from tests.fast.networks import SHAPES, build

pytestmark = pytest.mark.skipif(
    native.installed() is None, reason="installed without compiled kernels"
)


@pytest.fixture(params=native.usable())
def library(request: pytest.FixtureRequest) -> native.Library:
    torch.manual_seed(0)
    return native.Library(request.param)


@pytest.mark.parametrize("per_head", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("summed", [False, True])
def test_heads(library: native.Library, *, summed: bool, causal: bool, per_head: bool) -> None:
    ours = CompiledHeads(library, 3, 5, summed=summed, causal=causal, scratch=Scratch())
    plain = Heads(3, 5, summed=summed, causal=causal, scratch=Scratch())
    for count in (4, 2):  # the second pass finds the first one's numbers
        joint, width = torch.randn(count, 9, 30 + (3 + summed) * 4), 4 if summed else 12
        of_mixed = torch.randn(count, 9, width)
        of_matrices = torch.randn(count, 3, 9, 9) if per_head else torch.randn(count, 9, 9)
        results = []
        for heads in (ours, plain):
            given, mixed = joint.clone(), torch.full((count, 9, width), torch.nan)
            found = heads.forward(given, mixed)
            seen = [mixed, found.heads.clone(), found.mean.clone()]
            heads.backward(of_mixed, of_matrices, given)  # in the place of what was given
            results.append([*seen, given])
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_shared_heads(library: native.Library, *, causal: bool) -> None:
    left, u = torch.randn(2, 7 * 3, 5), torch.randn(2, 7, 5)
    of_mixed, of_mean = torch.randn_like(left), torch.randn(2, 7, 7)
    results: list[list[Tensor]] = []
    for heads in (
        CompiledSharedHeads(library, causal=causal, scratch=Scratch()),
        SharedHeads(causal=causal, scratch=Scratch()),
    ):
        given, mixed = left.clone(), torch.full_like(left, torch.nan)
        found = heads.forward(given, u, mixed)
        seen = [mixed, found.heads.clone(), found.mean.clone()]
        heads.backward(of_mixed, of_mean, given)
        results.append([*seen, given])
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_gradient_with_and_without_kernels(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    d, embedded, how = SHAPES[shape]
    torch.manual_seed(0)
    results = []
    windows = torch.randn(5, build(d, embedded, **how).window, d)
    for kernels in (native.installed(), None):
        monkeypatch.setattr(native.library, "installed", lambda kernels=kernels: kernels)
        network = build(d, embedded, **how)
        loss = Descent()(network, windows, Training())
        gradients = {name: each.grad for name, each in network.named_parameters()}
        results.append((loss.total.detach(), gradients))
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-4)
