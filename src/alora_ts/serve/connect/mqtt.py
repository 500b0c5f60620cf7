"""Rows and signals from an MQTT broker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Container, Sequence

from alora_ts.serve.assemble import Sample
from alora_ts.serve.connect.intakes import Intakes, known_signals
from alora_ts.serve.connect.mqtt_client import Message, Subscriber
from alora_ts.serve.connect.payload import MalformedError, read_rows
from alora_ts.serve.connect.settings import MqttSettings
from alora_ts.serve.connect.storing import persist
from alora_ts.serve.connect.topics import TopicMatcher
from alora_ts.serve.rows.interface import ConnectorStatus, Host, Progress, Row
from alora_ts.serve.times import now_micros

__all__ = ["MqttConnector"]

_log = logging.getLogger(__name__)
_TICK = 0.25  # seconds between looks at incomplete rows and silent signals


class MqttConnector:
    """Subscribes with a session that outlives us; acknowledges what is stored.

    Parameters
    ----------
    settings : MqttSettings
    """

    kind = "mqtt"

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self.name = settings.name
        self._progress = Progress(settings.name, self.kind, settings.source)
        self._matchers = [TopicMatcher(topic) for topic in settings.topics]

    def status(self) -> ConnectorStatus:
        """Say how the connection is and what was counted."""
        return self._progress.status()

    async def run(self, host: Host) -> None:
        """Receive until cancelled."""
        await persist(self._progress, lambda: self._receive(host))

    async def _receive(self, host: Host) -> None:
        subscriber = Subscriber(
            self._settings,
            client_id=self._settings.client_id or f"alora-ts-{self.name}",
            subscriptions=sorted({matcher.subscription for matcher in self._matchers}),
            session_expiry=self._settings.session_expiry,
            progress=self._progress,
        )
        settings = self._settings
        intakes = Intakes(
            host,
            self._progress,
            grid=None if settings.assemble is None else settings.assemble.grid(),
            silent_after=settings.silent_after,
        )
        try:
            await intakes.open(settings.source, now=now_micros())
            subscriber.start()
            while True:
                messages = await subscriber.next(timeout=_TICK)
                now = now_micros()
                known = known_signals(host, settings.source)
                rows, samples = self._read(messages, now, known)
                await intakes.take(settings.source, rows, samples, now=now)
                subscriber.acknowledge(messages)
                await intakes.tick(now=now)
        finally:
            await intakes.close()
            await asyncio.to_thread(subscriber.stop)

    def _read(
        self, messages: Sequence[Message], now: int, known: Container[str] | None
    ) -> tuple[list[Row], list[Sample]]:
        rows, samples = list[Row](), list[Sample]()
        for message in messages:
            try:
                matcher, words = self._match(message.topic)
                if matcher.settings.payload == "row":
                    settings = matcher.settings
                    rows += read_rows(
                        message.payload, time_key=settings.time_key, unit=settings.time_unit
                    )
                else:
                    samples += matcher.samples(
                        message.payload,
                        words,
                        # A value kept by the broker is old, and nobody says how old.
                        otherwise=None if message.retained else now,
                        known=known,
                    )
            except MalformedError as error:
                self._progress.reject(str(error))
                _log.info("%s: %s: %s", self.name, message.topic, error)
        return rows, samples

    def _match(self, topic: str) -> tuple[TopicMatcher, dict[str, str]]:
        for matcher in self._matchers:
            words = matcher.match(topic)
            if words is not None:
                return matcher, words
        raise MalformedError("topic without a mapping")
