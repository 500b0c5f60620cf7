"""Rows and readings in weeks: migrated without loss, found by indexes, dropped when old."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from benchmarks.serve_postgres import Server
from sqlalchemy import Connection, Engine, create_engine, event, text

import alora_ts.serve.store as store_package
from alora_ts.serve.operate.retention import KeepSettings, clean_up
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.engines import store_url
from alora_ts.serve.store.partitions import WEEK, _make, prepare_partitions
from alora_ts.serve.store.rows import rows_before, rows_from
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import now_micros
from tests.serve.core import plant
from tests.serve.core.conftest import Plant
from tests.serve.core.test_retention import aged

HOUR = 3_600_000_000


@pytest.fixture
def engine(server: Server) -> Iterator[Engine]:
    server.empty()
    engine = create_engine(store_url(server.address))
    yield engine
    engine.dispose()
    server.empty()


def upgrade(connection: Connection, revision: str) -> None:
    config = Config()
    folder = Path(store_package.__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def fill(connection: Connection, now: int) -> None:
    """A month and a half of three sources, an hour between rows, until a while ahead."""
    for source in (1, 2, 3):
        connection.execute(
            text(
                "INSERT INTO sources (id, name, variables, bucket_us, score_from_us, late_count, "
                f"created_us) VALUES ({source}, 's{source}', '[\"a\"]', 256000000, {now}, 0, 0)"
            )
        )
        connection.execute(
            text(
                "INSERT INTO rows (source_id, time_us, arrived_us, cells) SELECT :s, "
                "CAST(:now AS bigint) - n * CAST(:hour AS bigint), :now, "
                "decode(lpad(to_hex(n), 16, '0'), 'hex') FROM generate_series(-30, 1000) AS n"
            ),
            {"s": source, "now": now, "hour": HOUR},
        )
    connection.execute(
        text(
            "INSERT INTO readings (source_id, time_us, score, raw, drift, rank, warm_up, alarm, "
            "detail) SELECT source_id, time_us, time_us, 1, 1, 1, false, false, cells FROM rows"
        )
    )


EVERYTHING = {
    "rows": "SELECT source_id, time_us, arrived_us, cells FROM rows ORDER BY 1, 2",
    "readings": "SELECT source_id, time_us, score, raw, detail FROM readings ORDER BY 1, 2",
}


def test_an_older_store_is_migrated_without_loss(engine: Engine, server: Server) -> None:
    now = now_micros()
    with engine.begin() as connection:
        upgrade(connection, "0005")
        fill(connection, now)
        before = {name: connection.execute(text(q)).all() for name, q in EVERYTHING.items()}
    store = Store(server.address)
    with store.reading() as connection:
        after = {name: connection.execute(text(q)).all() for name, q in EVERYTHING.items()}
        this_week = now // WEEK * WEEK
        kept = connection.scalar(
            text(f"SELECT count(*) FROM rows_default WHERE time_us >= {this_week}")
        )
    store.close()
    assert len(before["rows"]) == 3 * 1031
    assert after == before
    # What is of this week has moved to where the next rows come.
    assert kept == 0


def test_indexes_and_partitions_are_used(engine: Engine) -> None:
    """The statements of scoring and ingestion, as the code makes them, explained by the server."""
    now = now_micros()
    with engine.begin() as connection:
        upgrade(connection, "head")
        prepare_partitions(connection)
        fill(connection, now)
        connection.execute(text("ANALYZE"))
    said: list[tuple[str, Any]] = []
    with engine.begin() as connection:
        event.listen(connection, "before_cursor_execute", lambda *one: said.append(one[2:4]))
        rows_from(connection, 2, 1, start=now - 5 * HOUR, limit=256)
        rows_before(connection, 2, 1, end=now, limit=100)
        rows_from(connection, 2, 1, start=now - 5 * HOUR, end=now + HOUR, limit=256)
    with engine.begin() as connection:
        # Small tables tempt the planner to read them whole.
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        seen = [
            "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())
            for statement, values in said
        ]
    assert len(seen) == 3
    for plan in seen:
        assert "Seq Scan" not in plan
        assert "Index Cond: ((source_id = 2)" in plan
    # A range of time touches its own weeks and, for what is in none, the default.
    weeks = {at // WEEK for at in (now - 5 * HOUR, now, now + HOUR)}
    assert seen[2].count("Index Scan") + seen[2].count("Bitmap Index") <= len(weeks) + 1
    assert seen[0].count("Index Scan") > len(weeks) + 1


def test_old_weeks_are_dropped_and_a_stopped_source_keeps_its_own(
    serve: Callable[[Settings], Plant], settings: Settings, server: Server, engine: Engine
) -> None:
    keep = KeepSettings(rows=10)
    models = {**settings.models, "stopped": settings.models["plant"]}
    here = serve(
        settings.model_copy(
            update={"keep": keep, "store": server.address, "late_limit": 1e9, "models": models}
        )
    )
    # As if the service had run for seven weeks.
    with engine.begin() as connection:
        for number in range(1, 8):
            for table in ("rows", "readings"):
                start = now_micros() // WEEK * WEEK - number * WEEK
                _make(connection, table, start)
    here.send(aged(plant.values(50), days=40))
    here.send(aged(plant.values(50), days=30))
    here.send(aged(plant.values(50), days=30), source="stopped")
    here.send(aged(plant.values(50), days=0.5))
    here.settle()
    asyncio.run(clean_up(here.service))
    with engine.begin() as connection:
        by_source = dict(
            connection.execute(text("SELECT source_id, count(*) FROM rows GROUP BY 1")).all()
        )
        kept = connection.scalars(text("SELECT tablename FROM pg_tables")).all()
    source, stopped = here.source.id, here.service.sources.get("stopped").id
    assert by_source == {source: 50, stopped: 50}

    def week_of(days: float) -> str:
        start = (now_micros() - int(days * 24 * HOUR)) // WEEK * WEEK
        return f"rows_{datetime.fromtimestamp(start / 1e6, UTC):%Y%m%d}"

    assert week_of(40) not in kept
    assert week_of(30) in kept
    assert here.source.rows == 50


def test_a_week_that_waits_to_be_scored_is_not_dropped(
    serve: Callable[[Settings], Plant], settings: Settings, server: Server, engine: Engine
) -> None:
    here = serve(
        settings.model_copy(
            update={"keep": KeepSettings(rows=10), "store": server.address, "late_limit": 1e9}
        )
    )
    with engine.begin() as connection:
        for number in range(1, 8):
            start = now_micros() // WEEK * WEEK - number * WEEK
            _make(connection, "rows", start)
    here.send(aged(plant.values(50), days=30))
    here.send(aged(plant.values(50), days=0.5))
    here.settle()
    for mark, left in (("0", 100), ("NULL", 50)):
        with engine.begin() as connection:
            connection.execute(text(f"UPDATE sources SET late_us = {mark}"))
        asyncio.run(clean_up(here.service))
        with engine.begin() as connection:
            assert connection.scalar(text("SELECT count(*) FROM rows")) == left
