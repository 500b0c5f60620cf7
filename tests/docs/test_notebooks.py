"""The notebooks run from top to bottom, and are committed with their pictures."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

FOLDER = REPOSITORY / "docs" / "notebooks"
PLANT, SERVER = FOLDER / "a-plant-with-a-leak.ipynb", FOLDER / "a-server-in-trouble.ipynb"


def _run(path: Path, folder: Path, *shorter: tuple[str, str]) -> None:
    """Run a notebook, with parts of its code replaced by shorter work."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(path, as_version=4)
    for long, short in shorter:
        [cell] = [
            cell for cell in notebook.cells if long in cell.source and cell.cell_type == "code"
        ]
        cell.source = cell.source.replace(long, short)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=400, resources=resources).execute()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the notebook machinery's own
def test_a_plant_with_a_leak(tmp_path: Path) -> None:
    _run(PLANT, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the notebook machinery's own
def test_a_server_in_trouble(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (real_data / "SMD").is_dir():
        pytest.skip("SMD is absent")
    monkeypatch.setitem(os.environ, "ALORA_TS_DATA", str(real_data))
    _run(
        SERVER,
        tmp_path,
        ("train[-8_000:]", "train[-2_000:]"),
        ("epochs=2", "epochs=1, epoch_windows=640"),
    )


@pytest.mark.parametrize("path", [PLANT, SERVER], ids=lambda path: path.stem)
def test_pictures_are_there_and_nothing_of_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert all(output["output_type"] != "error" for output in outputs)
    assert not any(part in text for part in ("/work/", "/root/", "/home/"))
