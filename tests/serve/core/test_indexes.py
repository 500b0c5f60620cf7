"""Statements of every row and of every beat, as the code makes them, explained by PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from benchmarks.serve_postgres import Server
from sqlalchemy import Connection, Engine, event, text

from alora_ts.serve.store.incidents import (
    find_incident,
    incidents_from,
    last_incident_before,
    list_incidents,
    open_incidents,
)
from alora_ts.serve.store.leases import Lease, claim, held_by, still_held
from alora_ts.serve.store.outbox import StoredOutbox, was_told
from alora_ts.serve.store.progress import count_waiting, lock_sources, newest_of, note_rows
from alora_ts.serve.store.rows import (
    known_rows,
    raw_scores_before,
    read_readings,
    recent_scores,
    recent_scores_of_all,
    rows_before,
    rows_from,
)
from alora_ts.serve.store.sources import recalibrated, scoring_state
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.summaries import last_summary, read_summaries
from alora_ts.serve.times import now_micros

SECOND, SOURCES = 1_000_000, 300
NOW = now_micros()
START = NOW - 400 * SECOND
# 300 sources with 400 rows each, which is enough for the planner to have a choice.
FILL = (
    "INSERT INTO models VALUES ('m', 'm', 'file', 0, '', 0, '{}', '')",
    "INSERT INTO sources (id, name, variables, bucket_us, score_from_us, late_count, created_us) "
    f"SELECT n, 's' || n, '[\"a\"]', 256000000, {NOW}, 0, 0 FROM generate_series(1, {SOURCES}) n",
    f"INSERT INTO rows SELECT n, {START} + k * {SECOND}, {NOW}, decode(repeat('00', 80), 'hex') "
    f"FROM generate_series(1, {SOURCES}) n, generate_series(0, 399) k",
    "INSERT INTO readings (source_id, time_us, score, raw, drift, rank, warm_up, alarm, detail) "
    "SELECT source_id, time_us, 0, 0, 0, 1, false, false, cells FROM rows",
    f"INSERT INTO summaries SELECT n, level, {START} + k * 256000000::bigint, '' FROM "
    f"generate_series(1, {SOURCES}) n, generate_series(0, 1) level, generate_series(0, 20) k",
    "INSERT INTO activations (source_id, model_id, at_us, rolled_back) SELECT id, 'm', 0, false "
    "FROM sources, generate_series(1, 3)",
    "INSERT INTO recalibrations (source_id, model_id, at_us, value, note, undone) "
    "SELECT id, 'm', 0, 1, '', false FROM sources, generate_series(1, 10)",
    "INSERT INTO incidents (id, source_id, kind, state, start_us, end_us, peak_raw, severity, "
    "pattern, series, silenced, detail) SELECT 'i_' || n, 1 + n % 300, 'anomaly', "
    f"CASE WHEN n % 1000 = 0 THEN 'open' ELSE 'closed' END, {START} + n * 1000, "
    f"{START} + n * 1001, 1, 'low', 'p' || n % 7, 'i_' || n, false, '{{}}' "
    "FROM generate_series(1, 20000) n",
    "INSERT INTO outbox (channel, incident_id, event, created_us, attempts, next_try_us, state) "
    "SELECT 'hook', 'i_' || n, json_build_object('id', '1', 'kind', 'opened', 'incident', "
    "json_build_object()), 0, 1, 0, CASE WHEN n > 19990 THEN 'pending' ELSE 'sent' END "
    "FROM generate_series(1, 20000) n",
    "INSERT INTO workers SELECT 'w_' || n, 'host', true, 0, 9e18, '{}' "
    "FROM generate_series(1, 40) n",
    "INSERT INTO leases SELECT 'source', 's' || n, 'w_' || 1 + n % 40, 1 "
    "FROM generate_series(1, 10000) n",
)


@pytest.fixture
def store(server: Server) -> Iterator[Store]:
    server.empty()
    store = Store(server.address)
    with store._writing.begin() as connection:
        for statement in FILL:
            connection.execute(text(statement))
        connection.execute(text("ANALYZE"))
    yield store
    store.close()
    server.empty()


def of_a_row(connection: Connection) -> None:
    """What taking, scoring and showing rows asks for."""
    lock_sources(connection, {7})
    newest_of(connection, 7)
    known_rows(connection, 7, 10, [START + SECOND, START + 2 * SECOND])
    note_rows(connection, 7, [NOW], arrived=NOW)
    scoring_state(connection, 7)
    rows_from(connection, 7, 10, start=NOW - 5 * SECOND, limit=256)
    rows_before(connection, 7, 10, end=NOW, limit=100)
    count_waiting(connection, 7, since=NOW - 5 * SECOND)
    recent_scores(connection, 7, limit=100)
    recent_scores_of_all(connection, [7, 8], limit=10)
    raw_scores_before(connection, 7, end=NOW, arrived=0, limit=50)
    read_readings(connection, 7, start=NOW - 50 * SECOND, end=NOW)
    read_summaries(connection, 7, level=0, start=START, end=NOW)
    last_summary(connection, 7)
    recalibrated(connection, 7, "m")


def of_an_incident(connection: Connection) -> None:
    find_incident(connection, "i_77")
    last_incident_before(connection, 7, NOW)
    incidents_from(connection, 7, NOW - 5 * SECOND)
    open_incidents(connection)
    open_incidents(connection, 7)
    was_told(connection, "i_77")
    list_incidents(connection, source=None, state=None, start=None, end=None, before=None, limit=20)


def of_a_lease(connection: Connection) -> None:
    still_held(connection, [Lease("source", "s77", "w_38", 1)])
    held_by(connection, "w_7")
    alive = [f"w_{number}" for number in range(1, 41)]
    claim(connection, "w_7", "source", alive=alive, names=None, most=20)


Said = list[tuple[str, Any]]


def explained(engine: Engine, work: Callable[[Connection], None]) -> dict[str, str]:
    said: Said = []
    with engine.connect() as connection:
        event.listen(connection, "before_cursor_execute", lambda *one: said.append(one[2:4]))
        work(connection)
        connection.rollback()
    return plans_of(engine, said)


def plans_of(engine: Engine, said: Said) -> dict[str, str]:
    with engine.begin() as connection:
        return {
            statement: "\n".join(
                connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars()
            )
            for statement, values in said
        }


# Small by nature: forty workers, and names of three hundred sources beside all open incidents.
WHOLE = ("workers", "sources", "models")


def check(plans: dict[str, str]) -> None:
    assert plans
    for statement, plan in plans.items():
        # A week that has no rows yet costs nothing either way.
        filled = [line for line in plan.splitlines() if "(cost=0.00..0.00 " not in line]
        whole = [line for line in filled if "Seq Scan" in line]
        wrong = [line for line in whole if line.split(" on ")[1].split()[0] not in WHOLE]
        assert not wrong, f"{statement}\n{plan}"


@pytest.mark.parametrize("work", [of_a_row, of_an_incident, of_a_lease])
def test_no_table_that_grows_is_read_whole(
    store: Store, work: Callable[[Connection], None]
) -> None:
    check(explained(store._writing, work))


def test_what_is_due_is_found_among_what_was_sent(store: Store) -> None:
    said: Said = []
    event.listen(store._reading, "before_cursor_execute", lambda *one: said.append(one[2:4]))
    due = asyncio.run(StoredOutbox(store).due(NOW / 1e6, 100, channel="hook", known=["hook"]))
    assert len(due) == 10
    check(plans_of(store._writing, said))


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_the_scores_of_all_are_those_of_each(store: Store, limit: int) -> None:
    some = [1, 2, 77, SOURCES, SOURCES + 1]
    with store._writing.begin() as connection:
        connection.execute(text("DELETE FROM readings WHERE source_id = 77"))
        connection.execute(text("UPDATE readings SET score = source_id + time_us % 1000007"))
        found = recent_scores_of_all(connection, some, limit=limit)
        for source in some:
            slow = recent_scores(connection, source, limit=limit)
            assert [tuple(row)[:3] for row in found.get(source, [])] == [tuple(r) for r in slow]
    assert set(found) == {1, 2, SOURCES}
