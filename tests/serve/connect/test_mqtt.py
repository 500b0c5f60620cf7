"""Rows and signals through a real broker: nothing is acknowledged before it is stored."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from benchmarks.serve_programs import Broker, find_program
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from alora_ts.serve.assemble import Journal, Sample
from alora_ts.serve.connect.mqtt import MqttConnector
from alora_ts.serve.connect.mqtt_client import Subscriber
from alora_ts.serve.connect.settings import BrokerSettings, MqttSettings
from alora_ts.serve.rows.interface import Progress
from alora_ts.serve.times import now_micros
from tests.conftest import need_program
from tests.serve.connect.host import MemoryHost, running, until

pytestmark = pytest.mark.slow
ROWS = {"topic": "rows", "payload": "row"}
SECOND = 1_000_000


def connector(broker: Broker, *topics: dict[str, Any], **changes: Any) -> MqttConnector:
    return MqttConnector(
        MqttSettings.model_validate(
            {
                "name": "line",
                "source": "plant",
                "host": "127.0.0.1",
                "port": broker.port,
                "topics": topics,
                **changes,
            }
        )
    )


def publish(broker: Broker, *messages: tuple[str, str | bytes], retain: bool = False) -> None:
    """Send with QoS 1 and wait until the broker has everything."""
    client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    for sent in [client.publish(topic, load, qos=1, retain=retain) for topic, load in messages]:
        sent.wait_for_publish(240)
        assert sent.is_published()
    client.disconnect()
    client.loop_stop()


def row(time: int, **values: float | None) -> tuple[str, str]:
    return "rows", json.dumps({"time": time, "values": values})


async def send(broker: Broker, *messages: tuple[str, str | bytes], retain: bool = False) -> None:
    await asyncio.to_thread(publish, broker, *messages, retain=retain)


async def connected(link: MqttConnector) -> None:
    """Wait until the broker keeps messages for us and has sent all that it kept before."""
    await until(lambda: link.status().state == "connected")


def test_rows_that_come_while_we_are_away_wait_for_us(broker: Broker, tmp_path: Path) -> None:
    async def story() -> MemoryHost:
        host = MemoryHost(tmp_path, "a", "b")
        first = connector(broker, ROWS)
        async with running(first, host):
            await connected(first)
            await send(broker, row(1, a=1, b=None), row(2, a=2, b=3))
            await until(lambda: len(host.rows) == 2)
        await send(broker, *(row(at, a=at, b=at) for at in range(3, 103)))
        async with running(connector(broker, ROWS), host):
            await until(lambda: len(host.rows) == 102)
        return host

    host = asyncio.run(story())
    assert host.rows[SECOND] == {"a": 1.0, "b": None}
    assert sorted(host.rows) == [at * SECOND for at in range(1, 103)]


def test_what_could_not_be_stored_is_sent_again(broker: Broker, tmp_path: Path) -> None:
    async def story() -> MemoryHost:
        host = MemoryHost(tmp_path, "a")
        first = connector(broker, ROWS)
        async with running(first, host):
            await connected(first)
            host.failures = 10**6
            await send(broker, *(row(at, a=at) for at in range(50)))
            await until(lambda: first.status().state == "failed")
            assert "no space left" in (first.status().last_error or "")
            assert not host.rows
        # The process ended without having stored anything; another one gets it all.
        host.failures = 2
        async with running(connector(broker, ROWS), host):
            await until(lambda: len(host.rows) == 50)
        return host

    assert sorted(asyncio.run(story()).rows) == [at * SECOND for at in range(50)]


def test_a_broker_that_restarts_loses_nothing(broker: Broker, tmp_path: Path) -> None:
    async def story() -> None:
        host = MemoryHost(tmp_path, "a")
        link = connector(broker, ROWS)
        async with running(link, host):
            await connected(link)
            await send(broker, row(1, a=1))
            await until(lambda: len(host.rows) == 1)
            await asyncio.to_thread(broker.stop)
            await until(lambda: link.status().state == "waiting")
            await asyncio.to_thread(broker.start)
            await send(broker, row(2, a=2))
            await until(lambda: len(host.rows) == 2)

    asyncio.run(story())


def test_malformed_messages_are_counted_and_not_repeated(broker: Broker, tmp_path: Path) -> None:
    bad = [b"", b"{", b"\xff", b'{"time": 1, "a": NaN}', b'{"a": 1}', b"7"]

    async def story() -> MqttConnector:
        host = MemoryHost(tmp_path, "a")
        link = connector(broker, ROWS)
        async with running(link, host):
            await connected(link)
            await send(broker, *(("rows", load) for load in bad), row(1, zzz=1), row(2, a=1))
            await until(lambda: host.rows)
            # What came before another row was acknowledged before that was stored.
            await send(broker, row(3, a=1))
            await until(lambda: len(host.rows) == 2)
        again = connector(broker, ROWS)
        async with running(again, host):
            await connected(again)
            assert again.status().received <= 1
        return link

    status = asyncio.run(story()).status()
    assert status.received == 9
    assert status.rejected == {
        "not JSON": 2,
        "not UTF-8": 1,
        "not finite": 1,
        "no time": 1,
        "not an object": 1,
        "refused by the service": 1,
    }
    assert status.last_error is not None
    assert "unknown variable" in status.last_error


def kept(folder: Path) -> list[Sample]:
    """What the journal of the connector holds; it can be read while that runs."""
    journal = Journal(folder / "line.journal")
    try:
        return journal.load()
    finally:
        journal.close()


def test_separate_signals_become_rows_across_a_crash(broker: Broker, tmp_path: Path) -> None:
    now = now_micros() // SECOND
    topics = (
        {"topic": "plant/{variable}/value"},
        {"topic": "device/{id}", "payload": "fields", "variable": "{id}.{field}"},
    )
    assemble = {"step": 1, "hold": 2, "wait": 2}

    def value(name: str, at: int, number: float) -> tuple[str, str]:
        return f"plant/{name}/value", json.dumps({"value": number, "time": now + at})

    async def story() -> tuple[MemoryHost, MqttConnector]:
        host = MemoryHost(tmp_path, "a", "b", "d.t")
        patient = {**assemble, "wait": 60}
        first = connector(broker, *topics, assemble=patient)
        async with running(first, host):
            await connected(first)
            await send(
                broker,
                value("a", 0, 1),
                value("b", 0, 2),
                ("device/d", json.dumps({"t": 3, "battery": 90, "time": now})),
                value("a", 1, 10),
            )
            await until(lambda: len(host.rows) == 1)
            await until(lambda: len(kept(tmp_path)) == 1)
        # a's second value was acknowledged, but its row is not complete: the journal has it.
        second = connector(broker, *topics, assemble=assemble)
        async with running(second, host):
            await until(lambda: len(host.rows) == 2)
            await connected(second)
            # The second was heard, b and d.t kept their values; then everything is complete.
            await send(broker, value("b", 2, 20), value("a", 2, 30), value("nobody", 2, 1))
            await until(lambda: len(host.rows) == 3)
            await until(lambda: second.status().rejected)
        return host, second

    host, second = asyncio.run(story())
    assert host.rows == {
        now * SECOND: {"a": 1.0, "b": 2.0, "d.t": 3.0},
        (now + 1) * SECOND: {"a": 10.0, "b": 2.0, "d.t": 3.0},
        (now + 2) * SECOND: {"a": 30.0, "b": 20.0, "d.t": 3.0},
    }
    assert second.status().rejected == {"unknown signal": 1}


def test_plain_numbers_silence_and_retained_values(broker: Broker, tmp_path: Path) -> None:
    async def story() -> tuple[MemoryHost, MqttConnector]:
        host = MemoryHost(tmp_path, "a", "b")
        link = connector(
            broker,
            {"topic": "v/{variable}"},
            assemble={"step": 0.2, "wait": 0.1},
            silent_after=0.7,
        )
        await send(broker, ("v/a", "5"), retain=True)
        async with running(link, host):
            await connected(link)
            await until(lambda: link.status().rejected)
            before = now_micros()
            await until(lambda: host.silences[-1:] == [{"a": None, "b": None}])
            await send(broker, ("v/a", " 21.5\n"))
            # Not the last: that may have passed when we look again.
            await until(lambda: {"b": None} in host.silences)
            await until(lambda: len(host.rows) == 1)
            await until(lambda: set(host.silences[-1]) == {"a", "b"})
            assert (host.silences[-1]["a"] or 0) >= before
        return host, link

    host, link = asyncio.run(story())
    assert list(host.rows.values()) == [{"a": 21.5, "b": None}]
    assert link.status().rejected == {"retained without a time": 1}
    assert host.silences[0] == {}


def test_a_wrong_password_is_a_visible_failure(tmp_path: Path) -> None:
    if find_program("mosquitto") is None:
        need_program("mosquitto")
    nobody = tmp_path / "nobody"
    nobody.touch(mode=0o600)
    with Broker(tmp_path / "broker", password_file=nobody) as broker:

        async def story() -> MqttConnector:
            link = connector(broker, ROWS, username="me", password="hush")
            async with running(link, MemoryHost(tmp_path, "a")):
                await until(lambda: link.status().state == "failed")
            return link

        error = asyncio.run(story()).status().last_error or ""
    assert "refused us" in error
    assert "hush" not in error


def test_a_topic_we_may_not_read_is_a_visible_failure() -> None:
    # mosquitto grants every subscription and keeps the messages back; other brokers say no.
    progress = Progress("line", "mqtt", "plant")
    settings = BrokerSettings(host="127.0.0.1")
    subscriber = Subscriber(
        settings,
        client_id="x",
        subscriptions=["rows", "secret"],
        session_expiry=0,
        progress=progress,
    )
    answers = [ReasonCode(PacketTypes.SUBACK, name) for name in ("Granted QoS 1", "Not authorized")]
    subscriber._on_subscribe(subscriber._client, None, 1, answers, None)
    assert progress.status().state == "failed"
    assert progress.status().last_error == (
        "the broker does not let us read secret (Not authorized)"
    )
    subscriber._on_subscribe(subscriber._client, None, 1, answers[:1], None)
    assert progress.status().state == "connected"


def test_an_absent_broker_and_an_unknown_source_are_visible(tmp_path: Path) -> None:
    absent = Broker.__new__(Broker)
    absent.port = 1

    async def story() -> tuple[str | None, str | None]:
        link, lost = connector(absent, ROWS), connector(absent, ROWS, source="elsewhere")
        host = MemoryHost(tmp_path, "a")
        async with running(link, host), running(lost, host):
            await until(lambda: link.status().last_error)
            await until(lambda: lost.status().last_error)
        return link.status().last_error, lost.status().last_error

    assert asyncio.run(story()) == (
        "no broker answers at 127.0.0.1:1",
        "unknown source 'elsewhere'",
    )
