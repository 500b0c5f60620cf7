"""Everything but the service imports and works without what only POSIX systems have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

_IMPORT_ALL = """
import pkgutil
from importlib import import_module
import alora_ts
for module in pkgutil.walk_packages(alora_ts.__path__, "alora_ts."):
    # The kernels are a library that is no Python module.
    if not module.name.startswith(("alora_ts.serve.", "alora_ts.fast.native.kernels")):
        import_module(module.name)
        print(module.name)
"""

_USE = """
import sys
from pathlib import Path
import numpy as np
from alora_ts import ALoRa, Architecture, load
from alora_ts.bench.runner import running_here
from alora_ts.bench.speed import wavy_rows
from alora_ts.bench.surroundings import peak_memory_mib
from alora_ts.devices import usable_cores
folder, rows = Path(sys.argv[1]), wavy_rows(150, 3)
model = ALoRa(window=6, epochs=1, epoch_windows=32, architecture=Architecture(heads=2))
score = model.fit(rows, progress=False).score(rows)
again = load(model.save(folder / "model.alora"))
np.testing.assert_allclose(again.score(rows), score)
model.diagnose(rows)
with running_here(folder):
    pass
print(usable_cores() >= 1, peak_memory_mib())
"""


def _run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import tests.without_posix\n{code}", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_module_but_the_service_imports() -> None:
    names = _run(_IMPORT_ALL).split()
    assert {"alora_ts.cli.main", "alora_ts.bench.runner", "alora_ts.fleet.local"} <= set(names)


def test_a_model_is_fitted_saved_and_scored(tmp_path: Path) -> None:
    assert _run(_USE, str(tmp_path)).strip() == "True None"
