"""Notifying people and systems of incidents."""

from alora_ts.serve.notify.build import build_channels
from alora_ts.serve.notify.dispatcher import Channel, Dispatcher
from alora_ts.serve.notify.interface import IncidentEvent, Outbox, OutboxEntry
from alora_ts.serve.notify.settings import NotifySettings

__all__ = [
    "Channel",
    "Dispatcher",
    "IncidentEvent",
    "NotifySettings",
    "Outbox",
    "OutboxEntry",
    "build_channels",
]
