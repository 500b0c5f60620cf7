"""What a connector gets from the service and what it shows of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from alora_ts.serve.assemble import Keeper

__all__ = [
    "Connector",
    "ConnectorState",
    "ConnectorStatus",
    "Host",
    "Progress",
    "Receipt",
    "Rejection",
    "Row",
]

ConnectorState = Literal["starting", "connected", "waiting", "failed", "done"]


@dataclass(frozen=True, slots=True)
class Row:
    """The values at one time.

    Attributes
    ----------
    time : int
        Microseconds since 1970 in UTC; with the source it identifies the row.
    values : mapping of str to float or None
        By variable; what is absent or None is missing.
    """

    time: int
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Rejection:
    """One row that was not stored: its place in the call, and why."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of the rows of one call; all that is not rejected is durably stored.

    Attributes
    ----------
    accepted : int
        Rows stored by this call.
    duplicates : int
        Rows that were there already and stayed as they were.
    merged : int
        Rows that were there already and got values they had missed.
    late : int
        Rows among the accepted that are older than one stored before.
    rejected : tuple of Rejection
    """

    accepted: int
    duplicates: int = 0
    merged: int = 0
    late: int = 0
    rejected: tuple[Rejection, ...] = ()


@dataclass(frozen=True)
class ConnectorStatus:
    """What the health page shows of a connector."""

    name: str
    kind: str
    source: str
    state: ConnectorState
    last_error: str | None = None
    received: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)


class Host(Protocol):
    """The service as connectors see it."""

    @property
    def folder(self) -> Path:
        """Where a connector may keep durable state of its own."""
        ...

    def keeper(self, connector: str, source: str) -> Keeper | None:
        """Who keeps a connector's unfinished rows of a source; None for a file in the folder."""
        ...

    def variables(self, source: str) -> Sequence[str]:
        """Name the variables of a source's active model; AloraError for an unknown source."""
        ...

    def collecting(self, source: str) -> bool:
        """Whether a source has no model yet, so that any variable is welcome."""
        ...

    async def learn(self, source: str, names: Iterable[str]) -> None:
        """Let a source without a model have these variables; nothing for one that has a model."""
        ...

    async def accept(self, source: str, rows: Sequence[Row]) -> Receipt:
        """Store rows; they are durable when this returns."""
        ...

    async def last_row(self, source: str) -> Row | None:
        """Return the newest stored row of a source."""
        ...

    async def silent(self, source: str, connector: str, signals: Mapping[str, int | None]) -> None:
        """Take note of which signals are silent now, each with its last time (None: never seen)."""
        ...


class Connector(Protocol):
    """Brings rows into the service until it is cancelled, and restores its connection by itself."""

    @property
    def name(self) -> str:
        """What the settings call it."""
        ...

    @property
    def kind(self) -> str:
        """Which connector it is, named as its section: mqtt, kafka, directory and so on."""
        ...

    async def run(self, host: Host) -> None:
        """Work until cancelled, or until the input ends where it can end."""
        ...

    def status(self) -> ConnectorStatus:
        """Report its state."""
        ...


class Progress:
    """Counts what a connector does, for its status.

    Examples
    --------
    >>> progress = Progress("line-3", "mqtt", "plant")
    >>> progress.received(2)
    >>> progress.reject("not JSON")
    >>> progress.status().rejected
    {'not JSON': 1}
    """

    def __init__(self, name: str, kind: str, source: str) -> None:
        self.name = name
        self.kind = kind
        self.source = source
        self._state: ConnectorState = "starting"
        self._error: str | None = None
        self._received = 0
        self._rejected = Counter[str]()

    def enter(self, state: ConnectorState, error: str | None = None) -> None:
        """Change the state; an error stays visible after the connection is restored."""
        self._state = state
        self._error = error or self._error

    def complain(self, error: str) -> None:
        """Show an error without a change of state."""
        self._error = error

    def received(self, count: int) -> None:
        """Count messages, samples or rows that came in."""
        self._received += count

    def reject(self, reason: str, count: int = 1) -> None:
        """Count what could not be used. Reasons are few and fixed: they become labels."""
        self._rejected[reason] += count

    def status(self) -> ConnectorStatus:
        """Return a snapshot of the counts."""
        return ConnectorStatus(
            self.name,
            self.kind,
            self.source,
            self._state,
            self._error,
            self._received,
            dict(self._rejected),
        )
