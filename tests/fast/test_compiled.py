from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable

import pytest
import torch

from alora_ts.fast import native
from alora_ts.fast.compiled import CompiledNetwork, CompiledWorker
from alora_ts.fast.engine import Engine
from alora_ts.fast.forward import FoldedNetwork
from tests.fast.networks import NOT_FOLDED, SHAPES, build

pytestmark = pytest.mark.skipif(
    native.installed() is None, reason="installed without compiled kernels"
)


def worker(folded: FoldedNetwork, instructions: str | None = None) -> CompiledWorker:
    kernels = native.Library(instructions or native.usable()[-1])
    return CompiledWorker(CompiledNetwork(folded, kernels))


@pytest.mark.parametrize("instructions", native.usable())
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 5])
def test_kernels_equal_the_networks_own_pass(shape: str, count: int, instructions: str) -> None:
    d, embedded, how = SHAPES[shape]
    network = build(d, embedded, **how)
    rows = torch.randn(network.window + count - 1, d)
    windows = rows.unfold(0, network.window, 1).transpose(1, 2).contiguous()
    with torch.no_grad():
        encoding = network(windows)
    ours = worker(FoldedNetwork(network), instructions)
    for found in (ours.windows(windows), ours.in_a_row(rows)):
        torch.testing.assert_close(
            found.expected, encoding.reconstruction[:, -1], rtol=1e-4, atol=1e-4
        )
        torch.testing.assert_close(found.attention, encoding.attention[-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("instructions", native.usable())
@pytest.mark.parametrize("how", [{}, {"layers": 2}, {"layers": 4}, {"causal": True}, {"heads": 3}])
@pytest.mark.parametrize("count", [1, 2, 33])
def test_windows_in_a_row_get_what_each_gets_alone(
    how: dict[str, object], count: int, instructions: str
) -> None:
    folded = FoldedNetwork(build(14, 61, **{"heads": 2, **how}))
    assert folded.overlap is not None
    rows = torch.randn(6 + count, 14)
    together = worker(folded, instructions).in_a_row(rows)
    alone = folded(rows.unfold(0, 7, 1).transpose(1, 2).contiguous())
    torch.testing.assert_close(together.expected, alone.expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(together.attention, alone.attention, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", NOT_FOLDED)
def test_other_kinds_run_as_they_are(kind: str) -> None:
    network = build(5, 30, **NOT_FOLDED[kind])
    assert Engine(network).compiled is None


@pytest.mark.parametrize("again", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_used_engine_can_be_copied(again: Callable[[Engine], Engine]) -> None:
    engine = Engine(build(6, 40))
    window = torch.randn(1, 7, 6)
    wanted = engine.last_rows(window)
    found = again(engine).last_rows(window)
    torch.testing.assert_close(found.expected, wanted.expected, rtol=0, atol=0)
    torch.testing.assert_close(found.attention, wanted.attention, rtol=0, atol=0)


def test_what_a_worker_gave_stays_when_it_goes_on() -> None:
    ours = worker(FoldedNetwork(build(6, 40)))
    first, second = torch.randn(2, 1, 7, 6)
    given = ours.windows(first)
    before = given.expected.clone(), given.attention.clone()
    ours.windows(second)
    torch.testing.assert_close((given.expected, given.attention), before, rtol=0, atol=0)


def test_a_worker_meets_any_number_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alora_ts.fast.compiled._ROWS_TOGETHER", 70)
    network = build(6, 40)
    ours = worker(FoldedNetwork(network))
    for count in (1, 10, 11, 3, 25, 2, 10):
        windows = torch.randn(count, 7, 6)
        with torch.no_grad():
            wanted = network(windows).reconstruction[:, -1]
        torch.testing.assert_close(ours.windows(windows).expected, wanted, rtol=1e-4, atol=1e-4)


def test_many_threads_may_use_a_network_at_once() -> None:
    network = CompiledNetwork(FoldedNetwork(build(6, 40)), native.Library(native.usable()[-1]))
    windows = torch.randn(8, 7, 6)
    wanted = [CompiledWorker(network).windows(one[None]).expected for one in windows]
    found: dict[int, torch.Tensor] = {}

    def ask(number: int) -> None:
        own = CompiledWorker(network)
        for _ in range(50):
            found[number] = own.windows(windows[number : number + 1]).expected

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, expected in enumerate(wanted):
        torch.testing.assert_close(found[number], expected, rtol=0, atol=0)
