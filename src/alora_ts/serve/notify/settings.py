"""The sections ``[[notify.…]]`` of the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, HttpUrl, SecretStr, model_validator

from alora_ts.serve.connect.settings import (
    BrokerSettings,
    Name,
    PlainUrl,
    Seconds,
    Section,
    refuse_repeated,
)
from alora_ts.serve.notify.interface import EventKind

__all__ = [
    "ChannelSection",
    "MqttOutSettings",
    "NotifySettings",
    "SmtpSettings",
    "WebhookSettings",
]


class ChannelSection(Section):
    """What every channel has: a name, and which events it sends."""

    name: Name
    events: Annotated[tuple[EventKind, ...], Field(min_length=1)] = ("opened", "closed")
    sources: tuple[str, ...] = ()
    attempts: Annotated[int, Field(ge=1, le=100)] = 12


class WebhookSettings(ChannelSection):
    """``[[notify.webhook]]``: an HTTP POST, signed when a secret is given."""

    url: PlainUrl
    secret: SecretStr | None = None
    secret_file: Path | None = None
    timeout: Seconds = 10.0
    ca_file: Path | None = None


class MqttOutSettings(ChannelSection, BrokerSettings):
    """``[[notify.mqtt]]``: a message to a broker, QoS 1."""

    topic: Annotated[str, Field(min_length=1, pattern=r"^[^+#]+$")] = "alora/{source}/incidents"
    timeout: Seconds = 10.0


class SmtpSettings(ChannelSection):
    """``[[notify.smtp]]``: an e-mail."""

    host: str
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    ca_file: Path | None = None
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    sender: str
    recipients: Annotated[tuple[str, ...], Field(min_length=1)]
    page: HttpUrl | None = None
    timeout: Seconds = 30.0


class NotifySettings(Section):
    """``[notify]``: who is notified of incidents."""

    webhook: tuple[WebhookSettings, ...] = ()
    mqtt: tuple[MqttOutSettings, ...] = ()
    smtp: tuple[SmtpSettings, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        refuse_repeated("channels", [section.name for section in self.channels()])
        return self

    def channels(self) -> list[ChannelSection]:
        """List the channels of all kinds."""
        return [*self.webhook, *self.mqtt, *self.smtp]
