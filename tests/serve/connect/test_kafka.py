"""Rows and signals from Kafka: nothing is committed before it is stored."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from benchmarks.serve_kafka_cluster import MockCluster
from benchmarks.serve_programs import free_port
from confluent_kafka import KafkaError
from pydantic import ValidationError

from alora_ts.serve.connect import kafka_client
from alora_ts.serve.connect.kafka import KafkaConnector
from alora_ts.serve.connect.kafka_client import DeadLetters, client_options
from alora_ts.serve.connect.settings import KafkaSettings
from alora_ts.serve.problems import BacklogError
from alora_ts.serve.rows.interface import Receipt
from alora_ts.serve.times import now_micros
from tests.serve.connect.host import MemoryHost, running, until

pytestmark = pytest.mark.slow
ROWS = {"topic": "rows", "payload": "row"}
SECOND = 1_000_000
SOON = {
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 300,
    "topic.metadata.refresh.interval.ms": 1000,
}


@pytest.fixture
def cluster() -> MockCluster:
    # Its broker ends with its producer, when nothing refers to it any more.
    return MockCluster()


def connector(address: str, *topics: dict[str, Any], **changes: Any) -> KafkaConnector:
    given = {
        "name": "bus",
        "source": "plant",
        "brokers": address,
        "topics": topics or (ROWS,),
        "options": SOON,
        **changes,
    }
    return KafkaConnector(KafkaSettings.model_validate(given))


def row(time: int, **values: float | None) -> tuple[str, str]:
    return "plant", json.dumps({"time": time, "values": values})


async def send(cluster: MockCluster, topic: str, *messages: tuple[str | None, str | bytes]) -> None:
    await asyncio.to_thread(cluster.send, topic, messages)


async def committed(cluster: MockCluster, *topics: str) -> None:
    while await asyncio.to_thread(cluster.behind, "alora-ts-bus", topics):
        await asyncio.sleep(0.05)


def test_rows_are_stored_then_committed_and_not_read_again(
    cluster: MockCluster, tmp_path: Path
) -> None:
    async def story() -> tuple[MemoryHost, KafkaConnector]:
        host = MemoryHost(tmp_path, "a", "b")
        await send(cluster, "rows", row(1, a=1, b=None), row(2, a=2, b=3))
        async with running(connector(cluster.address), host):
            await until(lambda: len(host.rows) == 2)
            await committed(cluster, "rows")
        array = json.dumps([{"time": at, "a": at, "b": at} for at in range(3, 103)])
        await send(cluster, "rows", ("plant", array))
        second = connector(cluster.address)
        async with running(second, host):
            await until(lambda: len(host.rows) == 102)
            await until(lambda: second.status().state == "connected")
        return host, second

    host, second = asyncio.run(story())
    assert host.rows[SECOND] == {"a": 1.0, "b": None}
    assert sorted(host.rows) == [at * SECOND for at in range(1, 103)]
    assert (second.status().received, host.duplicates) == (1, 0)


def test_what_was_not_stored_is_read_again(cluster: MockCluster, tmp_path: Path) -> None:
    async def story() -> MemoryHost:
        host = MemoryHost(tmp_path, "a")
        host.failures = 10**6
        await send(cluster, "rows", *(row(at, a=at) for at in range(50)))
        first = connector(cluster.address)
        async with running(first, host):
            await until(lambda: first.status().state == "failed")
            assert "no space left" in (first.status().last_error or "")
            assert await asyncio.to_thread(cluster.behind, "alora-ts-bus", ["rows"]) == 50
        host.failures = 1
        async with running(connector(cluster.address), host):
            await until(lambda: len(host.rows) == 50)
            await committed(cluster, "rows")
        return host

    assert sorted(asyncio.run(story()).rows) == [at * SECOND for at in range(50)]


class FullHost(MemoryHost):
    """Has a backlog until it is told otherwise."""

    full = True

    async def accept(self, source: str, rows: Any) -> Receipt:
        if self.full:
            raise BacklogError("100,000 rows of 'plant' wait to be scored; send more later")
        return await super().accept(source, rows)


def test_a_backlog_pauses_without_leaving_the_group(cluster: MockCluster, tmp_path: Path) -> None:
    # Whoever does not poll for so long is put out of the group.
    short = SOON | {"max.poll.interval.ms": 6000}

    async def story() -> tuple[FullHost, KafkaConnector]:
        host = FullHost(tmp_path, "a")
        link = connector(cluster.address, options=short)
        await send(cluster, "rows", row(1, a=1))
        async with running(link, host):
            await until(lambda: link.status().state == "failed")
            await send(cluster, "rows", *(row(at, a=at) for at in range(2, 500)))
            await asyncio.sleep(8)
            assert link.status().received <= 2, "what is paused is not read"
            assert await asyncio.to_thread(cluster.behind, "alora-ts-bus", ["rows"]) == 499
            host.full = False
            await until(lambda: len(host.rows) == 499)
            await committed(cluster, "rows")
        return host, link

    host, link = asyncio.run(story())
    assert host.duplicates == 0, "it never had to begin again"
    assert "wait to be scored" in (link.status().last_error or "")


def test_unusable_messages_go_to_the_dead_letter_topic(
    cluster: MockCluster, tmp_path: Path
) -> None:
    bad: list[str | bytes] = [b"", b"{", b"\xff", b'{"time": 1, "a": NaN}', b'{"a": 1}', b"7"]
    mismatch = json.dumps([{"time": 2, "zzz": 1}, {"time": 3, "a": 1}, {"time": 4, "zzz": 1}])

    async def story() -> KafkaConnector:
        host = MemoryHost(tmp_path, "a")
        link = connector(cluster.address)
        await send(cluster, "rows", *(("plant", load) for load in bad), ("plant", mismatch))
        async with running(link, host):
            await until(lambda: host.rows)
            await committed(cluster, "rows")
        assert sorted(host.rows) == [3 * SECOND]
        return link

    status = asyncio.run(story()).status()
    assert status.rejected == {
        "not JSON": 2,
        "not UTF-8": 1,
        "not finite": 1,
        "no time": 1,
        "not an object": 1,
        "refused by the service": 2,
    }
    letters = cluster.read("alora-ts-bus.dead-letters", 7)
    values = {(one.value() or b"") for one in letters}
    assert values == {*(load if isinstance(load, bytes) else b"" for load in bad)} | {
        mismatch.encode()
    }
    headers = {one.value(): dict(one.headers() or []) for one in letters}
    about = headers[mismatch.encode()]
    assert about["alora-ts.reason"] == b"unknown variable"
    assert (about["alora-ts.topic"], about["alora-ts.offset"]) == (b"rows", b"6")
    assert {one.key() for one in letters} == {b"plant"}


def test_separate_signals_are_committed_when_their_row_is_stored(
    cluster: MockCluster, tmp_path: Path
) -> None:
    now = now_micros() // SECOND
    topics = (
        {"topic": "signals", "key": "plant/{variable}"},
        {"topic": "^dev", "payload": "fields", "key": "{id}", "variable": "{id}.{field}"},
    )

    def value(name: str, at: int, number: float) -> tuple[str, str]:
        return f"plant/{name}", json.dumps({"value": number, "time": now + at})

    async def story() -> tuple[MemoryHost, KafkaConnector]:
        host = MemoryHost(tmp_path, "a", "b", "d.t")
        first = connector(cluster.address, *topics, assemble={"step": 1, "wait": 60})
        device = ("d", json.dumps({"t": 3, "battery": 90, "time": now}))
        await send(cluster, "signals", value("a", 0, 1), value("b", 0, 2))
        await send(cluster, "devices", device)
        async with running(first, host):
            await until(lambda: len(host.rows) == 1)
            await committed(cluster, "signals", "devices")
            await send(cluster, "signals", value("a", 1, 10), ("elsewhere/a", "1"))
            await until(lambda: first.status().rejected == {"key without a mapping": 1})
            assert await asyncio.to_thread(cluster.behind, "alora-ts-bus", ["signals"]) > 0
        # a's second value is in an unfinished row: another member reads it again.
        second = connector(cluster.address, *topics, assemble={"step": 1, "hold": 2, "wait": 1})
        async with running(second, host):
            await until(lambda: len(host.rows) == 2)
            await committed(cluster, "signals", "devices")
        return host, second

    host, _ = asyncio.run(story())
    assert host.rows == {
        now * SECOND: {"a": 1.0, "b": 2.0, "d.t": 3.0},
        (now + 1) * SECOND: {"a": 10.0, "b": 2.0, "d.t": 3.0},
    }
    assert not list(tmp_path.glob("*.journal")), "the topic is the journal"


def test_a_value_without_a_time_has_that_of_its_message(
    cluster: MockCluster, tmp_path: Path
) -> None:
    async def story() -> MemoryHost:
        host = MemoryHost(tmp_path, "a")
        await send(cluster, "signals", ("a", "21.5"))
        await asyncio.sleep(1.5)
        link = connector(cluster.address, {"topic": "signals"}, assemble={"step": 0.001})
        async with running(link, host):
            await until(lambda: host.rows)
        return host

    before = now_micros()
    host = asyncio.run(story())
    assert before - SECOND <= min(host.rows) <= before + SECOND


def test_a_wrong_topic_is_named_and_read_once_it_is_there(
    cluster: MockCluster, tmp_path: Path
) -> None:
    async def story() -> str | None:
        host = MemoryHost(tmp_path, "a")
        link = connector(cluster.address)
        async with running(link, host):
            await until(lambda: link.status().state == "failed")
            error = link.status().last_error
            await send(cluster, "rows", row(1, a=1))
            await until(lambda: host.rows)
            await until(lambda: link.status().state == "connected")
        return error

    assert "rows" in (asyncio.run(story()) or "")


def test_a_group_that_does_not_let_us_in_is_visible(
    cluster: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_client, "_JOINING", 2.0)

    async def story() -> str:
        await send(cluster, "rows", row(1, a=1))
        # Less than brokers allow.
        options = {"session.timeout.ms": 2000, "heartbeat.interval.ms": 300}
        link = connector(cluster.address, options=options)
        async with running(link, MemoryHost(tmp_path, "a")):
            await until(lambda: link.status().state == "failed", seconds=60)
        return link.status().last_error or ""

    assert "the group alora-ts-bus has not given us partitions" in asyncio.run(story())


def test_an_absent_broker_is_visible(tmp_path: Path) -> None:
    port = free_port()

    async def story() -> str:
        link = connector(f"127.0.0.1:{port}")
        async with running(link, MemoryHost(tmp_path, "a")):
            await until(lambda: link.status().state == "failed")
        return link.status().last_error or ""

    assert f"127.0.0.1:{port}" in asyncio.run(story())


def test_a_server_that_is_no_kafka_is_visible(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

        async def story() -> str:
            link = connector(address, tls=True)
            async with running(link, MemoryHost(tmp_path, "a")):
                await until(lambda: link.status().state == "failed")
            return link.status().last_error or ""

        assert address in asyncio.run(story())


def test_members_of_a_group_share_the_work_and_take_over(
    cluster: MockCluster, tmp_path: Path
) -> None:
    """Two connectors of one group; one ends, and the other reads what it had not committed."""
    keys = [f"key-{at}" for at in range(40)]

    def rows(start: int) -> list[tuple[str, str]]:
        return [(key, row(start + at, a=1)[1]) for at, key in enumerate(keys)]

    async def story() -> tuple[MemoryHost, int, int]:
        host = MemoryHost(tmp_path, "a")
        one, two = connector(cluster.address), connector(cluster.address)
        await send(cluster, "rows", *rows(0))
        async with running(two, host):
            async with running(one, host):
                await until(lambda: len(host.rows) == 40)
                # Both have partitions once both receive.
                start = 1000
                while not (one.status().received and two.status().received):
                    await send(cluster, "rows", *rows(start))
                    start += 40
                    await asyncio.sleep(0.5)
            await send(cluster, "rows", *rows(10**6))
            await until(lambda: len(host.rows) == start - 1000 + 80)
            await committed(cluster, "rows")
        return host, one.status().received, two.status().received

    host, one, two = asyncio.run(story())
    assert min(one, two) > 0
    assert one + two >= len(host.rows)


def test_login_and_other_options_are_passed_on(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("hush\n")
    settings = KafkaSettings.model_validate(
        {
            "name": "bus",
            "source": "{key}",
            "brokers": "k1:9093,k2:9093",
            "topics": [ROWS],
            "tls": True,
            "ca_file": tmp_path / "ca.pem",
            "username": "alora",
            "password_file": secret,
            "options": {"ssl.certificate.location": "me.pem", "socket.keepalive.enable": True},
        }
    )
    options = client_options(settings)
    assert options["security.protocol"] == "SASL_SSL"
    assert options["sasl.password"] == "hush"
    assert options["sasl.mechanisms"] == "SCRAM-SHA-512"
    assert options["ssl.certificate.location"] == "me.pem"
    assert options["socket.keepalive.enable"] == "true"
    assert "hush" not in repr(settings)
    assert "ssl.certificate.location" in client_options(settings, reading=False)
    soon = settings.model_copy(update={"options": SOON})
    assert "session.timeout.ms" not in client_options(soon, reading=False)
    assert settings.sources() == set()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": {"group.id": "x"}}, "give `group` instead"),
        ({"options": {"enable.auto.commit": True}}, "needs its own"),
        ({"options": {"sasl.password": "x"}}, "give `password_file` instead"),
        ({"topics": [{"topic": "t"}]}, r"connect\.kafka\.assemble"),
        ({"topics": [{"topic": "^(", "payload": "row"}]}, "no regular expression"),
        ({"source": "{site}"}, r"has no \{site\}"),
        ({"topics": []}, "at least 1"),
    ],
)
def test_bad_settings_are_refused_in_words(changes: dict[str, Any], message: str) -> None:
    given = {"name": "b", "source": "plant", "brokers": "h", "topics": [ROWS], **changes}
    with pytest.raises(ValidationError, match=message):
        KafkaSettings.model_validate(given)


def test_an_option_that_does_not_exist_is_named(tmp_path: Path) -> None:
    async def story() -> str:
        link = connector("127.0.0.1:1", options={"no.such.thing": 1})
        async with running(link, MemoryHost(tmp_path, "a")):
            await until(lambda: link.status().state == "failed")
        return link.status().last_error or ""

    assert "no.such.thing" in asyncio.run(story())


def test_rows_of_other_keys_are_for_other_sources(cluster: MockCluster, tmp_path: Path) -> None:
    async def story() -> KafkaConnector:
        host = MemoryHost(tmp_path, "a")
        link = connector(cluster.address, source="{key}")
        await send(cluster, "rows", row(1, a=1), ("nobody", row(2, a=2)[1]))
        async with running(link, host):
            await until(lambda: host.rows and link.status().rejected)
            await committed(cluster, "rows")
        assert host.rows == {SECOND: {"a": 1.0}}
        return link

    assert asyncio.run(story()).status().rejected == {"unknown source": 1}
    [letter] = cluster.read("alora-ts-bus.dead-letters", 1)
    assert letter.key() == b"nobody"


def test_a_dead_letter_topic_that_is_refused_stops_and_says_so(
    cluster: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is committed while a message that cannot be used has no place to go."""

    async def story() -> KafkaConnector:
        host = MemoryHost(tmp_path, "a")
        link = connector(cluster.address)
        await send(cluster, "rows", ("plant", "{"), row(1, a=1))
        async with running(link, host):
            await until(lambda: "dead-letter" in (link.status().last_error or ""))
            assert await asyncio.to_thread(cluster.behind, "alora-ts-bus", ["rows"]) == 2
        return link

    # The mock cluster refuses no topic.
    refused = KafkaError.TOPIC_AUTHORIZATION_FAILED
    monkeypatch.setattr(DeadLetters, "_deliver", lambda *_: {0: refused})
    assert "dead_letters = false" in (asyncio.run(story()).status().last_error or "")
