"""By each way, for each shape of network: a table, a stream and a gradient as the network says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from alora_ts import fast
from alora_ts.data.windows import plan_windows
from alora_ts.errors import AloraError
from alora_ts.fast.engine import Engine
from alora_ts.fast.native import library
from alora_ts.fast.rank import count_rank
from alora_ts.fast.ring import Ring
from alora_ts.learning import Training
from alora_ts.learning.descent import descend
from alora_ts.network import ALoRaT
from tests import naive
from tests.fast.networks import NARROW, NOT_FOLDED, ODD, SHAPES, build, odd_windows
from tests.fast.plain_steps import gradients, plain_loss

EVERY = {
    **SHAPES,
    **{f"narrow ends: {name}": shape for name, shape in NARROW.items()},
    **{name: (3, 60, {"heads": 4, **how}) for name, how in NOT_FOLDED.items()},
}


def made(shape: str) -> tuple[ALoRaT, np.ndarray, Tensor]:
    """A network, rows, and all windows of the rows."""
    d, embedded, how = EVERY[shape]
    network = build(d, embedded, **how)
    window = network.window
    rows = np.random.default_rng(0).normal(size=(window + 8, d)).astype(np.float32)
    windows = torch.from_numpy(rows).unfold(0, window, 1).transpose(1, 2).contiguous()
    return network, rows, windows


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", EVERY)
def test_a_table(shape: str) -> None:
    network, rows, windows = made(shape)
    with torch.no_grad():
        encoding = network(windows)
    level = float(np.quantile(np.linalg.svd(encoding.attention[-1].numpy())[1], 0.4)) * 1.01
    engine, plan = Engine(network), plan_windows(len(rows), windows.shape[1], None)
    chunks = list(engine.chunks(rows, plan, lambda _: None, rank_level=level))
    expected = np.concatenate([each.expected for each in chunks])
    np.testing.assert_allclose(expected, encoding.reconstruction[:, -1], rtol=1e-4, atol=1e-4)
    attention = torch.cat([each.attention for each in chunks])
    torch.testing.assert_close(attention, encoding.attention[-1], rtol=1e-4, atol=1e-5)
    ranks = np.concatenate([each.rank for each in chunks if each.rank is not None])
    np.testing.assert_array_equal(ranks, [naive.rank(each.numpy(), level) for each in attention])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", EVERY)
def test_a_stream(shape: str) -> None:
    network, rows, windows = made(shape)
    steps = windows.shape[1]
    ring = Ring(Engine(network), window=steps, variables=windows.shape[2])
    ring.extend(rows[: steps - 1])
    for row, window in zip(rows[steps - 1 :], windows, strict=True):
        ring.push(row)
        found = ring.look()
        with torch.no_grad():
            encoding = network(window[None])
        wanted = encoding.reconstruction[:, -1]
        torch.testing.assert_close(found.expected, wanted, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(found.attention, encoding.attention[-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("placement", ["mean", "heads"])
@pytest.mark.parametrize("shape", EVERY)
def test_a_gradient(way: fast.Way, shape: str, placement: str) -> None:
    network, _, windows = made(shape)
    options = Training(low_rank_weight=0.5, placement=placement)  # type: ignore[arg-type]
    # Kernels take single precision; what rounding is shows in double precision.
    kind = torch.float32 if way == "native" else torch.float64
    network, windows = network.to(kind), windows.to(kind)
    loss = descend(network, windows, options)
    ours = gradients(network)
    network.zero_grad()
    plain = plain_loss(network, windows, options)
    plain.total.backward()
    rtol, atol = (1e-3, 1e-4) if way == "native" else (1e-6, 1e-9)
    for name in ("total", "error", "penalty", "squares"):
        wanted = getattr(plain, name).detach()
        torch.testing.assert_close(getattr(loss, name), wanted, rtol=rtol, atol=atol)
    torch.testing.assert_close(ours, gradients(network), rtol=rtol, atol=atol)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", ["default", "learned lags", "one layer", "five layers"])
def test_the_loops(shape: str) -> None:
    network, _, windows = made(shape)
    found = Engine(network).last_rows(windows)
    for number, window in enumerate(windows.numpy()):
        reconstruction, attention = naive.forward(network, window)
        np.testing.assert_allclose(found.expected[number], reconstruction[-1], atol=1e-4)
        np.testing.assert_allclose(found.attention[number], attention, atol=1e-5)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ODD)
def test_odd_windows(kind: str) -> None:
    network, windows = build(6, 40), odd_windows(kind)
    found = Engine(network).last_rows(windows)
    with torch.no_grad():
        encoding = network(windows)
    assert found.expected.isfinite().all()
    if kind != "huge":  # there attention is a choice of single rows, and rounding may choose
        wanted = encoding.reconstruction[:, -1]
        torch.testing.assert_close(found.expected, wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found.attention.sum(-1), torch.ones(windows.shape[:2]))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_loss_that_is_not_finite_leaves_no_gradient(bad: float) -> None:
    network = build(3, 60, heads=4, window=20)
    windows = torch.randn(32, 20, 3)
    descend(network, windows, Training())  # leaves one, which must not stay
    windows[20, 0, 0] = bad
    loss = descend(network, windows, Training())
    assert not torch.isfinite(loss.total)
    assert all(parameter.grad is None for parameter in network.parameters())


def test_the_way_without_a_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALORA_TS_FAST", raising=False)
    assert fast.way() == ("torch" if library.installed() is None else "native")
    monkeypatch.setattr(library, "installed", lambda: None)
    assert fast.way() == "torch"


def test_ways_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALORA_TS_FAST", "natve")
    with pytest.raises(AloraError, match="ALORA_TS_FAST='natve'; did you mean 'native'"):
        count_rank(torch.eye(3)[None], 0.5)
    monkeypatch.setenv("ALORA_TS_FAST", "native")
    monkeypatch.setattr(library, "installed", lambda: None)
    monkeypatch.setattr(library, "missing", lambda: "there are no kernels")
    with pytest.raises(AloraError, match=r"there are no kernels.*ALORA_TS_FAST=torch"):
        fast.way()
