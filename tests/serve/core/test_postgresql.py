"""The same service over PostgreSQL, a real one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.serve_postgres import Server
from benchmarks.serve_programs import free_port
from numpy.testing import assert_allclose
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from alora_ts import ALoRa
from alora_ts.errors import AloraError
from alora_ts.serve.http.tokens import TokenBook, make_token
from alora_ts.serve.incidents.mutes import end_mute, make_mute
from alora_ts.serve.settings import Settings
from alora_ts.serve.store import engines
from alora_ts.serve.store.mutes import count_held
from alora_ts.serve.store.sources import add_source, set_variables, variables_of
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import now_micros
from tests.serve.core import plant
from tests.serve.core.conftest import Plant
from tests.serve.notify.test_outage import House, an_hour_of_attempts, dispatcher


def test_rows_scores_incidents_and_restart(
    serve: Callable[[Settings], Plant], settings: Settings, model: ALoRa, database: str
) -> None:
    table = plant.values(700, seed=3)
    table[120:140, 1] += 60
    rows = plant.rows(table)
    settings = settings.model_copy(update={"store": database})
    first = serve(settings)
    first.send(rows[:130])
    first.send(rows[:50] + rows[200:])
    first.settle()
    first.client.__exit__(None, None, None)
    second = serve(settings)
    receipt = second.send(rows)
    assert (receipt["accepted"], receipt["duplicates"], receipt["late"]) == (70, 630, 70)
    assert_allclose(
        second.scores()[8:],
        model.score(plant.frame(table), progress=False)[8:],
        rtol=2e-4,
        atol=1e-6,
    )
    found = second.client.get("/api/v1/incidents").json()["items"]
    culprits = [one["culprits"][0]["variable"] for one in found]
    assert "level" in culprits
    verdict = second.client.post(
        f"/api/v1/incidents/{found[0]['id']}/feedback", json={"verdict": "normal"}
    )
    assert verdict.status_code == 200
    assert verdict.json()["pattern"]["silenced_until"] is not None
    grouped = second.client.get("/api/v1/incidents", params={"grouped": True}).json()["items"]
    assert sum(one["recurring"]["count"] for one in grouped) == len(found)
    for path in ("incidents?series=a%00b", "incidents?cursor=1.a%00b", "incidents/a%00b/feedback"):
        assert 400 <= second.client.get(f"/api/v1/{path}").status_code < 500
    assert second.client.post("/api/v1/sources/plant/recalibrate").status_code == 200
    assert second.client.get("/api/v1/sources/plant/drift").json()["inputs"]
    series = second.client.get("/api/v1/sources/plant/series?signals=flow&points=50").json()
    assert np.isfinite(series["score"]["v"]).all()
    health = second.client.get("/api/v1/health").json()
    assert health["store"]["kind"] == "postgresql"
    assert "s3cret" not in str(health)
    assert health["store"]["bytes"] > 0


def test_tokens_and_foreign_schemas(database: str) -> None:
    store = Store(database, exclusive=False)
    try:
        token = make_token(store, name="n", role="write")
        bearer = TokenBook(store).bearer_of(token)
        assert bearer is not None
        assert bearer.role == "write"
        later = text("UPDATE alembic_version SET version_num = '9999'")
        store.writer.run(lambda connection: connection.execute(later) and None)
    finally:
        store.close()
    with pytest.raises(AloraError, match="schema 9999"):
        Store(database, exclusive=False)


def test_an_absent_server_is_named_without_its_password() -> None:
    with pytest.raises(AloraError, match="cannot open the store") as caught:
        Store(f"postgresql://alora:s3cret@127.0.0.1:{free_port()}/x")
    assert "s3cret" not in str(caught.value)


def is_no_partition(name: str | None, kind: str, _: object) -> bool:
    return kind != "table" or not str(name).startswith(("rows_", "readings_"))


def test_the_migrations_make_the_schema(server: Server, database: str, tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from alora_ts.serve.store.engines import make_engines, store_url
    from alora_ts.serve.store.migrate import migrate
    from alora_ts.serve.store.schema import metadata

    server.empty()
    for address in (str(tmp_path / "s.db"), database):
        writing, reading = make_engines(store_url(address))
        migrate(writing)
        with writing.begin() as connection:
            whole = {"compare_type": True, "include_name": is_no_partition}
            context = MigrationContext.configure(connection, opts=whole)
            assert compare_metadata(context, metadata) == []
        writing.dispose()
        reading.dispose()


def test_notifications_are_summed_up_and_muted(server: Server) -> None:
    server.empty()
    house = House(server.address)
    try:
        port = free_port()
        hook = {"name": "pager", "url": f"http://127.0.0.1:{port}/"}
        sender = dispatcher(house, webhook=[hook])
        for key in ("one", "two"):
            house.happens(key, "opened", ["pager"])
            house.happens(key, "closed", ["pager"])
        house.happens("lasts", "opened", ["pager"])
        asyncio.run(an_hour_of_attempts(house, sender))
        assert house.counts("pager") == {"missed": 4, "pending": 2}
        made = make_mute(house.store, source="plant", end=now_micros() + 10**9)
        house.happens("quiet", "opened", ["pager"])
        assert house.counts("pager")["pending"] == 2
        with house.store.reading() as connection:
            assert count_held(connection) == {made["id"]: 1}
        assert end_mute(house.store, made["id"])["state"] == "removed"
    finally:
        house.store.close()


def test_a_process_that_stands_still_lets_go_of_its_locks(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.empty()
    monkeypatch.setattr(engines, "_IDLE", 500)
    paused, other = Store(database), Store(database)
    began, goes_on = threading.Event(), threading.Event()
    number = other.writer.run(lambda c: add_source(c, "plant", ("a",), 1))
    try:
        stuck = paused.writer.submit(lambda _: began.set() or goes_on.wait(60), source=number)
        assert began.wait(60)
        done = other.writer.submit(lambda c: set_variables(c, number, ("a", "b")), source=number)
        done.result(timeout=30)
        goes_on.set()
        with pytest.raises(SQLAlchemyError):
            stuck.result(timeout=30)
        assert paused.writer.run(lambda c: variables_of(c, number)) == ("a", "b")
    finally:
        goes_on.set()
        paused.close()
        other.close()


def test_probes_and_senders_are_told_that_the_server_is_away(
    server: Server, serve: Callable[[Settings], Plant], settings: Settings
) -> None:
    server.empty()
    here = serve(settings.model_copy(update={"store": server.address}))
    rows = plant.rows(plant.values(20))
    server.control("-m", "immediate", "stop")
    try:
        # Nobody knows any more whether a token was made.
        here.service.tokens._read = -1e9
        assert here.client.get("/healthz").status_code == 200
        ready = here.client.get("/readyz")
        assert ready.status_code == 503
        answer = here.client.post("/api/v1/sources/plant/rows", json={"rows": rows})
        assert answer.status_code == 503
        assert answer.json()["error"]["hint"] == "nothing was stored; send it again later"
    finally:
        server.control("start")
    assert here.send(rows)["accepted"] == 20
