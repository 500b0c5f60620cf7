"""Rows and signals from Kafka topics."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from alora_ts.errors import AloraError
from alora_ts.serve.assemble import Sample
from alora_ts.serve.connect.intakes import Intakes, known_signals
from alora_ts.serve.connect.kafka_client import DeadLetters, Member
from alora_ts.serve.connect.ledger import Ledger
from alora_ts.serve.connect.payload import MalformedError, read_rows
from alora_ts.serve.connect.settings import KafkaSettings
from alora_ts.serve.connect.storing import persist
from alora_ts.serve.connect.topics import TopicMatcher, fill
from alora_ts.serve.rows.interface import ConnectorStatus, Host, Progress, Row
from alora_ts.serve.times import now_micros

__all__ = ["KafkaConnector"]

_log = logging.getLogger(__name__)
_TICK = 0.25  # seconds between looks at incomplete rows and silent signals
_PATIENCE = 1.0  # seconds to store before we pause the partitions
_LONGEST_PAUSE = 30.0
# What a repeated message looks like; nobody has to look at it.
_REPEATED = "row already made"


@dataclass
class _Part:
    """What a batch has for one source, each with the message it came from."""

    rows: list[tuple[Row, Message]] = field(default_factory=list)
    samples: list[tuple[Sample, Message]] = field(default_factory=list)


class KafkaConnector:
    """Reads as a member of a consumer group; commits offsets when the rows are stored.

    Parameters
    ----------
    settings : KafkaSettings
    """

    kind = "kafka"

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self.name = settings.name
        self._progress = Progress(settings.name, self.kind, settings.source)
        self._matchers = [
            (_recogniser(topic.topic), TopicMatcher(topic)) for topic in settings.topics
        ]

    def status(self) -> ConnectorStatus:
        """Say how the connection is and what was counted."""
        return self._progress.status()

    async def run(self, host: Host) -> None:
        """Receive until cancelled."""
        await persist(self._progress, lambda: self._receive(host))

    async def _receive(self, host: Host) -> None:
        letters = DeadLetters(self._settings)
        member = await asyncio.to_thread(Member, self._settings, self._progress)
        ledger = Ledger()
        intakes = self._intakes(host, ledger)
        try:
            await self._begin(intakes)
            while True:
                messages = await asyncio.to_thread(member.next, timeout=_TICK)
                if member.rebalanced:
                    # What was not committed comes again, here or elsewhere.
                    member.rebalanced = False
                    await intakes.close()
                    ledger = Ledger()
                    intakes = self._intakes(host, ledger)
                    await self._begin(intakes)
                self._progress.received(len(messages))
                if messages:
                    ledger.begin(_ends(messages))
                work = asyncio.create_task(self._store(host, intakes, letters, messages))
                try:
                    while not (await asyncio.wait({work}, timeout=_PATIENCE))[0]:
                        await asyncio.to_thread(member.wait)
                    work.result()
                finally:
                    work.cancel()
                if offsets := ledger.done():
                    await asyncio.to_thread(member.commit, offsets)
        finally:
            await intakes.close()
            await asyncio.to_thread(member.close)
            await asyncio.to_thread(letters.close)

    def _intakes(self, host: Host, ledger: Ledger) -> Intakes:
        settings = self._settings
        return Intakes(
            host,
            self._progress,
            grid=None if settings.assemble is None else settings.assemble.grid(),
            silent_after=settings.silent_after,
            keeper=ledger.keeper,
        )

    async def _begin(self, intakes: Intakes) -> None:
        for source in self._settings.sources():
            await intakes.open(source, now=now_micros())

    async def _store(
        self, host: Host, intakes: Intakes, letters: DeadLetters, messages: Sequence[Message]
    ) -> None:
        now = now_micros()
        parts, useless = self._read(host, messages, now)

        async def take(source: str, part: _Part) -> None:
            rows = [row for row, _ in part.rows]
            samples = [sample for sample, _ in part.samples]
            taken = await intakes.take(source, rows, samples, now=now)
            useless.extend((part.rows[one.index][1], one.reason) for one in taken.rows)
            useless.extend(
                (part.samples[one.index][1], one.reason)
                for one in taken.samples
                if one.reason != _REPEATED
            )

        await asyncio.gather(*(take(source, part) for source, part in parts.items()))
        await intakes.tick(now=now)
        await self._put_aside(letters, useless)

    def _read(
        self, host: Host, messages: Sequence[Message], now: int
    ) -> tuple[dict[str, _Part], list[tuple[Message, str]]]:
        parts, useless = dict[str, _Part](), list[tuple[Message, str]]()
        for message in messages:
            try:
                self._read_one(host, message, now, parts)
            except MalformedError as error:
                self._progress.reject(str(error))
                self._progress.complain(f"{_place(message)}: {error}")
                useless.append((message, str(error)))
        return parts, useless

    def _read_one(self, host: Host, message: Message, now: int, parts: dict[str, _Part]) -> None:
        matcher, words = self._match(message)
        source = fill(self._settings.source, words)
        try:
            known = known_signals(host, source)
        except AloraError:
            if source in self._settings.sources():
                raise
            raise MalformedError("unknown source") from None
        settings, payload = matcher.settings, message.value() or b""
        if settings.payload == "row":
            key, unit = settings.time_key, settings.time_unit
            # All of an array or nothing: it is put aside as a whole.
            rows = list(read_rows(payload, time_key=key, unit=unit))
            parts.setdefault(source, _Part()).rows += [(row, message) for row in rows]
            return
        kind, sent = message.timestamp()
        samples = matcher.samples(
            payload,
            words,
            # Unlike the time of arrival it stays the same when the message is read again.
            otherwise=now if kind == TIMESTAMP_NOT_AVAILABLE else sent * 1000,
            known=known,
        )
        parts.setdefault(source, _Part()).samples += [(sample, message) for sample in samples]

    def _match(self, message: Message) -> tuple[TopicMatcher, dict[str, str]]:
        topic = str(message.topic())
        try:
            key = (message.key() or b"").decode()
        except UnicodeDecodeError:
            raise MalformedError("the key is not UTF-8") from None
        for recogniser, matcher in self._matchers:
            if recogniser.match(topic):
                pattern, _ = matcher.settings.pattern()
                # One word is the whole key, whatever stands in it.
                one = re.fullmatch(r"\{(\w+)\}", pattern)
                words = {one[1]: key} if one else matcher.match(key)
                if words is not None:
                    return matcher, {"topic": topic, **words}
        raise MalformedError("key without a mapping")

    async def _put_aside(self, letters: DeadLetters, useless: list[tuple[Message, str]]) -> None:
        """Send messages to the dead-letter topic, again and again while it does not take them."""
        # One message may hold several rows that were refused.
        once = {(m.topic(), m.partition(), m.offset()): (m, why) for m, why in reversed(useless)}
        pause, failed = 1.0, False
        while True:
            try:
                await asyncio.to_thread(letters.send, list(once.values()))
            except AloraError as error:
                _log.warning("%s: %s", self.name, error)
                self._progress.enter("failed", str(error))
                failed = True
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                if failed:
                    self._progress.enter("connected")
                return


def _recogniser(topic: str) -> re.Pattern[str]:
    return re.compile(topic if topic.startswith("^") else f"{re.escape(topic)}$")


def _place(message: Message) -> str:
    return f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"


def _ends(messages: Sequence[Message]) -> dict[tuple[str, int], int]:
    """Where to read on after some messages."""
    return {(str(m.topic()), int(m.partition() or 0)): int(m.offset() or 0) + 1 for m in messages}
