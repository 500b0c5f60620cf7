"""librdkafka's mock cluster on loopback, with a sender that never lets a message age out."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

__all__ = ["MockCluster"]


class MockCluster:
    """A cluster of one broker in this process; others join it by its address.

    It speaks Kafka's protocol, groups and committed offsets included, and keeps about 5 MB of a
    partition in memory. It is not a full Kafka. A topic begins with the first message sent to it
    and has four partitions.
    """

    def __init__(self) -> None:
        self._failed: list[object] = []
        self._producer = Producer({"test.mock.num.brokers": 1, "log_level": 3})
        brokers = self._producer.list_topics(timeout=30).brokers.values()
        self.address = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def send(self, topic: str, messages: Iterable[tuple[str | None, str | bytes]]) -> None:
        """Send messages with their keys and wait until the broker has them."""
        self.send_soon(topic, messages)
        self.flush()

    def send_soon(self, topic: str, messages: Iterable[tuple[str | None, str | bytes]]) -> None:
        """Send messages without waiting."""
        for key, value in messages:
            self._producer.produce(topic, value, key=key, on_delivery=self._told)
            self._producer.poll(0)

    def flush(self) -> None:
        """Wait until the broker has everything."""
        left = self._producer.flush(60)
        if self._failed or left:
            raise RuntimeError(f"{left} messages were not taken, {self._failed[:1]}")

    def _told(self, error: object, _: Message) -> None:
        if error is not None:
            self._failed.append(error)

    def read(self, topic: str, count: int, *, seconds: float = 60.0) -> list[Message]:
        """The first messages of a topic."""
        found, until = list[Message](), time.monotonic() + seconds
        with self._reader() as reader:
            while topic not in reader.list_topics(timeout=10).topics:
                if time.monotonic() > until:
                    return []
                time.sleep(0.1)
            parts = reader.list_topics(timeout=10).topics[topic].partitions
            reader.assign([TopicPartition(topic, part, 0) for part in parts])
            while len(found) < count and time.monotonic() < until:
                found += [m for m in reader.consume(100, 0.2) if m.error() is None]
        return found

    def lost(self, group: str, topics: Iterable[str]) -> int:
        """How many messages aged out before a group had committed them."""
        return sum(max(0, low - done) for done, low, _ in self._offsets(group, topics))

    def behind(self, group: str, topics: Iterable[str]) -> int:
        """How many messages a group has not committed."""
        return sum(high - done for done, _, high in self._offsets(group, topics))

    def _offsets(self, group: str, topics: Iterable[str]) -> list[tuple[int, int, int]]:
        """Committed, first and next offset of every partition."""
        found = list[tuple[int, int, int]]()
        with self._reader(group) as reader:
            known = reader.list_topics(timeout=30).topics
            for topic in topics:
                places = [TopicPartition(topic, part) for part in known[topic].partitions]
                for place in reader.committed(places, timeout=30):
                    low, high = reader.get_watermark_offsets(place, timeout=30)
                    found.append((max(0, place.offset), low, high))
        return found

    @contextlib.contextmanager
    def _reader(self, group: str = "observer"):  # type: ignore[no-untyped-def]
        reader = Consumer(
            {"bootstrap.servers": self.address, "group.id": group, "enable.auto.commit": False}
        )
        try:
            yield reader
        finally:
            with contextlib.suppress(KafkaException):
                reader.close()
