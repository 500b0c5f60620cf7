from __future__ import annotations

import numpy as np
import pytest
import torch

from alora_ts.data.windows import plan_windows
from alora_ts.fast.engine import Engine, _chunk_size
from alora_ts.fast.forward import FoldedNetwork
from alora_ts.fast.overlap import SHARING
from alora_ts.fast.ring import Ring
from alora_ts.fast.scratch import Scratch
from tests import naive
from tests.fast.networks import SHAPES, build

D = 14
SHARED: dict[str, dict[str, object]] = {
    "default": {},
    "two layers": {"layers": 2},
    "four layers": {"layers": 4},
    "edge padding": {"padding": "edge"},
    "circular padding": {"padding": "circular"},
    "reflect padding": {"padding": "reflect"},
    "causal": {"causal": True},
    "no neighbours": {"kernel_width": 1},
    "wide kernel": {"kernel_width": 5},
    "heads do not divide the width": {"heads": 3, "embedded": 61},
    "window of two": {"window": 2},
}


def shared(kind: str) -> FoldedNetwork:
    how = {"heads": 2, **SHARED[kind]}
    network = build(D, int(how.pop("embedded", 60)), **how)  # type: ignore[call-overload]
    folded = FoldedNetwork(network)
    assert folded.overlap is not None
    return folded


@pytest.mark.parametrize("kind", SHARED)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 11])
def test_windows_in_a_row_get_what_each_gets_alone(kind: str, count: int) -> None:
    folded = shared(kind)
    assert folded.overlap is not None
    rows = torch.randn(folded.overlap.window + count - 1, D)
    together = folded.consecutive(rows, Scratch())
    alone = folded(rows.unfold(0, folded.overlap.window, 1).transpose(1, 2).contiguous())
    torch.testing.assert_close(together.expected, alone.expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(together.attention, alone.attention, rtol=1e-4, atol=1e-5)


def test_windows_in_a_row_equal_the_loops() -> None:
    network = build(D, 60, heads=2)
    rows = torch.randn(10, D)
    found = FoldedNetwork(network).consecutive(rows, Scratch())
    for number in range(4):
        reconstruction, attention = naive.forward(network, rows[number : number + 7].numpy())
        np.testing.assert_allclose(found.expected[number], reconstruction[-1], atol=1e-4)
        np.testing.assert_allclose(found.attention[number], attention, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_sharing_is_left_where_it_does_not_pay(shape: str) -> None:
    d, embedded, how = SHAPES[shape]
    folded = FoldedNetwork(build(d, embedded, **how))
    assert folded.overlap is None or d > int(how.get("window", 7))  # type: ignore[call-overload]


@pytest.mark.parametrize("segments", [[30], [9, 21], [3, 7, 2, 18], [1, 29]])
@pytest.mark.usefixtures("way")
def test_the_engine_shares_inside_segments_only(segments: list[int]) -> None:
    engine = Engine(build(D, 60, heads=2))
    values = np.random.default_rng(0).normal(size=(sum(segments), D)).astype(np.float32)
    borders = np.repeat(np.arange(len(segments)), segments)
    plan = plan_windows(len(values), 7, borders)
    found = [chunk.expected for chunk in engine.chunks(values, plan, lambda _: None)]
    alone = engine.last_rows(torch.from_numpy(plan.gather(values, slice(None)))).expected
    np.testing.assert_allclose(np.concatenate(found), alone, rtol=1e-4, atol=1e-4)


def test_chunks_that_use_the_same_memory_do_not_mix(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = build(D, 60, heads=2)
    values = np.random.default_rng(0).normal(size=(95, D)).astype(np.float32)
    plan = plan_windows(len(values), 7, None)
    alone = Engine(network).last_rows(torch.from_numpy(plan.gather(values, slice(None))))
    module = {"plain": "plain", "torch": "forward", "native": "compiled"}[way]
    monkeypatch.setattr(f"alora_ts.fast.{module}._ROWS_TOGETHER", 50)
    # All chunks are there before the first is looked at.
    chunks = list(Engine(network).chunks(values, plan, lambda _: None))
    assert len(chunks) > 4
    found = np.concatenate([chunk.expected for chunk in chunks])
    np.testing.assert_allclose(found, alone.expected, rtol=1e-4, atol=1e-4)
    found = torch.cat([chunk.attention for chunk in chunks])
    torch.testing.assert_close(found, alone.attention, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("windows", [0, 1, 2, 100, 126, 127, 2048, 23_681])
@pytest.mark.parametrize("at_once", [1, 12, 60, 126])
def test_chunks_are_of_one_size_and_end_together(windows: int, at_once: int) -> None:
    size = _chunk_size(windows, at_once)
    if windows <= at_once:
        assert size == max(1, windows)
        return
    assert size % SHARING == 0
    assert size < at_once + SHARING
    full = windows // size
    assert -(-windows // size) - full <= 1


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("d", "how"), [(D, {"heads": 2}), (3, {}), (3, {"positional": True})])
def test_a_ring_sees_the_window_that_ends_at_the_row(d: int, how: dict[str, object]) -> None:
    engine = Engine(build(d, 60, **how))
    ring = Ring(engine, window=7, variables=d)
    rows = np.random.default_rng(0).normal(size=(25, d)).astype(np.float32)
    for number, row in enumerate(rows):
        since = 0 if number < 12 else 12
        if number == since:
            ring.restart(row)
        else:
            ring.push(row)
        window = rows[np.maximum(np.arange(number - 6, number + 1), since)]
        np.testing.assert_array_equal(ring.rows, window)
        mine, plain = ring.look(), engine.last_rows(torch.from_numpy(window[None]))
        torch.testing.assert_close(mine.expected, plain.expected, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(mine.attention, plain.attention, rtol=1e-4, atol=1e-4)
