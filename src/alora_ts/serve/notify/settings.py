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
    "AlertmanagerSettings",
    "AppriseSettings",
    "ChannelSection",
    "HttpSection",
    "MqttOutSettings",
    "NotifySettings",
    "SmtpSettings",
    "WebhookSettings",
]


_HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
_LabelName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class ChannelSection(Section):
    """What every channel has: a name, which events it sends, and in what form.

    ``page`` is where people open the dashboard; messages then link to the incident. ``template``
    replaces the message, see :func:`alora_ts.serve.notify.template.render`.
    """

    name: Name
    events: Annotated[tuple[EventKind, ...], Field(min_length=1)] = ("opened", "closed")
    sources: tuple[str, ...] = ()
    attempts: Annotated[int, Field(ge=1, le=1000)] = 100
    page: HttpUrl | None = None
    template: Annotated[str, Field(min_length=1), AfterValidator(check_template)] | None = None


class HttpSection(ChannelSection):
    """What every channel over HTTP has.

    ``headers`` are sent with each request; their values are kept out of messages and logs.
    """

    url: PlainUrl
    timeout: Seconds = 10.0
    ca_file: Path | None = None
    headers: dict[_HeaderName, SecretStr] = Field(default_factory=dict)


class WebhookSettings(HttpSection):
    """``[[notify.webhook]]``: an HTTP POST, signed when a secret is given."""

    secret: SecretStr | None = None
    secret_file: Path | None = None


class AlertmanagerSettings(HttpSection):
    """``[[notify.alertmanager]]``: alerts that fire while their incident is open.

    ``resend`` is how often it hears that they do; it forgets an alert after four times as long.
    ``labels`` are added to every alert.
    """

    events: Annotated[tuple[EventKind, ...], Field(min_length=1)] = ("opened", "updated", "closed")
    resend: Annotated[float, Field(ge=0.1, le=3600)] = 60.0
    labels: dict[_LabelName, str] = Field(default_factory=dict)


class AppriseSettings(ChannelSection):
    """``[[notify.apprise]]``: a chat or paging service by its Apprise address.

    The address holds keys, so it is a secret.
    """

    url: SecretStr | None = None
    url_file: Path | None = None
    timeout: Seconds = 30.0

    @model_validator(mode="after")
    def _one_address(self) -> Self:
        if (self.url is None) == (self.url_file is None):
            raise ValueError("give the address as either `url` or `url_file`")
        return self


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
    alertmanager: tuple[AlertmanagerSettings, ...] = ()
    apprise: tuple[AppriseSettings, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        refuse_repeated("channels", [section.name for section in self.channels()])
        return self

    def channels(self) -> list[ChannelSection]:
        """List the channels of all kinds."""
        return [*self.webhook, *self.mqtt, *self.smtp, *self.alertmanager, *self.apprise]
