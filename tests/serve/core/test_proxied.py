"""TLS by flags, a real nginx before a path, and logs that name their request."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.serve_programs import find_program, free_port, wait_for_port

from alora_ts.errors import AloraError
from alora_ts.serve.check import check_certificate
from alora_ts.serve.settings import Settings
from tests.conftest import need_program
from tests.forked import begin
from tests.serve.browser.plant import make_token, wait_for
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

API = "/api/v1"


def certificate(folder: Path, name: str = "own") -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that we signed ourselves, and its key."""
    found, key = folder / f"{name}.crt", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    about = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(found)]
    subprocess.run([*command, *about, *files], check=True, capture_output=True)
    return found, key


@contextmanager
def serving(
    folder: Path, model: Path, *flags: str, url: str = "http"
) -> Iterator[tuple[str, Path]]:
    """`alora-ts serve` in a process of its own: its address and its log."""
    port, log = free_port(), folder / "log"
    words = ["serve", "--model", f"plant={model}", "--folder", str(folder / "data")]
    process = begin([*words, "--port", str(port), *flags], log=log)
    try:
        wait_for_port(port)
        yield f"{url}://127.0.0.1:{port}", log
    finally:
        process.terminate()
        process.wait(120)


def peer_name(url: str, trust: Path) -> str:
    """Whose certificate a server shows."""
    import socket

    context = ssl.create_default_context(cafile=trust)
    port = httpx.URL(url).port
    with (
        socket.create_connection(("127.0.0.1", port or 0)) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as secure,
    ):
        shown: Any = secure.getpeercert()
    return str(dict(part[0] for part in shown["subject"])["commonName"])


@pytest.mark.slow
def test_tls_by_flags_and_a_renewed_certificate(tmp_path: Path, model_file: Path) -> None:
    own, key = certificate(tmp_path)
    flags = ["--tls-cert", str(own), "--tls-key", str(key)]
    with serving(tmp_path, model_file, *flags, url="https") as (url, log):
        trust = ssl.create_default_context(cafile=own)
        answer = httpx.get(f"{url}{API}/sources", verify=trust)
        assert [one["name"] for one in answer.json()] == ["plant"]
        # On loopback it would bind everything else on this machine to https.
        assert "strict-transport-security" not in answer.headers
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("https", "http"))
        assert "listening on https://127.0.0.1" in log.read_text()
        renewed, fresh_key = certificate(tmp_path, "renewed")
        own.write_bytes(renewed.read_bytes())
        key.write_bytes(fresh_key.read_bytes())
        wait_for(lambda: "took up the certificate" in log.read_text())
        assert peer_name(url, renewed) == "renewed"


def test_tls_beyond_this_machine_is_for_good(
    serve: Callable[[Settings], Plant], settings: Settings, tmp_path: Path
) -> None:
    own, key = certificate(tmp_path)
    given = {"tls_cert": own, "tls_key": key, "host": "0.0.0.0"}
    here = serve(settings.model_copy(update=given))
    answer = here.client.get("/healthz")
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert "set-cookie" not in here.client.get("/").headers


def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    own, _ = certificate(tmp_path)
    _, other_key = certificate(tmp_path, "other")
    with pytest.raises(AloraError, match=r"own\.crt and the key .*other\.key are no pair"):
        check_certificate(Settings(tls_cert=own, tls_key=other_key))
    with pytest.raises(AloraError, match=r"cannot read .*none: No such file"):
        check_certificate(Settings(tls_cert=tmp_path / "none", tls_key=other_key))
    with pytest.raises(ValueError, match="both `tls_cert` and `tls_key`"):
        Settings(tls_cert=own)


NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
{locations}
  }}
}}
"""


def page_configuration(port: int) -> str:
    """The block of the documentation's page, with the port of the service."""
    text = (Path(__file__).parents[3] / "docs/how-to/run-behind-a-proxy.md").read_text()
    block = text.split("```nginx\n", 1)[1].split("```", 1)[0]
    assert "127.0.0.1:8080" in block
    return block.replace("127.0.0.1:8080", f"127.0.0.1:{port}")


@contextmanager
def nginx(folder: Path, locations: str) -> Iterator[str]:
    program = find_program("nginx") or need_program("nginx")
    folder.mkdir()
    port = free_port()
    file = folder / "nginx.conf"
    file.write_text(NGINX.format(folder=folder, port=port, locations=locations))
    process = subprocess.Popen([program, "-c", str(file), "-e", str(folder / "nginx.log")])
    try:
        wait_for_port(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.slow
@pytest.mark.parametrize("strips", [False, True])
def test_below_a_path_of_nginx(tmp_path: Path, model_file: Path, strips: bool) -> None:
    token = make_token(tmp_path / "data", "admin")
    bearer = {"authorization": f"Bearer {token}"}
    with serving(tmp_path, model_file, "--root-path", "/alora") as (url, _):
        locations = page_configuration(httpx.URL(url).port or 0)
        if strips:
            kept = "proxy_pass http://127.0.0.1:"
            assert kept in locations
            port = str(httpx.URL(url).port)
            locations = locations.replace(f"{kept}{port};", f"{kept}{port}/;")
        with (
            nginx(tmp_path / "nginx", locations) as site,
            httpx.Client(base_url=f"{site}/alora", headers=bearer, timeout=120) as client,
        ):
            bare = httpx.get(f"{site}/alora")
            assert bare.status_code in (301, 308)
            assert bare.headers["location"].endswith("/alora/")
            assert 'src="web/main.js"' in client.get("/").text
            assert client.get("/web/main.js").status_code == 200
            assert client.get("/openapi.json").json()["servers"] == [{"url": "/alora"}]
            assert client.get(f"{API}/sources").status_code == 200
            # The path in front opens no door.
            for path in (f"/alora{API}/sources", "/alora/metrics", f"/alora/alora{API}/sources"):
                assert httpx.get(f"{site}{path}").status_code in (401, 404)
            assert httpx.get(f"{url}/alora{API}/sources").status_code == 401
            with client.stream("GET", f"{API}/events") as events:
                lines = events.iter_lines()
                assert next(lines) == "retry: 2000"
                rows = plant.rows(plant.values(20))
                sent = client.post(f"{API}/sources/plant/rows", json={"rows": rows})
                assert sent.json()["accepted"] == 20
                assert any(line == "event: reading" for line in lines)


def test_a_proxy_does_not_make_everyone_a_neighbour(here: Plant) -> None:
    """A proxy on this machine that passes 127.0.0.1 on as the host used to open the service."""
    assert here.client.get(f"{API}/sources").status_code == 200
    refused = here.client.get(f"{API}/sources", headers={"x-forwarded-for": "203.0.113.7"})
    assert refused.status_code == 403
    assert "need a token" in refused.json()["error"]["message"]


def test_a_root_path_is_checked() -> None:
    assert Settings(root_path="/a/b/").root_path == "/a/b"
    for wrong in ("alora", "/api", "/web/x", "/a b", "/..", "/a//b", "/a?b"):
        with pytest.raises(ValueError, match="path"):
            Settings(root_path=wrong)


@pytest.mark.slow
def test_json_logs_name_the_request_and_no_secret(tmp_path: Path, model_file: Path) -> None:
    token = make_token(tmp_path / "data", "admin")
    flags = ["--log-format", "json", "--access-log"]
    with serving(tmp_path, model_file, *flags) as (url, log):
        headers = {"authorization": f"Bearer {token}", "x-request-id": "from-nginx-7"}
        answer = httpx.get(f"{url}{API}/sources?token={token}", headers=headers)
        assert answer.headers["x-request-id"] == "from-nginx-7"
        made = httpx.get(f"{url}/{token}", headers={"x-request-id": "a b"}).headers["x-request-id"]
        assert len(made) == 16

        def lines() -> list[dict[str, Any]]:
            return [json.loads(line) for line in log.read_text().splitlines()]

        wait_for(lambda: len(lines()) >= 3)
        first, second = [one for one in lines() if "status" in one][-2:]
        assert first["request_id"] == "from-nginx-7"
        assert (first["method"], first["path"], first["status"]) == ("GET", f"{API}/sources", 200)
        assert (second["request_id"], second["status"]) == (made, 404)
        assert token not in log.read_text()
        assert token.split("_")[2] not in log.read_text()


def test_a_failure_names_its_request(here: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("alora_ts.serve.http.endpoints.health.show_health", broken)
    answer = here.client.get(f"{API}/health", headers={"x-request-id": "r7"})
    assert answer.status_code == 500
    assert answer.json()["error"]["hint"] == "its log says why, at request r7"
    assert answer.headers["x-request-id"] == "r7"
