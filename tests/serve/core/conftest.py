from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.serve_postgres import Server, postgres_program, running_server
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.serve.http.app import create_app
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.rows import read_readings
from tests.conftest import need_program
from tests.serve.core import plant

with warnings.catch_warnings():
    # starlette prefers another package than httpx, which is not a dependency of ours.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient


@pytest.fixture(scope="session")
def model() -> ALoRa:
    return plant.fit()


@pytest.fixture(scope="session")
def model_file(model: ALoRa, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model.save(tmp_path_factory.mktemp("model") / "plant.alora")


@pytest.fixture
def settings(tmp_path: Path, model_file: Path) -> Settings:
    return Settings(folder=tmp_path / "data", models={"plant": model_file}, late_limit=1e6)


class Plant:
    """A service with its client, and what tests ask of it."""

    def __init__(self, service: Service, client: TestClient) -> None:
        self.service = service
        self.client = client

    @property
    def source(self) -> Source:
        return self.service.sources.get("plant")

    def send(self, rows: list[dict[str, Any]], source: str = "plant") -> dict[str, Any]:
        answer = self.client.post(f"/api/v1/sources/{source}/rows", json={"rows": rows})
        assert answer.status_code == 200, answer.text
        receipt: dict[str, Any] = answer.json()
        return receipt

    def settle(self) -> None:
        settle(self.service)

    def scores(self) -> NDArray[np.float64]:
        self.settle()
        return stored_scores(self.service, self.source)


def send_with_restart(
    serve: Callable[[Settings], Plant],
    settings: Settings,
    rows: list[dict[str, Any]],
    cut: int | None,
) -> Plant:
    """A service that was sent all rows, restarted before row ``cut``; None never restarts it."""
    here = serve(settings)
    if cut is not None:
        here.send(rows[:cut])
        here.settle()
        here.client.__exit__(None, None, None)
        here = serve(settings)
    here.send(rows[cut or 0 :])
    return here


def settle(service: Service) -> None:
    """Wait until every row has its reading."""
    deadline = time.monotonic() + 300
    while service.crew.waiting() or any(one.unscored for one in service.sources.all()):
        assert time.monotonic() < deadline, "scoring does not end"
        assert not service.crew.troubles, service.crew.troubles
        time.sleep(0.005)


def stored_scores(service: Service, source: Source) -> NDArray[np.float64]:
    with service.store.reading() as connection:
        found = read_readings(connection, source.id, start=-(2**62), end=2**62)
    return np.array([row.score for row in found])


@pytest.fixture
def serve() -> Iterator[Callable[[Settings], Plant]]:
    opened: list[TestClient] = []

    def start(settings: Settings) -> Plant:
        service = Service(settings)
        client = TestClient(
            create_app(service), base_url="http://127.0.0.1", raise_server_exceptions=False
        )
        client.__enter__()
        opened.append(client)
        return Plant(service, client)

    yield start
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def here(serve: Callable[[Settings], Plant], settings: Settings) -> Plant:
    return serve(settings)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    try:
        postgres_program("initdb")
    except FileNotFoundError:
        need_program("initdb")
    with running_server() as server:
        yield server


@pytest.fixture
def database(server: Server) -> str:
    return server.address
