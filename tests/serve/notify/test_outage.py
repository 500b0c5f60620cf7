"""A receiver that is down for an hour: nothing is lost, and no flood comes afterwards."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.serve_programs import free_port
from sqlalchemy import update

from alora_ts.serve.notify import Dispatcher, NotifySettings, build_channels
from alora_ts.serve.notify.interface import EventKind
from alora_ts.serve.store.incidents import save_incident
from alora_ts.serve.store.outbox import (
    StoredOutbox,
    count_by_channel,
    dead_reasons,
    post,
    revive,
)
from alora_ts.serve.store.schema import outbox, sources
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import from_micros
from tests.serve.notify.alertmanager import Alertmanager
from tests.serve.notify.servers import webhook
from tests.serve.notify.test_dispatcher import drain

HOUR = 3600.0


class House:
    """A store in which things happen at moments of our choice."""

    def __init__(self, address: str) -> None:
        self.store = Store(address)
        row = {
            "id": 1,
            "name": "plant",
            "variables": [],
            "bucket_us": 1,
            "score_from_us": 0,
            "late_count": 0,
            "created_us": 0,
        }
        self.store.writer.run(lambda c: c.execute(sources.insert(), row))
        self.now = 1_780_000_000.0

    def happens(self, key: str, kind: EventKind, channels: list[str]) -> None:
        moment = int(self.now * 1e6)
        record = {
            "id": key,
            "source_id": 1,
            "model_id": None,
            "kind": "anomaly",
            "variable": None,
            "state": "closed" if kind == "closed" else "open",
            "start_us": moment,
            "end_us": moment,
            "peak_raw": 1.0,
            "severity": "high",
            "verdict": None,
            "detail": {},
        }
        shown: dict[str, Any] = {
            "id": key,
            "source": "plant",
            "kind": "anomaly",
            "severity": "high",
            "start": from_micros(moment),
            "culprits": [{"variable": "pump", "share": 1.0, "direction": "above"}],
        }

        def write(connection: Any) -> None:
            save_incident(connection, record)
            post(connection, channels, kind, shown)
            fresh = outbox.c.attempts == 0, outbox.c.created_us > moment
            times = {"created_us": moment, "next_try_us": moment}
            connection.execute(update(outbox).where(*fresh).values(**times))

        self.store.writer.run(write)

    def counts(self, channel: str) -> dict[str, int]:
        with self.store.reading() as connection:
            return count_by_channel(connection).get(channel, {})


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(str(tmp_path / "store.db"))
    yield made
    made.store.close()


def dispatcher(house: House, **channels: Any) -> Dispatcher:
    settings = NotifySettings.model_validate({"page": "https://alora.example.org", **channels})
    return Dispatcher(StoredOutbox(house.store), build_channels(settings), seed=0)


async def an_hour_of_attempts(house: House, sender: Dispatcher) -> None:
    for _ in range(60):
        house.now += HOUR / 60
        await drain(sender, house.now)


def test_after_an_hour_what_lasts_is_told_and_what_is_over_is_summed_up(house: House) -> None:
    port = free_port()
    sender = dispatcher(house, webhook=[{"name": "pager", "url": f"http://127.0.0.1:{port}/"}])
    with webhook(port=port) as before:
        house.happens("told", "opened", ["pager"])
        asyncio.run(drain(sender, house.now))
    assert len(before.requests) == 1
    for number in range(40):
        house.happens(f"short-{number}", "opened", ["pager"])
        house.now += 5
        house.happens(f"short-{number}", "closed", ["pager"])
    house.happens("told", "closed", ["pager"])
    house.happens("lasts", "opened", ["pager"])
    asyncio.run(an_hour_of_attempts(house, sender))
    assert house.counts("pager")["missed"] == 80
    assert "dead" not in house.counts("pager")
    with webhook(port=port) as after:

        async def back() -> None:
            # Whichever is due first succeeds within minutes; the others follow at once.
            while len(after.requests) < 1:
                house.now += 1
                await drain(sender, house.now)
            while await drain(sender, house.now):
                pass

        asyncio.run(back())
    told = [json.loads(body) for _, body in after.requests]
    assert sorted(one["event"] for one in told) == ["closed", "missed", "opened"]
    [missed] = [one for one in told if one["event"] == "missed"]
    assert {one["id"] for one in missed["incidents"]} == {f"short-{n}" for n in range(40)}
    assert missed["link"] == "https://alora.example.org/#/incidents"
    assert {one["incident"]["id"] for one in told if "incident" in one} == {"told", "lasts"}
    assert house.counts("pager") == {"sent": 4, "missed": 80}


def test_a_mail_sums_up_in_words() -> None:
    from alora_ts.serve.notify import IncidentEvent
    from alora_ts.serve.notify.message import headline, story
    from alora_ts.serve.notify.template import render

    one = {"source": "plant", "start": "2026-05-01T12:00:00Z", "culprits": []}
    event = IncidentEvent("1", "missed", {"source": "plant", "incidents": [one, one]})
    assert headline(event) == (
        "plant: 2 incidents began and ended while this channel could not be reached"
    )
    assert "2026-05-01T12:00:00Z plant: incident is over" in story(event, page="http://here")
    assert render("$event $link", event, page="http://here") == "missed http://here/#/incidents"


def test_an_end_never_overtakes_its_beginning(house: House) -> None:
    port = free_port()
    sender = dispatcher(house, webhook=[{"name": "pager", "url": f"http://127.0.0.1:{port}/"}])
    house.happens("one", "opened", ["pager"])
    asyncio.run(drain(sender, house.now))
    house.happens("one", "closed", ["pager"])
    with webhook(500, port=port) as hook:
        # The beginning waits for its next attempt, and the end for it.
        assert not asyncio.run(drain(sender, house.now))
        for _ in range(20):
            house.now += 1
            asyncio.run(drain(sender, house.now))
    assert [json.loads(body)["event"] for _, body in hook.requests] == [
        "opened",
        "opened",
        "closed",
    ]


def test_given_up_notifications_say_why_and_can_be_sent_again(house: House) -> None:
    port = free_port()
    sender = dispatcher(house, webhook=[{"name": "pager", "url": f"http://127.0.0.1:{port}/"}])
    with webhook(404, port=port) as hook:
        house.happens("one", "opened", ["pager"])
        asyncio.run(drain(sender, house.now))
        assert house.counts("pager") == {"dead": 1}
        with house.store.reading() as connection:
            reasons = dead_reasons(connection)
        assert reasons == {"pager": "the receiver answered 404; check its `url`"}
        assert house.store.writer.run(lambda c: revive(c, "pager")) == 1
        asyncio.run(drain(sender, house.now + 1e9))
    assert len(hook.requests) == 2
    assert house.counts("pager") == {"sent": 1}


def test_alertmanager_is_told_what_lasts_and_nothing_that_is_over(
    house: House, tmp_path: Path
) -> None:
    manager = Alertmanager(tmp_path / "manager")
    section = {"name": "am", "url": manager.url, "resend": 0.3}
    sender = dispatcher(house, alertmanager=[section])
    house.happens("short", "opened", ["am"])
    house.happens("short", "closed", ["am"])
    house.happens("lasts", "opened", ["am"])
    asyncio.run(an_hour_of_attempts(house, sender))
    assert house.counts("am") == {"missed": 2, "pending": 1}

    async def back() -> None:
        task = asyncio.create_task(sender.run())
        with manager.running():
            while not (found := await asyncio.to_thread(manager.alerts)):
                await asyncio.sleep(0.05)
            assert [alert["labels"]["incident"] for alert in found] == ["lasts"]
            while house.counts("am").get("sent") != 1:
                await asyncio.sleep(0.05)
            house.happens("lasts", "closed", ["am"])
            while await asyncio.to_thread(manager.alerts):
                await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(asyncio.wait_for(back(), 240))
    # Whoever was told of an open incident is not forgotten while it lasts.
    assert house.counts("am")["sent"] == 2


def expired(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 whose time is over."""
    key, wanted, certificate = folder / "key", folder / "wanted", folder / "certificate"
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), *name]
    sign = ["openssl", "x509", "-req", "-in", str(wanted), "-signkey", str(key), "-days", "-1"]
    extra = ["-copy_extensions", "copy", "-out", str(certificate)]
    subprocess.run([*make, "-out", str(wanted)], check=True, capture_output=True)
    subprocess.run([*sign, *extra], check=True, capture_output=True)
    return key, certificate


def test_an_expired_certificate_is_named(house: House, tmp_path: Path) -> None:
    import ssl

    key, certificate = expired(tmp_path)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(certificate, key)

    async def story() -> str:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=trust)
        port = server.sockets[0].getsockname()[1]
        section = {
            "name": "pager",
            "url": f"https://127.0.0.1:{port}/",
            "ca_file": str(certificate),
        }
        [channel] = build_channels(NotifySettings.model_validate({"webhook": [section]}))
        house.happens("one", "opened", ["pager"])
        await drain(Dispatcher(StoredOutbox(house.store), [channel]), house.now)
        server.close()
        assert channel.state.failing_since == house.now
        return channel.state.error or ""

    why = asyncio.run(story())
    assert why == "the receiver's certificate is not accepted: certificate has expired"
    assert house.counts("pager") == {"pending": 1}
