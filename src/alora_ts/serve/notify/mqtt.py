"""Incidents as MQTT messages."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from alora_ts.serve.connect.mqtt_client import make_client
from alora_ts.serve.notify.interface import IncidentEvent
from alora_ts.serve.notify.message import as_json
from alora_ts.serve.notify.settings import MqttOutSettings
from alora_ts.serve.notify.template import render
from alora_ts.serve.notify.webhook import DeliveryError

__all__ = ["MqttNotifier"]


class MqttNotifier:
    """Publishes each event with QoS 1 and waits until the broker has it.

    Incidents are rare, so each gets a connection of its own: none to watch over in between.

    Parameters
    ----------
    settings : MqttOutSettings
    """

    def __init__(self, settings: MqttOutSettings) -> None:
        self._settings = settings
        self.name = settings.name

    async def notify(self, event: IncidentEvent) -> None:
        """Publish one event.

        Raises
        ------
        DeliveryError
            When the broker did not take it.
        """
        await asyncio.to_thread(self._publish, event)

    def _publish(self, event: IncidentEvent) -> None:
        settings = self._settings
        source = str(event.incident.get("source", "unknown"))
        for sign in "+#/":
            source = source.replace(sign, "_")
        topic = settings.topic.replace("{source}", source)
        if settings.template is None:
            body = as_json(event, page=settings.page)
        else:
            body = render(settings.template, event, page=settings.page).encode()
        client = make_client(settings, "")
        taken, answer = threading.Event(), list[str]()

        def on_connect(_: Any, __: Any, ___: Any, reason: Any, ____: Any) -> None:
            if reason.is_failure:
                answer.append(f"the broker refused us: {reason}")
                taken.set()
            else:
                client.publish(topic, body, qos=1)

        def on_publish(_: Any, __: Any, ___: int, reason: Any, ____: Any) -> None:
            if reason.is_failure:
                answer.append(f"the broker refused the message: {reason}")
            taken.set()

        client.on_connect, client.on_publish = on_connect, on_publish
        client.connect_timeout = settings.timeout
        try:
            client.connect(settings.host, settings.port)
        except (OSError, ValueError) as error:
            raise DeliveryError(
                f"no broker answers at {settings.host}:{settings.port}: {error}"
            ) from error
        client.loop_start()
        try:
            if not taken.wait(settings.timeout):
                answer.append(f"the broker took no message within {settings.timeout:g} s")
        finally:
            client.disconnect()
            client.loop_stop()
        if answer:
            raise DeliveryError(answer[0])
