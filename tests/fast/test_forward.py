from __future__ import annotations

import numpy as np
import pytest
import torch

from alora_ts.fast.engine import Engine
from alora_ts.fast.forward import FoldedNetwork
from tests import naive
from tests.fast.networks import NOT_FOLDED, ODD, SHAPES, build, odd_windows


@pytest.mark.parametrize("shape", SHAPES)
def test_folded_pass_equals_the_networks_own(shape: str) -> None:
    d, embedded, how = SHAPES[shape]
    network = build(d, embedded, **how)
    assert FoldedNetwork.fits(network)
    windows = torch.randn(5, network.window, d)
    folded = FoldedNetwork(network)(windows)
    with torch.no_grad():
        encoding = network(windows)
    torch.testing.assert_close(
        folded.expected, encoding.reconstruction[:, -1], rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(folded.attention, encoding.attention[-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "shape",
    [
        "default",
        "learned lags",
        "edge padding",
        "reflect padding",
        "reflect padding, wide kernel",
        "reflect padding, window of two",
        "circular padding",
        "one layer",
    ],
)
def test_folded_pass_equals_the_loops(shape: str) -> None:
    d, embedded, how = SHAPES[shape]
    network = build(d, embedded, **how)
    windows = torch.randn(3, network.window, d)
    folded = FoldedNetwork(network)(windows)
    for number, window in enumerate(windows.numpy()):
        reconstruction, attention = naive.forward(network, window)
        np.testing.assert_allclose(folded.expected[number], reconstruction[-1], atol=1e-4)
        np.testing.assert_allclose(folded.attention[number], attention, atol=1e-5)


@pytest.mark.parametrize("kind", ODD)
def test_odd_windows(kind: str) -> None:
    network = build(6, 40)
    windows = odd_windows(kind)
    folded = FoldedNetwork(network)(windows)
    with torch.no_grad():
        encoding = network(windows)
    assert folded.expected.isfinite().all()
    if kind != "huge":  # there attention is a choice of single rows, and rounding may choose
        torch.testing.assert_close(
            folded.expected, encoding.reconstruction[:, -1], rtol=1e-4, atol=1e-4
        )
    torch.testing.assert_close(folded.attention.sum(-1), torch.ones(windows.shape[:2]))


@pytest.mark.parametrize("kind", NOT_FOLDED)
def test_other_networks_run_as_they_are(kind: str) -> None:
    network = build(5, 30, **NOT_FOLDED[kind])
    assert not FoldedNetwork.fits(network)
    windows = torch.randn(3, 7, 5)
    last = Engine(network).last_rows(windows)
    with torch.no_grad():
        encoding = network(windows)
    torch.testing.assert_close(last.expected, encoding.reconstruction[:, -1])
    torch.testing.assert_close(last.attention, encoding.attention[-1])
