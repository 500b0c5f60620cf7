"""An MQTT client whose messages wait for us: nothing is acknowledged before it is stored."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from alora_ts.serve.connect.settings import BrokerSettings
from alora_ts.serve.operate.secrets import read_secret
from alora_ts.serve.rows.interface import Progress

__all__ = ["Message", "Subscriber", "make_client"]

_IN_FLIGHT = 2000  # messages a broker may send before the first is acknowledged
_MOST_WAITING = 20_000  # beyond this, messages nobody would send again (QoS 0) are dropped


@dataclass(frozen=True, slots=True)
class Message:
    """A message, and the connection that it came by."""

    topic: str
    payload: bytes
    retained: bool
    mid: int
    qos: int
    connection: int


def make_client(settings: BrokerSettings, client_id: str, **options: Any) -> mqtt.Client:
    """Make a client for a broker, ready to connect."""
    client = mqtt.Client(
        CallbackAPIVersion.VERSION2,
        client_id=client_id,
        protocol=MQTTProtocolVersion.MQTTv5,
        **options,
    )
    if settings.username is not None:
        client.username_pw_set(
            settings.username, read_secret(settings.password, settings.password_file)
        )
    if settings.tls or settings.ca_file is not None:
        client.tls_set_context(ssl.create_default_context(cafile=settings.ca_file))
    return client


class Subscriber:
    """Receives messages in a thread of its own and reconnects by itself.

    Parameters
    ----------
    settings : BrokerSettings
    client_id : str
        The broker keeps our unacknowledged messages under this name.
    subscriptions : sequence of str
    session_expiry : int
        For how many seconds it keeps them while we are away.
    progress : Progress
    """

    def __init__(
        self,
        settings: BrokerSettings,
        *,
        client_id: str,
        subscriptions: Sequence[str],
        session_expiry: int,
        progress: Progress,
    ) -> None:
        self._settings = settings
        self._subscriptions = subscriptions
        self._expiry = session_expiry
        self._progress = progress
        self._waiting: deque[Message] = deque()
        self._lock = threading.Lock()
        self._connection = 0
        self._up = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._arrived = asyncio.Event()
        self._client = make_client(settings, client_id, manual_ack=True)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_connect_fail = self._on_connect_fail
        self._client.on_subscribe = self._on_subscribe
        self._client.on_message = self._on_message
        self._client.reconnect_delay_set(min_delay=1, max_delay=30)

    def start(self) -> None:
        """Connect in the background."""
        self._loop = asyncio.get_running_loop()
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = self._expiry
        properties.ReceiveMaximum = _IN_FLIGHT
        self._client.connect_async(
            self._settings.host,
            self._settings.port,
            keepalive=30,
            clean_start=False,
            properties=properties,
        )
        self._client.loop_start()

    def stop(self) -> None:
        """Disconnect; the broker keeps what is not acknowledged."""
        self._client.disconnect()
        self._client.loop_stop()

    async def next(self, *, timeout: float, limit: int = 1000) -> list[Message]:
        """Wait for messages, at most ``timeout`` seconds, and return those that are there."""
        if not self._waiting:
            self._arrived.clear()
            # One may have come between the look and the clear.
            if not self._waiting:
                try:
                    await asyncio.wait_for(self._arrived.wait(), timeout)
                except TimeoutError:
                    return []
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Let the broker forget messages.

        Those of an earlier connection are skipped: the broker sends them again, and may use
        their numbers for others meanwhile.
        """
        for message in messages:
            if message.qos and message.connection == self._connection:
                self._client.ack(message.mid, message.qos)

    def _on_connect(self, client: mqtt.Client, _: Any, __: Any, reason: Any, ___: Any) -> None:
        if reason.is_failure:
            self._progress.enter("failed", f"the broker refused us: {reason}")
            return
        self._connection += 1
        self._up = True
        client.subscribe([(topic, SubscribeOptions(qos=1)) for topic in self._subscriptions])

    def _on_subscribe(self, _: mqtt.Client, __: Any, ___: int, reasons: Any, ____: Any) -> None:
        # Only from here on the broker keeps messages for us.
        answers = zip(self._subscriptions, reasons, strict=False)
        refused = [f"{topic} ({reason})" for topic, reason in answers if reason.is_failure]
        if refused:
            self._progress.enter("failed", f"the broker does not let us read {', '.join(refused)}")
        else:
            self._progress.enter("connected")

    def _on_disconnect(self, _: mqtt.Client, __: Any, ___: Any, reason: Any, ____: Any) -> None:
        self._connection += 1
        # A refusal ends the connection as well, and should stay what is shown.
        if not self._up:
            return
        self._up = False
        failed = f"the connection ended: {reason}" if reason.is_failure else None
        self._progress.enter("waiting", failed)

    def _on_connect_fail(self, _: mqtt.Client, __: Any) -> None:
        host, port = self._settings.host, self._settings.port
        self._progress.enter("waiting", f"no broker answers at {host}:{port}")

    def _on_message(self, _: mqtt.Client, __: Any, message: mqtt.MQTTMessage) -> None:
        self._progress.received(1)
        if message.qos == 0 and len(self._waiting) >= _MOST_WAITING:
            self._progress.reject("dropped, too many wait")
            return
        with self._lock:
            self._waiting.append(
                Message(
                    message.topic,
                    bytes(message.payload),
                    message.retain,
                    message.mid,
                    message.qos,
                    self._connection,
                )
            )
        # Whoever waits looks for messages again after clearing the event: one call is enough.
        if not self._arrived.is_set() and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrived.set)
