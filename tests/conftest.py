"""Where tests find real data and outside programs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine may take any time for one example; that is no finding.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Tests use tiny tensors, for which a second thread costs more than it brings, above all on a busy
# machine. Must be set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

REPOSITORY = Path(__file__).resolve().parents[1]

# Here tests talk to browsers, brokers, databases and processes of their own in real time, and a
# machine that stands still for a while can break any of them. They get a second and a third try,
# which the summary names; what is wrong fails three times.
REAL_TIME = tuple(REPOSITORY / "tests" / name for name in ("bench", "cli", "fleet", "serve"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in REAL_TIME):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=2))


def data_root() -> Path | None:
    """The folder with SMD/, ASD/, MSL/: ALORA_TS_DATA, or ../shared/data beside the repository."""
    named = os.environ.get("ALORA_TS_DATA")
    root = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    return root if root.is_dir() else None


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
