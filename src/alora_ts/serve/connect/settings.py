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
    "MqttSettings",
    "Name",
    "PlainUrl",
    "PrometheusSettings",
    "Seconds",
    "Section",
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


class Section(BaseModel):
    """A section that refuses names it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ConnectorSection(Section):
    """What every connector has: a name of its own, and the source that it feeds."""

    name: Name
    source: str


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


class TopicSettings(Section):
    """Which topic carries what.

    Words in braces stand for one level of the topic and can be used in ``variable``:
    ``plant/{area}/{sensor}`` with ``{area}.{sensor}``. ``payload`` is ``value`` (a number, or an
    object with value and time), ``fields`` (an object of several signals, ``{field}`` is the
    name of each) or ``row`` (all variables at one time).
    """

    topic: Annotated[str, Field(min_length=1, max_length=1000)]
    payload: Literal["value", "fields", "row"] = "value"
    variable: str | None = None
    value_key: str = "value"
    time_key: str = "time"
    time_unit: TimeUnit = "s"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for level in self.topic.split("/"):
            if ("{" in level or "}" in level) and not re.fullmatch(r"\{\w+\}", level):
                raise ValueError(
                    f"the level {level!r} of the topic is only partly in braces; a word in braces "
                    "stands for a whole level"
                )
        if self.payload == "row":
            if self.variable is not None:
                raise ValueError("a topic of whole rows names no variable; remove `variable`")
            return self
        words = {name for _, name, _, _ in string.Formatter().parse(self.topic) if name}
        used = {name for _, name, _, _ in string.Formatter().parse(self.template()) if name}
        extra = {"field"} if self.payload == "fields" else set()
        if used - words - extra:
            missing = ", ".join(sorted(used - words - extra))
            raise ValueError(
                f"the variable is {self.template()!r}, but the topic {self.topic!r} has no "
                f"{{{missing}}}; put it in the topic, or give `variable`"
            )
        return self

    def template(self) -> str:
        """Return the form of the variable's name."""
        if self.variable is not None:
            return self.variable
        return "{field}" if self.payload == "fields" else "{variable}"


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
        if self.assemble is None and any(topic.payload != "row" for topic in self.topics):
            raise ValueError(
                "signals that arrive separately need [connect.mqtt.assemble] with a `step` in "
                'seconds, the distance of the rows; or send rows and say payload = "row"'
            )
        return self


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
    prometheus: tuple[PrometheusSettings, ...] = ()
    directory: tuple[DirectorySettings, ...] = ()
    stdin: Annotated[tuple[StdinSettings, ...], Field(max_length=1)] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        sections: list[ConnectorSection] = [
            *self.mqtt,
            *self.prometheus,
            *self.directory,
            *self.stdin,
        ]
        refuse_repeated("connectors", [section.name for section in sections])
        return self

    def watched(self) -> set[str]:
        """Name the sources whose connectors notice by themselves which signals are silent."""
        noticing: tuple[MqttSettings | PrometheusSettings, ...] = (*self.mqtt, *self.prometheus)
        return {one.source for one in noticing if one.silent_after}
