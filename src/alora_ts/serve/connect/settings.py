"""The sections ``[[connect.…]]`` of the settings."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    SecretStr,
    model_validator,
)

from alora_ts.serve.assemble import Grid

__all__ = [
    "AssembleSettings",
    "BrokerSettings",
    "ConnectSettings",
    "ConnectorSection",
    "DirectorySettings",
    "InfluxSettings",
    "KafkaSettings",
    "KafkaTopicSettings",
    "MessageSettings",
    "MqttSettings",
    "Name",
    "PlainUrl",
    "PrometheusSettings",
    "ReceiverSettings",
    "RemoteWriteSettings",
    "Seconds",
    "Section",
    "SeriesSettings",
    "StdinSettings",
    "TimeUnit",
    "TopicSettings",
    "refuse_repeated",
]

TimeUnit = Literal["s", "ms", "us"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Seconds = Annotated[float, Field(gt=0, le=366 * 86_400)]
SecondsOrNone = Annotated[float, Field(ge=0, le=366 * 86_400)]


def _refuse_login(url: HttpUrl) -> HttpUrl:
    if url.username or url.password:
        raise ValueError(
            "the address holds a user name or password, which would appear in messages; give it "
            "in `password_file`, `token_file` or `secret_file`"
        )
    return url


PlainUrl = Annotated[HttpUrl, AfterValidator(_refuse_login)]


def refuse_repeated(what: str, names: Sequence[str]) -> None:
    """Raise when two things have one name, under which the state of each is kept.

    Examples
    --------
    >>> refuse_repeated("channels", ["mail", "pager", "mail"])
    Traceback (most recent call last):
    ...
    ValueError: several channels are named mail; names must differ, for each keeps its state ...
    """
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"several {what} are named {', '.join(repeated)}; names must differ, for each keeps "
            "its state under its own"
        )


def words_of(template: str) -> set[str]:
    """Name the words in braces of a template.

    Examples
    --------
    >>> sorted(words_of("{area}.{sensor}"))
    ['area', 'sensor']
    """
    try:
        return {name for _, name, _, _ in string.Formatter().parse(template) if name}
    except ValueError as error:
        raise ValueError(f"{template!r} has braces that do not match: {error}") from error


class Section(BaseModel):
    """A section that refuses names it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ConnectorSection(Section):
    """What every connector has: a name of its own, and the source that it feeds."""

    name: Name
    source: str

    def sources(self) -> set[str]:
        """Name the sources that it feeds, as far as the settings name them."""
        return set() if words_of(self.source) else {self.source}


class AssembleSettings(Section):
    """How rows are made of signals that arrive separately; in seconds.

    ``tolerance`` is half a step, ``hold`` five and ``wait`` two steps unless given.
    """

    step: Seconds
    tolerance: SecondsOrNone | None = None
    hold: SecondsOrNone | None = None
    wait: SecondsOrNone | None = None
    late: SecondsOrNone = 600.0
    ahead: SecondsOrNone = 60.0

    @model_validator(mode="after")
    def _possible(self) -> Self:
        self.grid()
        return self

    def grid(self) -> Grid:
        """Return the same in microseconds."""
        step = round(self.step * 1e6)

        def micros(seconds: float | None, otherwise: int) -> int:
            return otherwise if seconds is None else round(seconds * 1e6)

        return Grid(
            step=step,
            tolerance=micros(self.tolerance, step // 2),
            hold=micros(self.hold, 5 * step),
            wait=micros(self.wait, 2 * step),
            late=round(self.late * 1e6),
            ahead=round(self.ahead * 1e6),
        )


class MessageSettings(Section):
    """What a message carries.

    Words in braces stand for one level of a pattern and can be used in ``variable``:
    ``plant/{area}/{sensor}`` with ``{area}.{sensor}``. ``payload`` is ``value`` (a number, or an
    object with value and time), ``fields`` (an object of several signals, ``{field}`` is the
    name of each) or ``row`` (all variables at one time).
    """

    payload: Literal["value", "fields", "row"] = "value"
    variable: str | None = None
    value_key: str = "value"
    time_key: str = "time"
    time_unit: TimeUnit = "s"

    def pattern(self) -> tuple[str, str]:
        """Return what gives words, and its name in the settings."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        pattern, what = self.pattern()
        for level in pattern.split("/"):
            if ("{" in level or "}" in level) and not re.fullmatch(r"\{\w+\}", level):
                raise ValueError(
                    f"the level {level!r} of the {what} is only partly in braces; a word in braces "
                    "stands for a whole level"
                )
        if self.payload == "row":
            if self.variable is not None:
                raise ValueError("a topic of whole rows names no variable; remove `variable`")
            return self
        extra = {"field"} if self.payload == "fields" else set()
        if missing := words_of(self.template()) - words_of(pattern) - extra:
            raise ValueError(
                f"the variable is {self.template()!r}, but the {what} {pattern!r} has no "
                f"{{{', '.join(sorted(missing))}}}; put it in the {what}, or give `variable`"
            )
        return self

    def template(self) -> str:
        """Return the form of the variable's name."""
        if self.variable is not None:
            return self.variable
        return "{field}" if self.payload == "fields" else "{variable}"


class TopicSettings(MessageSettings):
    """Which MQTT topic carries what; its levels may be words in braces."""

    topic: Annotated[str, Field(min_length=1, max_length=1000)]

    def pattern(self) -> tuple[str, str]:
        """Return the topic."""
        return self.topic, "topic"


def refuse_signals_alone(
    kind: str, topics: Sequence[MessageSettings], assemble: AssembleSettings | None
) -> None:
    """Raise where signals come separately and nothing says how rows are made of them."""
    if assemble is None and any(topic.payload != "row" for topic in topics):
        raise ValueError(
            f"signals that arrive separately need [connect.{kind}.assemble] with a `step` in "
            'seconds, the distance of the rows; or send rows and say payload = "row"'
        )


class BrokerSettings(Section):
    """Where an MQTT broker is and how to log in."""

    host: str
    port: Annotated[int, Field(ge=1, le=65_535)] = 1883
    tls: bool = False
    ca_file: Path | None = None
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None


class MqttSettings(BrokerSettings, ConnectorSection):
    """``[[connect.mqtt]]``: subscribe to a broker."""

    client_id: str | None = None
    session_expiry: Annotated[int, Field(ge=0, le=0xFFFFFFFE)] = 7 * 86_400
    topics: Annotated[tuple[TopicSettings, ...], Field(min_length=1)]
    assemble: AssembleSettings | None = None
    silent_after: SecondsOrNone = 300.0

    @model_validator(mode="after")
    def _assembled(self) -> Self:
        refuse_signals_alone("mqtt", self.topics, self.assemble)
        return self


class KafkaTopicSettings(MessageSettings):
    """Which Kafka topic carries what.

    A topic that begins with ``^`` is a regular expression. The words in braces are those of the
    message's key, whose levels ``/`` separates.
    """

    topic: Annotated[str, Field(min_length=1, max_length=1000)]
    key: Annotated[str, Field(min_length=1, max_length=1000)] = "{key}"

    def pattern(self) -> tuple[str, str]:
        """Return the key's form."""
        return self.key, "key"

    def template(self) -> str:
        """Return the form of the variable's name; a key of one word is the variable."""
        whole = self.variable is None and self.payload == "value" and self.key == "{key}"
        return "{key}" if whole else super().template()

    @model_validator(mode="after")
    def _expression(self) -> Self:
        try:
            re.compile(self.topic if self.topic.startswith("^") else "")
        except re.error as error:
            raise ValueError(
                f"the topic {self.topic!r} is no regular expression: {error}"
            ) from error
        return self


# What the connector decides itself: rows would be lost or repeated otherwise.
_KAFKA_FIXED = {
    "bootstrap.servers": "brokers",
    "metadata.broker.list": "brokers",
    "group.id": "group",
    "auto.offset.reset": "start",
    "sasl.username": "username",
    "sasl.password": "password_file",
    "sasl.mechanism": "mechanism",
    "sasl.mechanisms": "mechanism",
    "ssl.ca.location": "ca_file",
    "enable.auto.commit": None,
    "auto.commit.enable": None,
    "enable.auto.offset.store": None,
    "partition.assignment.strategy": None,
    "group.protocol": None,
}


class KafkaSettings(ConnectorSection):
    """``[[connect.kafka]]``: read topics as a member of a consumer group.

    ``source`` may be made of the key's words, or be ``{topic}``. ``options`` are settings of
    librdkafka, passed on as they are. ``dead_letters`` is the topic for messages that cannot be
    used, ``<group>.dead-letters`` unless given; false only counts them.
    """

    brokers: Annotated[str, Field(min_length=1)]
    group: Annotated[str, Field(min_length=1, max_length=249)] | None = None
    topics: Annotated[tuple[KafkaTopicSettings, ...], Field(min_length=1)]
    start: Literal["earliest", "latest"] = "earliest"
    dead_letters: Annotated[str, Field(min_length=1, max_length=249)] | Literal[False] | None = None
    tls: bool = False
    ca_file: Path | None = None
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    options: Annotated[dict[str, str | int | float | bool], Field(repr=False)] = Field(
        default_factory=dict
    )
    assemble: AssembleSettings | None = None
    silent_after: SecondsOrNone = 300.0

    @model_validator(mode="after")
    def _possible(self) -> Self:
        refuse_signals_alone("kafka", self.topics, self.assemble)
        for name in self.options:
            if name in _KAFKA_FIXED:
                instead = _KAFKA_FIXED[name]
                raise ValueError(
                    f"the option {name!r} is not free: "
                    + (f"give `{instead}` instead" if instead else "the connector needs its own")
                )
        for topic in self.topics:
            known = words_of(topic.key) | {"topic"}
            if missing := words_of(self.source) - known:
                raise ValueError(
                    f"the source is {self.source!r}, but the key {topic.key!r} of {topic.topic!r} "
                    f"has no {{{', '.join(sorted(missing))}}}"
                )
        return self

    @property
    def group_name(self) -> str:
        """The consumer group."""
        return self.group or f"alora-ts-{self.name}"

    @property
    def dead_letter_topic(self) -> str | None:
        """Where messages go that cannot be used; None: nowhere."""
        if self.dead_letters is False:
            return None
        return self.dead_letters or f"{self.group_name}.dead-letters"


class SeriesSettings(Section):
    """Which series become which variables.

    ``match`` names labels (or tags) and the values that they must have. Words in braces in
    ``variable`` are labels of the series.
    """

    match: dict[str, str] = Field(default_factory=dict)
    variable: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _readable(self) -> Self:
        words_of(self.variable)
        return self


class ReceiverSettings(ConnectorSection):
    """What others send to the service, value by value; ``source`` may be made of labels."""

    series: Annotated[tuple[SeriesSettings, ...], Field(min_length=1)]
    assemble: AssembleSettings
    silent_after: SecondsOrNone = 300.0

    @model_validator(mode="after")
    def _readable(self) -> Self:
        words_of(self.source)
        return self


class RemoteWriteSettings(ReceiverSettings):
    """``[[connect.remote_write]]``: what Prometheus sends to ``/api/v1/write``."""

    series: Annotated[tuple[SeriesSettings, ...], Field(min_length=1)] = (
        SeriesSettings(variable="{__name__}"),
    )


class InfluxSettings(ReceiverSettings):
    """``[[connect.influx]]``: line protocol that Telegraf sends to ``/write``, ``/api/v2/write``.

    Measurement and field are labels as well: ``_measurement`` and ``_field``.
    """

    series: Annotated[tuple[SeriesSettings, ...], Field(min_length=1)] = (
        SeriesSettings(variable="{_measurement}.{_field}"),
    )


class PrometheusSettings(ConnectorSection):
    """``[[connect.prometheus]]``: ask a Prometheus server, one PromQL expression per variable."""

    url: PlainUrl
    queries: Annotated[dict[str, str], Field(min_length=1)]
    step: Seconds = 15.0
    lag: SecondsOrNone = 5.0
    backfill: SecondsOrNone = 86_400.0
    timeout: Seconds = 30.0
    silent_after: SecondsOrNone = 300.0
    username: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    token: SecretStr | None = None
    token_file: Path | None = None
    ca_file: Path | None = None


class DirectorySettings(ConnectorSection):
    """``[[connect.directory]]``: take in CSV and Parquet files that appear in a folder."""

    path: Path
    every: Seconds = 2.0
    settle: SecondsOrNone = 5.0
    time: str | None = None
    time_unit: TimeUnit = "s"


class StdinSettings(ConnectorSection):
    """``[[connect.stdin]]``: rows from standard input, one JSON object a line."""

    name: Name = "stdin"
    time_key: str = "time"
    time_unit: TimeUnit = "s"


class ConnectSettings(Section):
    """``[connect]``: all ways in besides HTTP."""

    mqtt: tuple[MqttSettings, ...] = ()
    kafka: tuple[KafkaSettings, ...] = ()
    prometheus: tuple[PrometheusSettings, ...] = ()
    remote_write: tuple[RemoteWriteSettings, ...] = ()
    influx: tuple[InfluxSettings, ...] = ()
    directory: tuple[DirectorySettings, ...] = ()
    stdin: Annotated[tuple[StdinSettings, ...], Field(max_length=1)] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        refuse_repeated("connectors", [section.name for section in self.sections()])
        return self

    def sections(self) -> list[ConnectorSection]:
        """Return all of them."""
        return [section for _, sections in self for section in sections]

    def watched(self) -> set[str]:
        """Name the sources whose connectors notice by themselves which signals are silent."""
        noticing = [one for one in self.sections() if getattr(one, "silent_after", 0)]
        return set().union(*(one.sources() for one in noticing))
