"""Who may do what, how much and how often; and that hostile requests end as 4xx."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from alora_ts.errors import AloraError
from alora_ts.serve.http.app import create_app
from alora_ts.serve.http.limits import RateLimiter
from alora_ts.serve.http.tokens import Bearer, TokenBook, make_token
from alora_ts.serve.run import refuse_open_door
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.tokens import all_tokens, revoke_token
from alora_ts.serve.times import now_micros
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

ROWS = "/api/v1/sources/plant/rows"
Start = Callable[[Settings], Plant]
ROLES = ("ingest", "read", "write", "admin")


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def tokens(here: Plant) -> dict[str, str]:
    store = here.service.store
    made = {role: make_token(store, name=role, role=role) for role in ROLES}
    here.service.tokens._read = -1e9  # the book is two seconds old at most; do not wait for it
    return made


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/v1/sources", "read write admin"),
        ("GET", "/metrics", "read write admin"),
        ("GET", "/api/v1/audit", "admin"),
        ("POST", ROWS, "ingest write admin"),
        ("GET", "/api/v1/patterns", "read write admin"),
        ("GET", "/api/v1/incidents/x/feedback", "read write admin"),
        ("POST", "/api/v1/incidents/x/feedback", "write admin"),
        ("DELETE", "/api/v1/incidents/x/feedback", "write admin"),
        ("POST", "/api/v1/incidents/x/work", "write admin"),
        ("POST", "/api/v1/detect", "write admin"),
        ("POST", "/api/v1/sources/plant/recalibrate", "admin"),
        ("POST", "/api/v1/models?name=x", "admin"),
        ("POST", "/api/v1/sources/plant/activate", "admin"),
        ("POST", "/api/v1/sources/plant/rollback", "admin"),
        ("POST", "/api/v1/sources/plant/fits", "admin"),
        ("DELETE", "/api/v1/fits/x", "admin"),
    ],
)
def test_roles(here: Plant, tokens: dict[str, str], method: str, path: str, allowed: str) -> None:
    assert here.client.request(method, path).status_code == 401
    for role in ROLES:
        answer = here.client.request(method, path, headers=bearer(tokens[role]))
        assert (answer.status_code != 403) == (role in allowed.split()), role
        assert answer.status_code != 401


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_revoking_the_last_token_closes(serve: Start, settings: Settings, host: str) -> None:
    here = serve(settings.model_copy(update={"host": host}))
    book, store = here.service.tokens, here.service.store
    token = make_token(store, name="n", role="admin")
    book._read = -1e9
    assert here.client.get("/api/v1/models", headers=bearer(token)).status_code == 200
    store.writer.run(lambda c: revoke_token(c, token.split("_")[1]))
    book._read = -1e9
    for headers in ({}, bearer(token)):
        assert here.client.get("/api/v1/models", headers=headers).status_code == 401
    body = {"model_id": here.source.model_id}
    assert here.client.post("/api/v1/sources/plant/activate", json=body).status_code == 401


def test_nobody_is_let_in_beyond_loopback_without_tokens(serve: Start, settings: Settings) -> None:
    here = serve(settings.model_copy(update={"host": "0.0.0.0"}))
    assert here.client.get("/api/v1/models").status_code == 401


def test_tokens_expire(here: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    token = make_token(here.service.store, name="n", role="read", days=2)
    here.service.tokens._read = -1e9
    assert here.client.get("/api/v1/sources", headers=bearer(token)).status_code == 200
    later = now_micros() + 2 * 86_400_000_000
    monkeypatch.setattr("alora_ts.serve.http.tokens.now_micros", lambda: later)
    assert here.client.get("/api/v1/sources", headers=bearer(token)).status_code == 401
    with pytest.raises(AloraError, match="in force for -1 days"):
        make_token(here.service.store, name="n", role="read", days=-1)


def test_an_ingest_token_keeps_to_its_source(here: Plant) -> None:
    store = here.service.store
    own = make_token(store, name="gateway", role="ingest", source="plant")
    other = make_token(store, name="gateway", role="ingest", source="elsewhere")
    here.service.tokens._read = -1e9
    body = {"rows": plant.rows(plant.values(2))}
    assert here.client.post(ROWS, json=body, headers=bearer(own)).status_code == 200
    assert here.client.post(ROWS, json=body, headers=bearer(other)).status_code == 403
    with pytest.raises(AloraError, match="only a token with the role ingest"):
        make_token(store, name="n", role="admin", source="plant")


def test_changes_are_audited(here: Plant, tokens: dict[str, str]) -> None:
    admin = bearer(tokens["admin"])
    body = {"model_id": here.source.model_id}
    assert here.client.post("/api/v1/sources/plant/activate", json=body, headers=admin).is_success
    assert here.client.post("/api/v1/sources/plant/rollback", headers=admin).is_success
    trail = here.client.get("/api/v1/audit", headers=admin).json()
    who = f"admin ({tokens['admin'].split('_')[1]})"
    assert [(one["who"], one["action"], one["target"]) for one in trail[:2]] == [
        (who, "model rolled back", "plant"),
        (who, "model activated", "plant"),
    ]
    assert trail[1]["detail"] == {"model": here.source.model_id}
    assert trail[2]["action"] == "token created"
    assert trail[2]["who"] == "this machine"
    page = here.client.get(f"/api/v1/audit?before={trail[0]['number']}&limit=1", headers=admin)
    assert [one["number"] for one in page.json()] == [trail[1]["number"]]
    # What failed has changed nothing and leaves no entry.
    assert here.client.post("/api/v1/sources/plant/rollback", headers=admin).status_code == 409
    assert len(here.client.get("/api/v1/audit", headers=admin).json()) == len(trail)


def test_a_number_no_database_holds_is_the_callers_fault(here: Plant) -> None:
    assert here.client.get(f"/api/v1/audit?before={2**90}").status_code == 422
    assert here.client.get("/api/v1/audit?before=1").json() == []


def test_open_pages_need_no_token(here: Plant, tokens: dict[str, str]) -> None:
    assert tokens
    for path in ("/", "/healthz", "/readyz", "/docs", "/openapi.json"):
        assert here.client.get(path).status_code == 200


def test_wrong_and_revoked_tokens(here: Plant, tokens: dict[str, str]) -> None:
    good = tokens["read"]
    wrong = ["", "x", good[:-1], good + "a", good[:-2] + "zz", "alora_00000000_" + "a" * 43]
    for token in wrong:
        answer = here.client.get("/api/v1/sources", headers=bearer(token))
        assert answer.status_code == 401
        assert token == "" or len(token) < 5 or token not in answer.text
    assert here.client.get("/api/v1/sources", headers=bearer(good)).status_code == 200
    here.service.store.writer.run(lambda c: revoke_token(c, good.split("_")[1]))
    here.service.tokens._read = -1e9
    assert here.client.get("/api/v1/sources", headers=bearer(good)).status_code == 401


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests take no time, however busy the machine is."""
    monkeypatch.setattr(
        "alora_ts.serve.http.access.RateLimiter", lambda: RateLimiter(now=lambda: 0.0)
    )


@pytest.mark.usefixtures("stopped_clock")
def test_guessing_is_slowed(here: Plant, tokens: dict[str, str]) -> None:
    found = {here.client.get("/api/v1/sources", headers=bearer("x")).status_code for _ in range(40)}
    assert found == {401, 429}
    good = here.client.get("/api/v1/sources", headers=bearer(tokens["read"]))
    assert good.status_code == 200


def test_only_hashes_are_kept(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.db"))
    try:
        token = make_token(store, name="n", role="read")
        with store.reading() as connection:
            kept = all_tokens(connection)[0]
        assert token not in str(kept)
        assert token.split("_", 2)[2] not in str(kept)
        assert TokenBook(store).bearer_of(token) == Bearer(kept.id, "n", "read", None)
        with pytest.raises(AloraError, match="did you mean 'admin'"):
            make_token(store, name="n", role="admn")
    finally:
        store.close()
    everything = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert token.encode() not in everything


def test_refuses_to_listen_elsewhere_without_tokens(settings: Settings) -> None:
    service = Service(settings.model_copy(update={"host": "0.0.0.0"}))
    try:
        with pytest.raises(AloraError, match="without tokens"):
            refuse_open_door(service)
        make_token(service.store, name="n", role="admin")
        service.tokens._read = -1e9
        refuse_open_door(service)
    finally:
        service.close()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_what_counts_as_loopback(host: str, loopback: bool) -> None:
    assert Settings(host=host).loopback is loopback


def test_other_pages_cannot_use_the_browser(here: Plant) -> None:
    rebound = here.client.get("/api/v1/sources", headers={"host": "evil.example"})
    assert rebound.status_code == 403
    posted = here.client.post(ROWS, json={"rows": []}, headers={"origin": "http://evil.example"})
    assert posted.status_code == 403
    own = here.client.post(ROWS, json={"rows": []}, headers={"origin": "http://127.0.0.1"})
    assert own.status_code == 200


def test_headers(here: Plant) -> None:
    for path in ("/api/v1/sources", "/", "/nowhere", "/docs"):
        headers = here.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


async def endless(app: FastAPI, kind: bytes) -> tuple[int, int]:
    """Send without end, as a client that does not say how much; gives status and bytes taken."""
    sent, status = 0, 0
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": ROWS,
        "raw_path": ROWS.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", kind)],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> dict[str, Any]:
        nonlocal sent
        sent += 1 << 20
        return {"type": "http.request", "body": b" " * (1 << 20), "more_body": True}

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    await app(scope, receive, send)
    return status, sent


def test_large_bodies_are_refused_before_they_are_read(here: Plant) -> None:
    said = here.client.post(ROWS, content=b"", headers={"content-length": str(2**30)})
    assert said.status_code == 413
    for kind in (b"application/json", b"application/x-ndjson"):
        status, sent = asyncio.run(endless(create_app(here.service), kind))
        assert status in {413, 422}
        assert sent <= here.service.settings.body_limit + (2 << 20)
    strange = here.client.post(ROWS, content=b"", headers={"content-length": "-1"})
    assert strange.status_code == 413


@pytest.mark.usefixtures("stopped_clock")
def test_rates(serve: Start, settings: Settings) -> None:
    here = serve(settings.model_copy(update={"rate_limit": 2.0}))
    found = [here.client.get("/api/v1/sources").status_code for _ in range(8)]
    assert found == [200] * 4 + [429] * 4


def test_a_limiter_forgets_and_refills() -> None:
    now = 0.0
    limiter = RateLimiter(now=lambda: now)
    assert [limiter.wait("a", rate=2.0) for _ in range(5)] == [0, 0, 0, 0, 0.5]
    now = 0.5
    assert limiter.wait("a", rate=2.0) == 0
    assert limiter.wait("a", rate=2.0) > 0
    assert limiter.wait("b", rate=2.0) == 0


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/models/..%2f..%2fetc%2fpasswd",
        "/api/v1/models/%2e%2e/contributions",
        "/api/v1/sources/..%2f/readings",
        "/api/v1/incidents/%00",
        "/web/..%2f..%2f..%2fsettings.py",
        "/web/%2e%2e/mount.py",
        "/api/v1/fits/" + "x" * 3000,
    ],
)
def test_path_tricks(here: Plant, path: str) -> None:
    answer = here.client.get(path)
    assert answer.status_code in {404, 422}
    assert "root:" not in answer.text
    assert "import" not in answer.text


def test_a_source_named_by_a_path_is_not_made(here: Plant) -> None:
    body = {"model_id": here.source.model_id}
    for name in ("..", ".hidden", "a b", "x" * 101, "%2e%2e%2fetc"):
        answer = here.client.post(f"/api/v1/sources/{name}/activate", json=body)
        assert answer.status_code in {404, 405, 422}
    assert [source.name for source in here.service.sources.all()] == ["plant"]


def test_no_secret_in_the_log(
    here: Plant, tokens: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    here.client.get("/api/v1/sources", headers=bearer(tokens["admin"]))
    here.client.post(
        ROWS, headers=bearer(tokens["write"]), json={"rows": plant.rows(plant.values(3))}
    )
    assert tokens["admin"] not in caplog.text
    assert tokens["write"] not in caplog.text


def test_metrics_name_every_number(here: Plant) -> None:
    here.send(plant.rows(plant.values(30)))
    here.settle()
    text = here.client.get("/metrics").text
    for line in (
        'alora_rows_total{source="plant"} 30.0',
        'alora_readings_total{source="plant"} 30.0',
        "alora_score{",
        "alora_threshold{",
        "alora_reading_latency_seconds_count",
        "alora_http_requests_total{",
    ):
        assert line in text
