"""The same service over PostgreSQL, a real one."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.serve_programs import free_port
from numpy.testing import assert_allclose
from sqlalchemy import create_engine, text

from alora_ts import ALoRa
from alora_ts.errors import AloraError
from alora_ts.serve.http.tokens import TokenBook, make_token
from alora_ts.serve.incidents.mutes import end_mute, make_mute
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.heartbeat import beat
from alora_ts.serve.store.hold import StoreLostError
from alora_ts.serve.store.mutes import count_held
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import now_micros
from tests.conftest import need_program
from tests.serve.core import plant
from tests.serve.core.conftest import Plant
from tests.serve.notify.test_outage import House, an_hour_of_attempts, dispatcher


def program(name: str) -> str:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else need_program(name)


class Server:
    """A PostgreSQL server that can be restarted."""

    def __init__(self, folder: Path, as_user: list[str]) -> None:
        self.folder = folder
        self.as_user = as_user
        self.port = free_port()
        self.address = f"postgresql://alora:s3cret@127.0.0.1:{self.port}/postgres"

    def run(self, *command: str) -> None:
        quiet = subprocess.DEVNULL
        subprocess.run([*self.as_user, *command], check=True, cwd=self.folder, stdout=quiet)

    def control(self, *words: str) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        where = ["-D", f"{self.folder}/db", "-w", "-t", "300", "-l", f"{self.folder}/log"]
        self.run(program("pg_ctl"), *where, "-o", options, *words)

    def restart(self) -> None:
        self.control("-m", "fast", "restart")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # The server's user must reach its folder, which pytest's own folders do not allow.
    folder = Path("/tmp") / f"alora-pg-{os.getpid()}"
    folder.mkdir(mode=0o755)
    as_user: list[str] = []
    if os.geteuid() == 0:
        as_user = [need_program("runuser"), "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    server = Server(folder, as_user)
    try:
        made = ["-D", f"{folder}/db", "-A", "trust", "-U", "alora", "--no-sync"]
        server.run(program("initdb"), *made)
        server.control("start")
        try:
            yield server
        finally:
            server.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def database(server: Server) -> str:
    return server.address


def test_a_restarted_server_lets_only_one_write(server: Server) -> None:
    """The lock dies with the server; whoever takes the store then shuts the other out."""
    first = Store(server.address)
    server.restart()
    # Nobody came: the first takes its lock again with its next write.
    first.writer.run(beat)
    with pytest.raises(AloraError, match="in use"):
        Store(server.address)
    server.restart()
    second = Store(server.address)
    with pytest.raises(StoreLostError):
        first.writer.run(beat)
    assert first.writer.lost
    second.writer.run(beat)
    first.close()
    second.writer.run(beat)
    second.close()
    Store(server.address).close()


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
    with pytest.raises(AloraError, match="in use"):
        Store(database)
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


def test_the_migrations_make_the_schema(database: str, tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from alora_ts.serve.store.engines import make_engines, store_url
    from alora_ts.serve.store.migrate import migrate
    from alora_ts.serve.store.schema import metadata

    engine = create_engine(store_url(database))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    for address in (str(tmp_path / "s.db"), database):
        writing, reading = make_engines(store_url(address))
        migrate(writing)
        with writing.begin() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, metadata) == []
        writing.dispose()
        reading.dispose()


def test_notifications_are_summed_up_and_muted(server: Server) -> None:
    subprocess.run(
        [program("createdb"), "-h", "127.0.0.1", "-p", str(server.port), "-U", "alora", "pagers"],
        check=True,
    )
    house = House(f"{server.address.rpartition('/')[0]}/pagers")
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
