"""A small version of ``python -m benchmarks.serve_workers soak``."""

from __future__ import annotations

import argparse

import pytest
from benchmarks.serve_postgres import postgres_program
from benchmarks.serve_programs import find_program
from benchmarks.serve_workers_soak import soak

from tests.conftest import need_program
from tests.forked import begin


@pytest.mark.slow
def test_rows_by_three_ways_are_scored_and_told_once_through_kills_and_restarts() -> None:
    """HTTP, MQTT and Kafka; three workers, three kills, two restarts of PostgreSQL."""
    if find_program("mosquitto") is None:
        need_program("mosquitto")
    try:
        postgres_program("initdb")
    except FileNotFoundError:
        need_program("initdb")
    found = soak(argparse.Namespace(rows=4800, sources=6, kills=3, pause=0.05, seed=0), begin=begin)
    assert found["sources by MQTT, Kafka, HTTP"] == "2, 2, 2"
    assert (found["workers killed"], found["database restarts"]) == (3, 2)
    assert found["rows stored"] == found["rows sent"] == 4800
    assert found["sources with a row or score missing or too many"] == 0
    assert float(found["largest relative difference of a score to a batch with one thread"]) < 1e-6
    assert found["Kafka messages not committed at the end"] == 0
    assert found["incidents"] > 0
    assert found["incidents that nobody was told of"] == 0
    assert found["incidents told by two messages"] == 0
