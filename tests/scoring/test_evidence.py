from __future__ import annotations

import numpy as np
import pytest
import torch

from alora_ts.fast.engine import Engine
from alora_ts.fast.threads import use_threads
from alora_ts.progress import Step
from alora_ts.scoring import gather_evidence, walk
from tests import naive
from tests.fast.networks import build

BORDERS = {
    "one segment": [30],
    "several": [12, 9, 20],
    "short ones among them": [1, 12, 3, 6, 7, 8],
    "all short": [2, 1, 4],
    "one row": [1],
    "exactly one window": [7],
}


def quiet(_: Step) -> None:
    pass


@pytest.mark.parametrize("borders", BORDERS)
def test_evidence_equals_the_row_by_row_twin(borders: str) -> None:
    network = build(4, 20)
    segments = np.repeat(np.arange(len(BORDERS[borders])), BORDERS[borders])
    values = np.random.default_rng(0).normal(size=(len(segments), 4)).astype(np.float32)
    level = 0.05
    found = gather_evidence(
        Engine(network), values, segments, window=7, rank_level=level, report=quiet
    )
    np.testing.assert_array_equal(found.rows, np.arange(len(values)))
    expected, rank, warm_up = naive.evidence(network, values, segments, level)
    np.testing.assert_allclose(found.expected, expected, atol=1e-4)
    np.testing.assert_array_equal(found.rank, rank)
    np.testing.assert_array_equal(found.warm_up, warm_up)


def test_every_row_comes_once_and_progress_reaches_the_end() -> None:
    network = build(3, 20)
    segments = np.repeat([0, 1, 2], [700, 3, 40])
    values = np.random.default_rng(1).normal(size=(743, 3)).astype(np.float32)
    steps: list[Step] = []
    rows = [
        part.rows
        for part in walk(
            Engine(network), values, segments, window=7, rank_level=0.1, report=steps.append
        )
    ]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(743))
    assert steps[-1].done == steps[-1].total
    assert [step.done for step in steps] == sorted(step.done for step in steps)


def test_no_segments_is_one_segment() -> None:
    network = build(3, 20)
    values = np.random.default_rng(2).normal(size=(20, 3)).astype(np.float32)
    engine = Engine(network)
    one = gather_evidence(engine, values, None, window=7, rank_level=0.1, report=quiet)
    same = gather_evidence(
        engine, values, np.zeros(20, dtype=np.int64), window=7, rank_level=0.1, report=quiet
    )
    np.testing.assert_array_equal(one.expected, same.expected)
    np.testing.assert_array_equal(one.warm_up, same.warm_up)


def test_threads_do_not_change_a_bit() -> None:
    network = build(3, 20)
    values = np.random.default_rng(3).normal(size=(1200, 3)).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        with use_threads(threads):
            found.append(
                gather_evidence(
                    Engine(network), values, None, window=7, rank_level=0.1, report=quiet
                )
            )
            assert torch.get_num_threads() == threads
    for other in found[1:]:
        np.testing.assert_array_equal(other.expected, found[0].expected)
        np.testing.assert_array_equal(other.rank, found[0].rank)


def test_a_walk_may_be_left_early() -> None:
    network = build(3, 20)
    values = np.random.default_rng(4).normal(size=(1500, 3)).astype(np.float32)
    before = torch.get_num_threads()
    parts = walk(Engine(network), values, None, window=7, rank_level=0.1, report=quiet)
    next(parts)
    parts.close()
    assert torch.get_num_threads() == before
