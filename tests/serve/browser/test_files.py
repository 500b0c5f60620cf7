"""The dashboard's files and the headers they come with."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from alora_ts.serve.web.mount import SECURITY_HEADERS

STATIC = Path(str(files("alora_ts.serve.web") / "static"))
OURS = sorted(
    path
    for path in STATIC.rglob("*")
    if path.suffix in {".html", ".css", ".js", ".svg"} and "vendor" not in path.parts
)


@pytest.fixture(scope="module")
def client(bare_site) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=bare_site) as made:
        yield made


def addresses() -> list[str]:
    found = [f"/web/{path.relative_to(STATIC).as_posix()}" for path in STATIC.rglob("*.*")]
    return ["/", "/web/report.css", *sorted(found)]


@pytest.mark.parametrize("address", addresses())
def test_every_file_comes_with_the_headers(client, address):
    answer = client.get(address)
    assert answer.status_code == 200
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers[name] == value


def test_an_unchanged_file_is_not_sent_again(client):
    first = client.get("/web/main.js")
    again = client.get("/web/main.js", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["content-security-policy"]


@pytest.mark.parametrize(
    "address",
    ["/web/../mount.py", "/web/%2e%2e/mount.py", "/web/..%2fmount.py", "/web//etc/passwd", "/web/"],
)
def test_no_path_leads_out_of_the_folder(bare_site, address):
    # Not by httpx, which would tidy the path before sending it.
    raw = http.client.HTTPConnection(urlsplit(bare_site).netloc)
    raw.request("GET", address)
    assert raw.getresponse().status == 404
    raw.close()


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_nothing_is_inline_or_from_elsewhere(path):
    text = path.read_text(encoding="utf-8")
    for address in re.findall(r"https?://[^\s\"'`)]+", text):
        assert address.startswith("http://www.w3.org/"), address
    if path.suffix == ".html":
        assert not re.search(r"\sstyle=|\son\w+=|<style|<script>", text)
    if path.suffix == ".js":
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not re.search(r"setAttribute\(\"style\"", text)


def test_every_import_leads_to_a_file():
    for path in OURS:
        for target in re.findall(r"from \"(\.[^\"]+)\"", path.read_text(encoding="utf-8")):
            assert (path.parent / target).resolve().is_file(), f"{path.name} imports {target}"


def test_files_stay_small():
    long = {path.name: path.read_text("utf-8").count("\n") for path in OURS}
    assert {name: lines for name, lines in long.items() if lines > 250} == {}
