from __future__ import annotations

import itertools
import multiprocessing
import sys
import threading
import time

import pytest
import torch

from alora_ts.fast.threads import side_by_side, submit, use_threads


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_blocks_may_end_in_any_order(order: tuple[int, ...]) -> None:
    before = torch.get_num_threads()
    blocks = [use_threads(count) for count in (1, 2, 3)]
    for block in blocks:
        block.__enter__()
    assert torch.get_num_threads() == 3
    for number in order:
        blocks[number].__exit__(None, None, None)
    assert torch.get_num_threads() == before


def test_an_error_inside_gives_the_threads_back() -> None:
    before = torch.get_num_threads()
    with pytest.raises(RuntimeError, match="inside"), use_threads(before + 1):
        raise RuntimeError("inside")
    assert torch.get_num_threads() == before


def test_none_leaves_them_as_they_are() -> None:
    before = torch.get_num_threads()
    with use_threads(None):
        assert torch.get_num_threads() == before


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    with use_threads(1):
        found = side_by_side(
            lambda wait: (time.sleep(wait), wait)[1], [0.03, 0.02, 0.0], threads=threads
        )
    assert found == [0.03, 0.02, 0.0]


def test_a_thread_that_is_done_takes_the_next_item() -> None:
    others_done = threading.Event()
    seen = []

    def work(item: int) -> int | None:
        if item == 0:
            assert others_done.wait(60)
        seen.append(item)
        if len(seen) == 3:
            others_done.set()
        return threading.get_native_id()

    with use_threads(1):
        slow, *others = side_by_side(work, range(4), threads=2)
    assert seen == [1, 2, 3, 0]
    assert slow not in others


def test_nothing_is_begun_after_a_failure() -> None:
    seen = []
    both = threading.Barrier(2)

    def work(item: int) -> None:
        both.wait()
        seen.append(item)
        if item == 0:
            raise RuntimeError("broken")
        time.sleep(0.1)

    with use_threads(1), pytest.raises(RuntimeError, match="broken"):
        side_by_side(work, range(4), threads=2)
    assert sorted(seen) == [0, 1]


@pytest.mark.parametrize("bad", [0, 1])
def test_nothing_is_still_running_when_one_fails(bad: int) -> None:
    done = []
    both = threading.Barrier(2)

    def work(item: int) -> None:
        both.wait()
        if item == bad:
            raise RuntimeError("broken")
        time.sleep(0.1)
        done.append(item)

    with use_threads(1), pytest.raises(RuntimeError, match="broken"):
        side_by_side(work, [0, 1], threads=2)
    assert done == [1 - bad]


def test_a_kept_thread_has_one_thread_for_torch_and_is_used_again() -> None:
    before = torch.get_num_threads()

    def look(_: None) -> tuple[int, int | None]:
        return torch.get_num_threads(), threading.get_native_id()

    with use_threads(1):
        (one, first), (two, second) = (submit(look, None, threads=1).result() for _ in range(2))
    assert one == two == 1
    assert first == second
    assert torch.get_num_threads() == before


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    with use_threads(1):
        side_by_side(abs, [1, 2], threads=2)
    child = multiprocessing.get_context("fork").Process(target=_work_in_child)
    child.start()
    child.join(60)
    assert child.exitcode == 0


def _work_in_child() -> None:
    assert side_by_side(abs, [-1, -2], threads=2) == [1, 2]
