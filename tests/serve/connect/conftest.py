"""A broker for the tests of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.serve_programs import Broker, find_program

from tests.conftest import need_program


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    if find_program("mosquitto") is None:
        need_program("mosquitto")
    with Broker(tmp_path / "broker") as running:
        yield running
