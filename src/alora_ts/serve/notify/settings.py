"""The sections ``[[notify.…]]`` of the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, HttpUrl, SecretStr, model_validator

from alora_ts.serve.connect.settings import (
    BrokerSettings,
    Name,
    PlainUrl,
    Seconds,
    Section,
    refuse_repeated,
)
from alora_ts.serve.notify.interface import EventKind
from alora_ts.serve.notify.template import check_template

__all__ = [
    "ChannelSection",
    "MqttOutSettings",
    "NotifySettings",
    "SmtpSettings",
    "WebhookSettings",
]


_HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]


class ChannelSection(Section):
    """What every channel has: a name, which events it sends, and in what form.

    ``page`` is where people open the dashboard; messages then link to the incident. ``template``
    replaces the message, see :func:`alora_ts.serve.notify.template.render`.
    """

    name: Name
    events: Annotated[tuple[EventKind, ...], Field(min_length=1)] = ("opened", "closed")
    sources: tuple[str, ...] = ()
    attempts: Annotated[int, Field(ge=1, le=100)] = 12
    page: HttpUrl | None = None
    template: Annotated[str, Field(min_length=1), AfterValidator(check_template)] | None = None


class WebhookSettings(ChannelSection):
    """``[[notify.webhook]]``: an HTTP POST, signed when a secret is given.

    ``headers`` are sent with it; their values are kept out of messages and logs.
    """

    url: PlainUrl
    secret: SecretStr | None = None
    secret_file: Path | None = None
    timeout: Seconds = 10.0
    ca_file: Path | None = None
    headers: dict[_HeaderName, SecretStr] = Field(default_factory=dict)


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
    timeout: Seconds = 30.0


class NotifySettings(Section):
    """``[notify]``: who is notified of incidents.

    ``max_age`` is for how many seconds the last row of an incident is news: rows that are sent
    afterwards bring no message about what ended before. ``page`` is that of every channel without
    one of its own.
    """

    max_age: Seconds = 6 * 3600.0
    page: HttpUrl | None = None

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
