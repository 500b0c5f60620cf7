from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch

from alora_ts.scoring.engine import Engine
from alora_ts.scoring.folded import FoldedNetwork
from alora_ts.scoring.ring import Ring
from alora_ts.scoring.runtime import Runtime
from tests import naive
from tests.scoring.networks import NOT_FOLDED, ODD, SHAPES, build, odd_windows

pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 5])
def test_runtime_equals_the_networks_own_pass(shape: str, count: int) -> None:
    d, embedded, how = SHAPES[shape]
    network = build(d, embedded, **how)
    windows = torch.randn(count, network.architecture.window, d)
    found = Runtime(FoldedNetwork(network), d)(windows)
    with torch.no_grad():
        encoding = network(windows)
    torch.testing.assert_close(found.expected, encoding.reconstruction[:, -1], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found.attention, encoding.attention[-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", ["default", "learned lags", "one layer", "five layers"])
def test_runtime_equals_the_loops(shape: str) -> None:
    d, embedded, how = SHAPES[shape]
    network = build(d, embedded, **how)
    window = torch.randn(1, network.architecture.window, d)
    found = Runtime(FoldedNetwork(network), d)(window)
    reconstruction, attention = naive.forward(network, window[0].numpy())
    np.testing.assert_allclose(found.expected[0], reconstruction[-1], atol=1e-4)
    np.testing.assert_allclose(found.attention[0], attention, atol=1e-5)


@pytest.mark.parametrize("kind", ODD)
def test_odd_windows(kind: str) -> None:
    network = build(6, 40)
    windows = odd_windows(kind)
    folded = FoldedNetwork(network)
    found, torchs = Runtime(folded, 6)(windows), folded(windows)
    size = float(windows.abs().max()) + 1
    torch.testing.assert_close(found.expected, torchs.expected, rtol=1e-4, atol=1e-4 * size)
    torch.testing.assert_close(found.attention, torchs.attention, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", NOT_FOLDED)
def test_other_kinds_run_as_they_are(kind: str) -> None:
    network = build(5, 30, **NOT_FOLDED[kind])
    assert Engine(network).runtime is None


def test_an_engine_without_the_runtime_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    network = build(14, 60, heads=2)
    rows = np.random.default_rng(0).normal(size=(9, 14)).astype(np.float32)
    looks = []
    for installed in (True, False):
        monkeypatch.setattr(
            Runtime, "installed", staticmethod(lambda installed=installed: installed)
        )
        engine = Engine(network)
        assert (engine.runtime is not None) == installed
        ring = Ring(engine, window=7, variables=14)
        ring.extend(rows)
        looks.append(ring.look())
    for mine, plain in zip(*looks, strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_used_engine_can_be_copied(again: Callable[[Engine], Engine]) -> None:
    engine = Engine(build(6, 40))
    window = torch.randn(1, 7, 6)
    wanted = engine.last_rows(window)
    for mine, first in zip(again(engine).last_rows(window), wanted, strict=True):
        torch.testing.assert_close(mine, first, rtol=0, atol=0)


def test_many_threads_may_ask_at_once() -> None:
    runtime = Runtime(FoldedNetwork(build(6, 40)), 6)
    windows = torch.randn(8, 7, 6)
    wanted = [runtime(one[None]).expected for one in windows]
    found: dict[int, torch.Tensor] = {}

    def ask(number: int) -> None:
        for _ in range(50):
            found[number] = runtime(windows[number : number + 1]).expected

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, expected in enumerate(wanted):
        torch.testing.assert_close(found[number], expected, rtol=0, atol=0)
