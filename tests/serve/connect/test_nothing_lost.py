"""The small version of benchmarks/serve_nothing_lost.py: crashes lose and repeat nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.serve_nothing_lost import prove, table
from benchmarks.serve_programs import find_program

from tests.conftest import need_program


@pytest.mark.slow
def test_nothing_is_lost_or_repeated(tmp_path: Path) -> None:
    if find_program("mosquitto") is None:
        need_program("mosquitto")
    proof = prove(tmp_path, rows=3000, kills=2, restarts=1)
    assert all(outcome.holds for outcome in proof.outcomes), table(proof)
    assert proof.refused == ()
