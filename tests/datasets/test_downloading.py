"""Downloads against a server on loopback that cuts, lies and forgets."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from alora_ts.datasets import downloading
from alora_ts.datasets.downloading import download
from alora_ts.errors import AloraError, DataError
from alora_ts.progress import Step
from tests.datasets.file_server import FileServer, serving

CONTENT = bytes(range(256)) * 4000
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as state:
        state.files["/data.bin"] = CONTENT
        yield state


def ignore(_: Step) -> None:
    """Take no notice."""


def get(server: FileServer, target: Path, **options: Any) -> None:
    download(f"{server.url}/data.bin", target, **{"report": ignore, **options})


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_with_progress(server: FileServer, tmp_path: Path) -> None:
    seen: list[Step] = []
    get(server, tmp_path / "d.bin", digest=DIGEST, report=seen.append)
    assert (tmp_path / "d.bin").read_bytes() == CONTENT
    assert left_over(tmp_path) == ["d.bin"]
    assert [step.done for step in seen] == sorted(step.done for step in seen)
    assert seen[-1].done == seen[-1].total == len(CONTENT)


def test_a_cut_download_is_completed_at_once_by_asking_for_the_rest(
    server: FileServer, tmp_path: Path
) -> None:
    server.cuts = [300_000, 200_000]
    get(server, tmp_path / "d.bin", digest=DIGEST)
    assert (tmp_path / "d.bin").read_bytes() == CONTENT
    ranges = [asked for _, asked in server.asked]
    assert ranges == ["", "bytes=300000-", "bytes=500000-"]


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(
    server: FileServer, tmp_path: Path
) -> None:
    server.cuts = [100_000, 0, 0]
    with pytest.raises(AloraError, match=r"failed after 100000 bytes .* again to go on"):
        get(server, tmp_path / "d.bin", digest=DIGEST)
    assert not (tmp_path / "d.bin").exists()
    get(server, tmp_path / "d.bin", digest=DIGEST)
    assert (tmp_path / "d.bin").read_bytes() == CONTENT
    assert server.asked[-1][1] == "bytes=100000-"
    assert left_over(tmp_path) == ["d.bin"]


@pytest.mark.parametrize("fault", ["changed", "no tags", "no ranges"])
def test_a_part_of_another_file_is_never_continued(
    server: FileServer, tmp_path: Path, fault: str
) -> None:
    server.tags = fault != "no tags"
    server.cuts = [100_000, 0, 0] if fault != "no tags" else [100_000, 1, 1]
    with pytest.raises(AloraError, match="go on from there"):
        get(server, tmp_path / "d.bin")
    if fault == "changed":
        server.files["/data.bin"] = CONTENT[::-1]
    server.ranges = fault != "no ranges"
    get(server, tmp_path / "d.bin")
    assert (tmp_path / "d.bin").read_bytes() == server.files["/data.bin"]


def test_a_part_that_is_too_long_starts_again(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".d.bin.part").write_bytes(CONTENT + b"more")
    (tmp_path / ".d.bin.part.tag").write_text(server.etag("/data.bin"))
    get(server, tmp_path / "d.bin", digest=DIGEST)
    assert (tmp_path / "d.bin").read_bytes() == CONTENT
    assert left_over(tmp_path) == ["d.bin"]


def test_a_wrong_checksum_leaves_nothing(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"checksum {DIGEST}, expected sha256:0"):
        get(server, tmp_path / "d.bin", digest="sha256:0")
    assert left_over(tmp_path) == []
    md5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    get(server, tmp_path / "d.bin", digest=f"md5:{md5}")


def test_an_older_target_stays_until_the_new_one_is_whole(
    server: FileServer, tmp_path: Path
) -> None:
    (tmp_path / "d.bin").write_text("old")
    with pytest.raises(DataError, match="checksum"):
        get(server, tmp_path / "d.bin", digest="sha256:0")
    assert (tmp_path / "d.bin").read_text() == "old"


def test_a_missing_file_is_named(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"/none answered 404 .*may have moved"):
        download(f"{server.url}/none", tmp_path / "d.bin", report=ignore)
    assert left_over(tmp_path) == []


def test_no_server_at_all(tmp_path: Path) -> None:
    with serving() as state:
        url = state.url
    with pytest.raises(AloraError, match="failed after 0 bytes"):
        download(f"{url}/data.bin", tmp_path / "d.bin", report=ignore)
    assert left_over(tmp_path) == []


def test_a_full_disk_is_seen_before_the_first_byte(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        downloading.shutil, "disk_usage", lambda _: SimpleNamespace(free=len(CONTENT) - 1)
    )
    with pytest.raises(AloraError, match=r"is full; .* free some space"):
        get(server, tmp_path / "d.bin")
    assert left_over(tmp_path) == []


def test_a_disk_that_fills_up_keeps_the_part_for_later(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0

    def copy(response: Any, file: Any, **_: Any) -> int:
        nonlocal written
        written = file.write(response.read(50_000))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(downloading, "_copy", copy)
        with pytest.raises(AloraError, match="is full; what was downloaded is kept"):
            get(server, tmp_path / "d.bin", digest=DIGEST)
    assert not (tmp_path / "d.bin").exists()
    get(server, tmp_path / "d.bin", digest=DIGEST)
    assert server.asked[-1][1] == f"bytes={written}-"
    assert (tmp_path / "d.bin").read_bytes() == CONTENT


def test_a_folder_that_cannot_be_written(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(AloraError, match="cannot write"):
        get(server, tmp_path / "absent" / "d.bin")
