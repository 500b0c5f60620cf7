"""One small model for all tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.invoke import QUICK, faulty, invoke, plant


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with normal.csv, today.csv and plant.alora; nobody writes into it."""
    folder = tmp_path_factory.mktemp("made")
    plant(500).write_csv(folder / "normal.csv")
    faulty().write_csv(folder / "today.csv")
    outcome = invoke("fit", folder / "normal.csv", "-o", folder / "plant.alora", *QUICK, "-q")
    assert outcome.code == 0, outcome.err
    assert outcome.out == ""
    return folder
