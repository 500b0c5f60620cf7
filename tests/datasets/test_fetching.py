"""fetch and check as a user meets them, and the commands around them."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alora_ts.cli.main import app
from alora_ts.datasets import check, fetch, load, registry
from alora_ts.datasets.family import Official
from alora_ts.datasets.remote import RemoteFile
from alora_ts.errors import AloraError, DataError
from alora_ts.progress import Step
from tests.datasets import official
from tests.datasets.file_server import FileServer, serving


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as state:
        yield state


@pytest.fixture
def psm(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """A server with a small PSM, to which the registry points."""
    folder = official.psm(tmp_path / "upstream")
    files = []
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        server.files[f"/{path.name}"] = content
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        files.append(RemoteFile(path.name, f"{server.url}/{path.name}", digest))
    small = Official(variables=25, train_rows=4, test_rows=3, anomalous=2)
    found = replace(registry.FAMILIES["PSM"], files=tuple(files), official=small)
    monkeypatch.setitem(registry.FAMILIES, "PSM", found)
    return server


def test_fetch_then_load_then_nothing_more_to_fetch(psm: FileServer, tmp_path: Path) -> None:
    seen: list[Step] = []
    folder = fetch("psm", tmp_path / "data", progress=seen.append)
    assert folder == tmp_path / "data" / "PSM"
    assert load("PSM", tmp_path / "data").test.shape == (3, 25)
    assert len(psm.asked) == 3
    assert seen[-1] == Step("files", 3, 3)
    fetch("PSM", tmp_path / "data", progress=False)
    assert len(psm.asked) == 3


def test_a_damaged_copy_is_found_and_fetched_again(psm: FileServer, tmp_path: Path) -> None:
    folder = fetch("PSM", tmp_path, progress=False)
    assert all(finding.fine for finding in check("PSM", tmp_path, progress=False))
    (folder / "test.csv").write_text("timestamp_(min),feature_0\n4.0,1\n")
    bad = [f.text for f in check("PSM", tmp_path, progress=False) if not f.fine]
    assert any("has not the official checksum" in text for text in bad)
    assert any("different columns" in text for text in bad)
    fetch("PSM", tmp_path, progress=False)
    assert psm.asked[-1][0] == "/test.csv"
    assert all(finding.fine for finding in check("PSM", tmp_path, progress=False))


def test_check_compares_with_published_figures(
    psm: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch("PSM", tmp_path, progress=False)
    assert psm.asked
    other = replace(registry.FAMILIES["PSM"], official=Official(25, 5, 3, 2))
    monkeypatch.setitem(registry.FAMILIES, "PSM", other)
    bad = [f.text for f in check("PSM", tmp_path, progress=False) if not f.fine]
    assert bad == ["4 train rows, but 5 are published"]


def test_check_says_of_every_entity_what_is_missing(tmp_path: Path) -> None:
    folder = official.telemanom(tmp_path)
    (folder / "test" / "P-2.npy").unlink()
    (folder / "train" / "E-1.npy").unlink()
    bad = [f.text for f in check("SMAP", tmp_path, progress=False) if not f.fine]
    assert any("P-2.npy does not exist" in text for text in bad)
    assert any("E-1.npy does not exist" in text for text in bad)
    assert any("no row for the SMAP channel A-1" in text for text in bad)
    with pytest.raises(DataError, match="no copy of ASD"):
        check("ASD", tmp_path)


def archive(**members: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as zipped:
        for name, data in members.items():
            zipped.writestr(name, data)
    return content.getvalue()


def test_an_archive_is_unpacked_at_once_and_without_its_paths(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = archive(**{"../../evil_m.csv": b"1", "a/b/x_m.csv": b"2", "a/readme.txt": b"3"})
    server.files["/z.zip"] = content
    remote = RemoteFile("metrics", f"{server.url}/z.zip", unpack="*_m.csv")
    found = replace(registry.FAMILIES["MSDS"], files=(remote,))
    monkeypatch.setitem(registry.FAMILIES, "MSDS", found)
    folder = fetch("MSDS", tmp_path / "data", progress=False)
    assert sorted(p.name for p in folder.iterdir()) == ["metrics"]
    assert sorted(p.name for p in (folder / "metrics").iterdir()) == ["evil_m.csv", "x_m.csv"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data"]
    fetch("MSDS", tmp_path / "data", progress=False)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"not a zip", "damaged archive"), (archive(other=b"1"), r"holds no \*_m\.csv")],
)
def test_a_bad_archive_leaves_no_folder(
    server: FileServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    message: str,
) -> None:
    server.files["/z.zip"] = content
    remote = RemoteFile("metrics", f"{server.url}/z.zip", unpack="*_m.csv")
    found = replace(registry.FAMILIES["MSDS"], files=(remote,))
    monkeypatch.setitem(registry.FAMILIES, "MSDS", found)
    with pytest.raises(DataError, match=message):
        fetch("MSDS", tmp_path, progress=False)
    assert not [p for p in (tmp_path / "MSDS").iterdir() if p.is_dir()]


def test_sets_that_may_not_be_fetched_say_how_to_ask(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Ask iTrust with the form"):
        fetch("SWaT", tmp_path)
    with pytest.raises(DataError, match="Kaggle"):
        fetch("MSL", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_root_that_cannot_be_made(psm: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AloraError, match="cannot create"):
        fetch("PSM", tmp_path / "file")
    assert not psm.asked


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["data", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_the_commands(psm: FileServer, tmp_path: Path) -> None:
    root = ["--root", str(tmp_path / "data")]
    code, text = run("list", *root)
    assert code == 0
    assert "can be fetched" in text
    code, text = run("info", "swat")
    assert code == 0
    assert "Ask iTrust" in text
    assert "CRITIS" in text
    code, text = run("info", "SMD")
    assert "112 files, checksums known for 28" in text
    with pytest.raises(DataError, match="no copy of PSM"):
        run("check", "PSM", *root)
    code, text = run("fetch", "PSM", *root)
    assert code == 0
    assert "PSM is in" in text
    code, text = run("check", "PSM", *root)
    assert code == 0
    assert "ok   3 test rows, as published" in text
    (tmp_path / "data" / "PSM" / "train.csv").write_text("x")
    code, text = run("check", "PSM", *root)
    assert code == 1
    assert "BAD" in text
    code, text = run("list", *root)
    assert f"here ({tmp_path / 'data' / 'PSM'})" in text
    assert psm.asked
