"""Senders that keep a row until it is confirmed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence

import httpx
import numpy as np
import paho.mqtt.client as mqtt
from numpy.typing import NDArray
from paho.mqtt.enums import CallbackAPIVersion

__all__ = ["HttpProducer", "MqttProducer", "as_row"]


def as_row(time_us: int, values: Sequence[float]) -> dict[str, object]:
    """One row as it goes over the wire."""
    moment = np.datetime64(time_us, "us").item().isoformat(timespec="microseconds")
    return {"time": f"{moment}Z", "values": {f"x{at}": value for at, value in enumerate(values)}}


class HttpProducer(threading.Thread):
    """Posts rows in order, each batch again and again until it is confirmed."""

    def __init__(
        self,
        url: str,
        times: NDArray[np.int64],
        rows: NDArray[np.float64],
        *,
        batch: int,
        pause: float = 0.0,
    ) -> None:
        super().__init__(name="http-producer", daemon=True)
        self._url = url
        self._times = times
        self._rows = rows
        self._batch = batch
        self._pause = pause
        self.confirmed = 0
        self.attempts = 0
        self.refused: list[str] = []

    def run(self) -> None:
        """Send everything."""
        with httpx.Client(timeout=30) as client:
            while self.confirmed < len(self._times):
                part = slice(self.confirmed, self.confirmed + self._batch)
                pairs = zip(self._times[part].tolist(), self._rows[part].tolist(), strict=True)
                body = {"rows": [as_row(moment, values) for moment, values in pairs]}
                self.confirmed += self._deliver(client, body)
                time.sleep(self._pause)

    def _deliver(self, client: httpx.Client, body: dict[str, list[dict[str, object]]]) -> int:
        while True:
            self.attempts += 1
            try:
                answer = client.post(self._url, json=body)
                if answer.is_success:
                    self.refused += [each["reason"] for each in answer.json()["rejected"]]
                    return len(body["rows"])
            except (httpx.HTTPError, ValueError):
                pass
            time.sleep(0.1)


class MqttProducer(threading.Thread):
    """Publishes rows in order with QoS 1; the client sends again what the broker did not take.

    Its memory is its persistence: this process outlives every crash of the others.
    """

    def __init__(
        self,
        port: int,
        topic: str,
        times: NDArray[np.int64],
        rows: NDArray[np.float64],
        *,
        in_flight: int = 500,
        pause: float = 0.0,
    ) -> None:
        super().__init__(name="mqtt-producer", daemon=True)
        self._topic = topic
        self._times = times
        self._rows = rows
        self._pause = pause
        self._room = threading.Semaphore(in_flight)
        self.confirmed = 0
        self._client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=f"producer-{topic}", clean_session=False
        )
        self._client.max_inflight_messages_set(in_flight)
        self._client.max_queued_messages_set(0)
        self._client.reconnect_delay_set(min_delay=1, max_delay=1)
        self._client.on_publish = self._taken
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def _taken(self, *_: object) -> None:
        self.confirmed += 1
        self._room.release()

    def run(self) -> None:
        """Send everything and wait until the broker has it."""
        for moment, values in zip(self._times.tolist(), self._rows.tolist(), strict=True):
            self._room.acquire()
            self._client.publish(self._topic, json.dumps(as_row(moment, values)), qos=1)
            if self._pause:
                time.sleep(self._pause)
        while self.confirmed < len(self._times):
            time.sleep(0.05)
        self._client.disconnect()
        self._client.loop_stop()
