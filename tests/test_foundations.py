"""Files, progress and the package's face."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from alora_ts.errors import AloraError
from alora_ts.fast.threads import use_threads
from alora_ts.files import write_atomically
from alora_ts.progress import Step, reporting


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "result.csv"
    target.write_text("old")

    def fail(stop: type[BaseException]) -> None:
        with write_atomically(target) as part:
            part.write_text("half")
            raise stop

    for stop in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(stop):
            fail(stop)
        assert target.read_text() == "old"
        assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("where", ["missing/result.csv", "."])
def test_places_that_cannot_be_written_are_named(tmp_path: Path, where: str) -> None:
    with pytest.raises(AloraError, match="cannot write"), write_atomically(tmp_path / where):
        pass


def test_progress_is_silent_when_asked_and_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for progress in (False, None):
        with reporting(progress) as report:
            report(Step("fitting", 1, 2))
    assert capsys.readouterr() == ("", "")


def test_progress_bars_show_the_task_and_its_facts(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(True) as report:
        report(Step("fitting", 1, 2, {"error": 0.25}))
        report(Step("fitting", 2, 2, {"error": 0.125}))
    shown = capsys.readouterr().err
    assert "fitting" in shown


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("torch", "pandas", "fastapi", "ray", "plotly", "matplotlib", "pyod")
    code = f"import sys, alora_ts; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_making_a_network_loads_no_symbolic_algebra() -> None:
    """It takes torch longer to import than a model to load."""
    code = (
        "import sys, torch; from alora_ts.network import ALoRaT, Architecture; "
        "ALoRaT(torch.tensor([[0, 1]]), variables=2, window=4, architecture=Architecture()); "
        "print('sympy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_unknown_names_are_attribute_errors() -> None:
    import alora_ts

    assert {"ALoRa", "load", "Diagnosis", "Incident"} <= set(dir(alora_ts))
    with pytest.raises(AttributeError, match="Alora"):
        _ = alora_ts.Alora


def test_threads_are_given_back() -> None:
    import torch

    before = torch.get_num_threads()
    with use_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
