"""A member of a consumer group whose offsets wait for the store, and the dead-letter topic."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from alora_ts.errors import AloraError
from alora_ts.serve.connect.settings import KafkaSettings
from alora_ts.serve.operate.secrets import read_secret
from alora_ts.serve.rows.interface import Progress

__all__ = ["DeadLetters", "Member", "client_options"]

_log = logging.getLogger(__name__)
_BATCH = 1000
_LOOK = 5.0  # seconds between looks at a cluster that does not let us work
_JOINING = 90.0  # seconds; a killed member keeps its place for 45 unless told otherwise
_ANSWER = 3.0  # seconds that a cluster gets to answer such a look
_DELIVERY = 30.0
_LARGEST = 1_000_000_000
# Options that concern the connection, whoever uses it.
_CONNECTION = ("ssl.", "sasl.", "security.", "socket.", "broker.", "client.", "enable.s", "reconn")
# What a message error says about us for as long as nothing changes.
_REFUSALS = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._MAX_POLL_EXCEEDED,
    KafkaError._FATAL,
}


def client_options(settings: KafkaSettings, *, reading: bool = True) -> dict[str, Any]:
    """What librdkafka is told about the cluster and how to log in, and more for who reads."""
    login = settings.username is not None
    tls = settings.tls or settings.ca_file is not None
    protocol = f"{'SASL_' if login else ''}{'SSL' if tls else 'PLAINTEXT'}"
    options: dict[str, Any] = {
        "bootstrap.servers": settings.brokers,
        "client.id": "alora-ts",
        "security.protocol": protocol,
        # A topic that appears is found within seconds, not within five minutes.
        "topic.metadata.refresh.interval.ms": 10_000,
        "reconnect.backoff.ms": 1000,
        "reconnect.backoff.max.ms": 30_000,
        # Errors come to us as well; a broker that is away would fill the log with the same line.
        "logger": _log,
        "log_level": 2,
    }
    if settings.ca_file is not None:
        options["ssl.ca.location"] = str(settings.ca_file)
    if login:
        options["sasl.mechanisms"] = settings.mechanism
        options["sasl.username"] = settings.username
        options["sasl.password"] = read_secret(settings.password, settings.password_file) or ""
    return options | {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in settings.options.items()
        if reading or name.startswith(_CONNECTION)
    }


def _unusable(settings: KafkaSettings, error: KafkaException) -> AloraError:
    return AloraError(
        f"[[connect.kafka]] {settings.name!r} has settings that the client refuses: "
        f"{error.args[0].str()}; correct `options`"
    )


class Member:
    """Reads messages of some topics; calls come from worker threads.

    Every rebalance takes all partitions back before it gives new ones, and reading begins again
    at the committed offsets: :attr:`rebalanced` says so, and what was not committed is to be
    forgotten then.

    Parameters
    ----------
    settings : KafkaSettings
    progress : Progress

    Attributes
    ----------
    rebalanced : bool
        Set when partitions were taken away; whoever looks at it resets it.
    """

    def __init__(self, settings: KafkaSettings, progress: Progress) -> None:
        self._settings = settings
        self._progress = progress
        self._topics = sorted({topic.topic for topic in settings.topics})
        self._lock = threading.Lock()
        self._early: list[Message] = []
        self._paused = False
        self._joined = False
        self._well = False
        self._look_at = 0.0
        self._outside_since = time.monotonic()
        self.rebalanced = False
        try:
            self._consumer = Consumer(
                client_options(settings)
                | {
                    "group.id": settings.group_name,
                    "auto.offset.reset": settings.start,
                    "enable.auto.commit": "false",
                    "enable.auto.offset.store": "false",
                    "partition.assignment.strategy": "range,roundrobin",
                    "error_cb": self._on_error,
                }
            )
        except KafkaException as error:
            raise _unusable(settings, error) from error
        self._consumer.subscribe(
            self._topics,
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_revoke,
        )

    def next(self, *, timeout: float) -> list[Message]:
        """Wait for messages, at most about ``timeout`` seconds, and return those that came."""
        with self._lock:
            if self._paused:
                self._consumer.resume(self._consumer.assignment())
                self._paused = False
            if not self._well and time.monotonic() >= self._look_at:
                self._look()
            early, self._early = self._early, []
            found = early or self._consumer.consume(_BATCH, timeout)
        return [message for message in found if not self._is_error(message)]

    def wait(self) -> None:
        """Stay in the group without taking messages."""
        with self._lock:
            # Again each time, because a rebalance brings partitions that are not paused.
            self._consumer.pause(self._consumer.assignment())
            self._paused = True
            message = self._consumer.poll(0)
            if message is not None:
                self._early.append(message)

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Say that a group needs messages from these offsets on only."""
        places = [TopicPartition(topic, part, at) for (topic, part), at in offsets.items()]
        with self._lock:
            try:
                self._consumer.commit(offsets=places, asynchronous=False)
            except KafkaException as error:
                # They come again, and are recognised.
                _log.info("%s: offsets were not committed: %s", self._progress.name, error)

    def close(self) -> None:
        """Leave the group."""
        with self._lock:
            self._consumer.close()

    def _look(self) -> None:
        """Say what is in the way, or that nothing is."""
        where = self._settings.brokers
        try:
            known = self._consumer.list_topics(timeout=_ANSWER).topics
        except KafkaException as error:
            self._progress.enter(
                "failed", f"no Kafka broker answers at {where}: {error.args[0].str()}"
            )
        else:
            absent = [t for t in self._topics if not t.startswith("^") and t not in known]
            if absent:
                self._progress.enter(
                    "failed",
                    f"{where} has no topic {', '.join(absent)}, or does not show it to us; "
                    "create it, or correct `topic`",
                )
            elif self._joined:
                self._progress.enter("connected")
                self._well = True
            elif time.monotonic() - self._outside_since > _JOINING:
                self._progress.enter(
                    "failed",
                    f"the group {self._settings.group_name} has not given us partitions for "
                    f"{time.monotonic() - self._outside_since:.0f} s; another member may be stuck, "
                    "or the broker may refuse session.timeout.ms",
                )
        # Soon while the group is still gathering.
        self._look_at = time.monotonic() + (_LOOK if self._joined else _LOOK / 5)

    def _is_error(self, message: Message) -> bool:
        error = message.error()
        if error is not None:
            self._on_error(error)
        return error is not None

    def _on_error(self, error: KafkaError) -> None:
        _log.info("%s: %s", self._progress.name, error)
        if error.code() in _REFUSALS:
            self._well = False
            self._progress.enter("failed", f"Kafka at {self._settings.brokers}: {error.str()}")

    def _on_assign(self, _: Consumer, places: list[TopicPartition]) -> None:
        _log.info("%s: got %d partition(s)", self._progress.name, len(places))
        self._joined = True
        self._look_at = 0.0

    def _on_revoke(self, _: Consumer, places: list[TopicPartition]) -> None:
        _log.info("%s: lost %d partition(s)", self._progress.name, len(places))
        self._early.clear()
        self.rebalanced = True
        self._joined = self._well = False
        self._outside_since = time.monotonic()


class DeadLetters:
    """Sends messages that cannot be used to a topic of their own.

    Parameters
    ----------
    settings : KafkaSettings
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._name = settings.name
        self._topic = settings.dead_letter_topic
        if self._topic is None:
            return
        try:
            self._producer = Producer(
                client_options(settings, reading=False)
                | {"message.max.bytes": _LARGEST, "delivery.timeout.ms": int(_DELIVERY * 1000)}
            )
        except KafkaException as error:
            raise _unusable(settings, error) from error

    def send(self, letters: Sequence[tuple[Message, str]]) -> None:
        """Send messages, each with the reason, and wait until the topic has them.

        Raises
        ------
        AloraError
            When it does not take them all; sending all again is harmless.
        """
        if self._topic is None or not letters:
            return
        failed = self._deliver([(message, reason, message.value()) for message, reason in letters])
        large = {at for at, why in failed.items() if why == KafkaError.MSG_SIZE_TOO_LARGE}
        if large:
            # The headers say where it is.
            shorter = [(*letters[at], None) for at in sorted(large)]
            failed = {at: why for at, why in failed.items() if at not in large}
            failed |= self._deliver(shorter)
        if failed:
            why = next(iter(failed.values()))
            raise AloraError(
                f"the dead-letter topic {self._topic} does not take a message that cannot be used: "
                f"{KafkaError(why).str()}; create the topic, or say dead_letters = false to only "
                "count such messages"
            )

    def _deliver(self, letters: Sequence[tuple[Message, str, bytes | None]]) -> dict[int, int]:
        """Send and wait; the codes of the errors by place."""
        assert self._topic is not None
        failed = dict.fromkeys(range(len(letters)), KafkaError._TIMED_OUT)

        def told(at: int, error: KafkaError | None, _: Message) -> None:
            if error is None:
                del failed[at]
            else:
                failed[at] = error.code()

        for at, (message, reason, value) in enumerate(letters):
            self._producer.produce(
                self._topic,
                value=value,
                key=message.key(),
                headers=[
                    *(message.headers() or []),
                    ("alora-ts.reason", reason.encode()),
                    ("alora-ts.connector", self._name.encode()),
                    ("alora-ts.topic", str(message.topic()).encode()),
                    ("alora-ts.partition", str(message.partition()).encode()),
                    ("alora-ts.offset", str(message.offset()).encode()),
                ],
                on_delivery=partial(told, at),
            )
        self._producer.flush(_DELIVERY + 5)
        return failed

    def close(self) -> None:
        """Forget what is not delivered: it was not committed, so it comes again."""
        if self._topic is not None:
            self._producer.purge()
            self._producer.flush(1)
