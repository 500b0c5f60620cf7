"""Where tests find real data and outside programs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.parallel import Scheduling, long_first

# A busy machine may take any time for one example; that is no finding. CI sees the same examples
# each time, so that a change is judged by what it changed; everywhere else new ones are tried.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("patient")

# Tests use tiny tensors, for which a second thread costs more than it brings, above all on a busy
# machine. Must be set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

REPOSITORY = Path(__file__).resolve().parents[1]

# A plugin that hides parts of the system as soon as it is imported, as for doctests.
collect_ignore = ["without_posix.py"]


def data_root() -> Path | None:
    """The folder with SMD/, ASD/, MSL/: ALORA_TS_DATA, or ../shared/data beside the repository."""
    named = os.environ.get("ALORA_TS_DATA")
    root = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    return root if root.is_dir() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what is long, where workers share the tests."""
    if hasattr(config, "workerinput"):
        items[:] = long_first(items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Keep tests together that share fixtures."""
    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture(scope="session")
def real_data() -> Path:
    root = data_root()
    if root is None:
        pytest.skip("real datasets are absent: set ALORA_TS_DATA to a folder with SMD/, ASD/, MSL/")
    return root


def need_program(name: str) -> str:
    """The path of a system program; skip without it, or fail where CI promised it."""
    path = shutil.which(name)
    if path is None:
        message = f"the program {name!r} is not installed"
        if os.environ.get("ALORA_TS_REQUIRE_SERVICES") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return path
