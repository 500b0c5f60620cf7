"""Small versions of serve_nothing_lost.py and serve_kafka.py, and the numbers of serve_load.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks import serve_kafka
from benchmarks.serve_load import growth, quantiles
from benchmarks.serve_nothing_lost import prove, table
from benchmarks.serve_programs import find_program

from tests.conftest import need_program
from tests.forked import begin


@pytest.mark.slow
def test_nothing_is_lost_or_repeated(tmp_path: Path) -> None:
    if find_program("mosquitto") is None:
        need_program("mosquitto")
    proof = prove(tmp_path, rows=1500, kills=1, restarts=1, begin=begin)
    assert all(outcome.holds for outcome in proof.outcomes), table(proof)
    assert proof.refused == ()


@pytest.mark.slow
def test_nothing_is_lost_or_repeated_through_kafka(tmp_path: Path) -> None:
    proof = serve_kafka.prove(tmp_path, rows=1500, sources=3, kills=1, begin=begin)
    assert proof.holds, serve_kafka.table(proof)


def test_quantiles_of_a_histogram_are_those_of_the_values_within_a_bucket() -> None:
    values = np.random.default_rng(0).gamma(2.0, 0.05, size=5000)
    edges = [*np.arange(0.01, 1.0, 0.01).round(2), np.inf]

    def counted(some: np.ndarray) -> dict[str, float]:
        label = '{{source="p",le="{}"}}'
        return {
            label.format("+Inf" if edge == np.inf else edge): float((some <= edge).sum())
            for edge in edges
        }

    before = counted(values[:1000])
    found = quantiles(before, counted(values))
    for share in (0.5, 0.99):
        assert found[share] == pytest.approx(np.quantile(values[1000:], share), abs=0.01)


@pytest.mark.parametrize(
    ("memory", "grown"),
    [([50, 100, 100, 100, 100], 0.0), ([50, 100, 105, 120, 110], 0.2), ([90, 80, 70, 60, 50], 0.0)],
)
def test_memory_counts_after_the_first_fifth(memory: list[float], grown: float) -> None:
    samples = [(20.0 * at, each) for at, each in enumerate(memory)] + [(100.0, memory[-1])]
    assert growth(samples) == pytest.approx(grown)
