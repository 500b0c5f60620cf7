"""The store: writes together, fails alone, is backed up while it runs."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from alora_ts.errors import AloraError
from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.http.endpoints.bodies import read_row
from alora_ts.serve.rows.interface import Row
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.incidents import find_incident
from alora_ts.serve.store.judgements import judgements_on
from alora_ts.serve.store.schema import metadata
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import to_micros
from tests.serve.core import plant
from tests.serve.core.conftest import Plant


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "s.db"))


class Hold:
    """Keeps the writer at work until the gate is opened."""

    def __init__(self) -> None:
        self.at_work, self.gate = threading.Event(), threading.Event()

    def __call__(self, _: Connection) -> None:
        self.at_work.set()
        self.gate.wait()


def test_a_write_that_fails_is_undone_alone(store: Store) -> None:
    store.writer.run(lambda c: c.execute(text("CREATE TABLE t (x INTEGER)")) and None)
    hold = Hold()
    order: list[int] = []

    def insert(number: int) -> Future[None]:
        def work(connection: Connection) -> None:
            connection.execute(text(f"INSERT INTO t VALUES ({number})"))
            if number % 2:
                raise ValueError(number)

        return store.writer.submit(work, lambda _: order.append(number))

    store.writer.submit(hold)
    assert hold.at_work.wait(240)
    futures = [insert(number) for number in range(6)]  # all wait, so all share a transaction
    assert store.writer.waiting() == 6
    hold.gate.set()
    failed = [future.exception() is not None for future in futures]
    assert failed == [False, True] * 3
    assert order == [0, 2, 4]
    with store.reading() as connection:
        assert connection.scalars(text("SELECT x FROM t ORDER BY x")).all() == [0, 2, 4]
    store.close()


def test_a_write_nobody_waits_for_any_more_is_left_out_alone(store: Store) -> None:
    store.writer.run(lambda c: c.execute(text("CREATE TABLE t (x INTEGER)")) and None)
    hold = Hold()

    def insert(number: int) -> Future[None]:
        statement = text(f"INSERT INTO t VALUES ({number})")
        return store.writer.submit(lambda connection: connection.execute(statement) and None)

    first = store.writer.submit(hold)
    assert hold.at_work.wait(240)
    waiting = [insert(number) for number in range(4)]
    assert not first.cancel(), "its work has begun"
    assert waiting[1].cancel()
    assert waiting[2].cancel()
    hold.gate.set()
    assert first.result() is None
    assert waiting[3].result() is None
    # The writer works on.
    insert(9).result()
    with store.reading() as connection:
        assert connection.scalars(text("SELECT x FROM t ORDER BY x")).all() == [0, 3, 9]
    store.close()


def test_requests_that_are_broken_off_do_not_stop_the_service(here: Plant) -> None:
    rows = [row for row in map(read_row, plant.rows(plant.values(40))) if isinstance(row, Row)]

    async def story() -> None:
        writer = here.service.store.writer
        hold = Hold()
        writer.submit(hold)
        assert await asyncio.to_thread(hold.at_work.wait, 240)
        tasks = [
            asyncio.create_task(here.service.accept("plant", rows[at : at + 10]))
            for at in range(0, 40, 10)
        ]
        while writer.waiting() < len(tasks):
            await asyncio.sleep(0.01)
        tasks[1].cancel()
        await asyncio.gather(tasks[1], return_exceptions=True)
        hold.gate.set()
        receipts = await asyncio.gather(tasks[0], *tasks[2:])
        assert [receipt.accepted for receipt in receipts] == [10, 10, 10]

    asyncio.run(story())
    assert here.send(plant.rows(plant.values(40)))["accepted"] == 10


def test_one_service_at_a_time(store: Store, tmp_path: Path) -> None:
    with pytest.raises(AloraError, match="in use by another"):
        Store(str(tmp_path / "s.db"))
    Store(str(tmp_path / "s.db"), exclusive=False).close()
    store.close()
    Store(str(tmp_path / "s.db")).close()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("absent/folder/s.db", "does not exist"),
        ("mysql://h/db", "cannot keep a store in 'mysql'"),
        ("sqlite://", "cannot keep"),
        ("postgresql://u:p@h:port/db", "cannot read the address"),
    ],
)
def test_addresses_that_cannot_be(address: str, why: str) -> None:
    with pytest.raises(AloraError, match=why) as caught:
        Store(address)
    assert "u:p" not in str(caught.value)


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    file.write_bytes(b"not a database, and long enough to be looked at" * 50)
    with pytest.raises(AloraError, match="cannot open the store"):
        Store(str(file))


def test_an_older_store_is_brought_up_to_date(here: Plant, settings: Settings) -> None:
    table = plant.values(60)
    table[40:50, 1] += 90
    here.send(plant.rows(table))
    here.settle()
    key = here.client.get("/api/v1/incidents").json()["items"][0]["id"]
    here.client.post(f"/api/v1/incidents/{key}/feedback", json={"verdict": "real"})
    before = here.client.get("/api/v1/incidents").json()["items"]
    assert before[0]["origin"] is not None
    here.client.__exit__(None, None, None)
    _as_the_first_schema_had_it(settings.address)
    store = Store(settings.address)
    with store.reading() as connection:
        found = find_incident(connection, before[0]["id"])
        assert found is not None
        [judged] = judgements_on(connection, found.source_id, before[0]["pattern"])
        alarms = connection.scalar(text("SELECT count(*) FROM readings WHERE alarm"))
        made = {index["name"] for index in inspect(connection).get_indexes("incidents")}
        drawn = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(drawn, metadata) == []
    store.close()
    shown = show_incident(found._asdict(), found.source)
    unknown = dict.fromkeys(
        ("origin", "onset", "spread", "aside", "returns", "changed", "ending", "witnesses")
    )
    assert shown == before[0] | unknown
    assert (judged.verdict, judged.text) == ("real", "level above")
    ways = ("time", "source", "pattern", "series", "state")
    assert made == {f"incidents_by_{way}" for way in ways}
    # Quiet rows between alarming ones belong to an incident, too.
    assert alarms > before[0]["rows"] // 2


def _as_the_first_schema_had_it(address: str) -> None:
    older = sqlite3.connect(address)
    for column in ("rows BIGINT", "peak_us BIGINT", "peak FLOAT", "culprits JSON"):
        older.execute(f"ALTER TABLE incidents ADD COLUMN {column}")
    for key, detail in older.execute("SELECT id, detail FROM incidents").fetchall():
        said = json.loads(detail)
        older.execute(
            "UPDATE incidents SET rows = ?, peak_us = ?, peak = ?, culprits = ? WHERE id = ?",
            (
                said["rows"],
                to_micros(said["peak_time"]),
                said["peak"],
                json.dumps(said["culprits"]),
                key,
            ),
        )
    older.execute("DROP TABLE judgements")
    for way in ("pattern", "series", "state"):
        older.execute(f"DROP INDEX incidents_by_{way}")
    for column in ("detail", "work", "pattern", "series", "silenced"):
        older.execute(f"ALTER TABLE incidents DROP COLUMN {column}")
    for column in ("alarm", "shift", "novelty", "spread"):
        older.execute(f"ALTER TABLE readings DROP COLUMN {column}")
    for column in ("source", "expires_us"):
        older.execute(f"ALTER TABLE tokens DROP COLUMN {column}")
    for column in ("newest_us", "oldest_us", "row_count", "unscored", "arrived_us"):
        older.execute(f"ALTER TABLE sources DROP COLUMN {column}")
    older.execute("ALTER TABLE fits DROP COLUMN owner")
    older.execute("DROP INDEX outbox_by_incident")
    for table in ("audit", "heartbeat", "workers", "leases", "held", "mutes", "samples"):
        older.execute(f"DROP TABLE {table}")
    older.execute("UPDATE alembic_version SET version_num = '0001'")
    older.commit()
    older.close()


def test_a_backup_of_a_running_service_is_whole(here: Plant, settings: Settings) -> None:
    here.send(plant.rows(plant.values(50)))
    here.settle()
    live = sqlite3.connect(settings.address)
    copy = sqlite3.connect(settings.folder / "copy.db")
    live.backup(copy)
    live.close()
    copy.close()
    restored = Store(str(settings.folder / "copy.db"))
    with restored.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM rows")) == 50
        assert connection.scalar(text("SELECT count(*) FROM readings")) == 50
        assert connection.scalar(text("SELECT count(*) FROM models")) == 1
    restored.close()
