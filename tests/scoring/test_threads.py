from __future__ import annotations

import itertools

import pytest
import torch

from alora_ts.threads import use_threads


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
