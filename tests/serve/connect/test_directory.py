"""Files that appear in a folder: read when whole, stored once, put away afterwards."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from alora_ts.serve.connect import directory
from alora_ts.serve.connect.directory import DirectoryConnector
from alora_ts.serve.connect.settings import DirectorySettings
from tests.serve.connect.host import MemoryHost, running, until

SECOND = 1_000_000
CSV = "time,a,b,note\n1970-01-01 00:00:01,1,2,x\n1970-01-01 00:00:02,,4,y\n"


def watcher(folder: Path, **changes: Any) -> DirectoryConnector:
    return DirectoryConnector(
        DirectorySettings.model_validate(
            {
                "name": "in",
                "source": "plant",
                "path": folder,
                "every": 0.02,
                "settle": 0.15,
                **changes,
            }
        )
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_csv_and_parquet_are_stored_and_put_away(tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "day.csv").write_text(CSV)
    pl.DataFrame(
        {
            "time": [datetime(1970, 1, 1, 0, 0, 3)],
            "b": [6.0],
            "a": [float("nan")],
            "note": ["z"],
        }
    ).write_parquet(inbox / "day.parquet")
    for left in (".half.csv", "_marked.csv", "readme.txt"):
        (inbox / left).write_text(CSV)
    host = MemoryHost(tmp_path, "a", "b")

    async def story() -> DirectoryConnector:
        link = watcher(inbox)
        async with running(link, host):
            await until(lambda: len(names(inbox / "done")) == 2)
            # The same file once more, as after a restored backup.
            (inbox / "day.csv").write_text(CSV)
            await until(lambda: len(names(inbox / "done")) == 3)
        return link

    link = asyncio.run(story())
    assert host.rows == {
        1 * SECOND: {"a": 1.0, "b": 2.0},
        2 * SECOND: {"a": None, "b": 4.0},
        3 * SECOND: {"a": None, "b": 6.0},
    }
    assert host.duplicates == 2
    assert names(inbox / "done") == ["2-day.csv", "day.csv", "day.parquet"]
    assert names(inbox) == [".half.csv", "_marked.csv", "done", "readme.txt"]
    assert link.status().received == 5


def test_a_file_that_still_grows_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    host = MemoryHost(tmp_path, "a", "b")
    clock = 100.0
    monkeypatch.setattr(directory, "time", SimpleNamespace(monotonic=lambda: clock))

    link = watcher(inbox, settle=5)
    with (inbox / "slow.csv").open("w") as growing:
        growing.write("time,a\n")
        for at in range(10):
            growing.write(f"{at},{at}\n")
            growing.flush()
            assert link._find() == []
            clock += 4
    assert link._find() == []
    clock += 1

    async def story() -> None:
        async with running(link, host):
            await until(lambda: names(inbox / "done"))

    asyncio.run(story())
    assert sorted(host.rows) == [at * SECOND for at in range(10)]


def test_files_renamed_in_need_no_wait(tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    host = MemoryHost(tmp_path, "a")
    (inbox / ".part").write_text("time,a\n1500,2\n")
    os.replace(inbox / ".part", inbox / "whole.csv")

    async def story() -> None:
        async with running(watcher(inbox, settle=0, time_unit="ms"), host):
            await until(lambda: names(inbox / "done"))

    asyncio.run(story())
    assert host.rows == {1_500_000: {"a": 2.0}}


def test_bad_files_are_put_aside_with_the_reason(tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "empty.csv").write_text("")
    (inbox / "words.csv").write_text("time,a\n1,warm\n")
    (inbox / "timeless.csv").write_text("a,b\n1,2\n")
    (inbox / "foreign.csv").write_text("time,q\n1,2\n")
    (inbox / "broken.parquet").write_bytes(b"PAR1 not really")
    host = MemoryHost(tmp_path, "a", "b")

    async def story() -> DirectoryConnector:
        link = watcher(inbox)
        async with running(link, host):
            await until(lambda: len(names(inbox / "failed")) == 10)
            (inbox / "good.csv").write_text("time,a\n1,2\n")
            await until(lambda: names(inbox / "done"))
        return link

    link = asyncio.run(story())
    assert host.rows == {SECOND: {"a": 2.0}}
    assert link.status().rejected == {"unreadable file": 5}
    assert "no time column" in (inbox / "failed" / "timeless.csv.why.txt").read_text()
    assert "warm" in (inbox / "failed" / "words.csv.why.txt").read_text()
    assert "columns time, q is" in (inbox / "failed" / "foreign.csv.why.txt").read_text()


def test_a_store_that_fails_keeps_the_file_in_place(tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "day.csv").write_text("time,a\n1,2\n")
    host = MemoryHost(tmp_path, "a")
    host.failures = 10**6

    async def story() -> None:
        first = watcher(inbox)
        async with running(first, host):
            await until(lambda: first.status().state == "failed")
        assert names(inbox) == ["day.csv"]
        host.failures = 0
        async with running(watcher(inbox), host):
            await until(lambda: names(inbox / "done"))

    asyncio.run(story())
    assert host.rows == {SECOND: {"a": 2.0}}


def test_an_absent_folder_is_visible_and_waited_for(tmp_path: Path) -> None:
    inbox = tmp_path / "later"
    host = MemoryHost(tmp_path, "a")

    async def story() -> str:
        link = watcher(inbox)
        async with running(link, host):
            await until(lambda: link.status().state == "failed")
            error = link.status().last_error or ""
            inbox.mkdir()
            (inbox / "day.csv").write_text("time,a\n1,2\n")
            await until(lambda: host.rows)
        return error

    assert "later does not exist" in asyncio.run(story())


def test_a_file_with_refused_rows_is_not_done(tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    (inbox / "day.csv").write_text("time,a\n1,2\n2,3\n")
    host = MemoryHost(tmp_path, "a")
    host.refused = {SECOND}

    async def story() -> None:
        async with running(watcher(inbox), host):
            await until(lambda: len(names(inbox / "failed")) == 2)
            # The reason is fixed, and the file put back.
            host.refused = set()
            (inbox / "failed" / "day.csv").rename(inbox / "day.csv")
            await until(lambda: names(inbox / "done"))

    asyncio.run(story())
    assert sorted(host.rows) == [SECOND, 2 * SECOND]
    assert (inbox / "failed" / "day.csv.why.txt").read_text() == (
        "1 of 2 rows were refused and the others stored; the first one: not wanted\n"
    )
