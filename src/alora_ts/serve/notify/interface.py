"""What is sent, to whom, and where it is kept until it succeeded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

__all__ = ["EventKind", "IncidentEvent", "Keeper", "Notifier", "Outbox", "OutboxEntry"]

EventKind = Literal["opened", "updated", "closed"]


@dataclass(frozen=True, slots=True)
class IncidentEvent:
    """Something happened to an incident.

    Attributes
    ----------
    id : str
        Different for every event and the same at every attempt: receivers drop repetitions by it.
    kind : {"opened", "updated", "closed", "missed"}
        "missed" sums up what began and ended while the receiver could not be reached.
    incident : mapping
        The incident as the HTTP interface shows it; where it is "missed", ``incidents`` with a
        list of them.
    """

    id: str
    kind: EventKind | Literal["missed"]
    incident: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One event for one channel, with the attempts already made."""

    id: int
    channel: str
    attempts: int
    event: IncidentEvent


class Outbox(Protocol):
    """Keeps entries across crashes; times are seconds since 1970."""

    async def due(
        self, now: float, limit: int, *, channel: str | None, known: Collection[str]
    ) -> Sequence[OutboxEntry]:
        """Give pending entries whose next attempt is not after ``now``, oldest first.

        Those of one channel; None stands for every channel that is not ``known``. An entry waits
        for earlier ones of its incident.
        """
        ...

    async def fold(
        self,
        now: float,
        *,
        channel: str,
        wants: Callable[[IncidentEvent], bool],
        sum_up: bool,
    ) -> None:
        """Take out what began and ended without a word reaching the receiver for minutes.

        One entry that sums it all up takes its place if asked for.
        """
        ...

    async def take(self, entry: int, now: float) -> bool:
        """Say whether an entry may be sent now; another process may have it."""
        ...

    async def hurry(self, now: float, *, channel: str) -> None:
        """Let everything that waits for its next attempt be due."""
        ...

    async def lasting(self, channel: str) -> Sequence[IncidentEvent]:
        """Give the newest event of every open incident that this channel is told of."""
        ...

    async def sent(self, entry: int) -> None:
        """Note that an entry was delivered."""
        ...

    async def retry(self, entry: int, *, at: float, attempts: int, error: str) -> None:
        """Note a failed attempt and when to try again."""
        ...

    async def dead(self, entry: int, *, error: str) -> None:
        """Give an entry up; it stays visible as a dead letter."""
        ...


class Notifier(Protocol):
    """Notifies one receiver of incidents."""

    @property
    def name(self) -> str:
        """What the settings call the channel."""
        ...

    async def notify(self, event: IncidentEvent) -> None:
        """Deliver an event or raise; whoever calls tries again."""
        ...


@runtime_checkable
class Keeper(Notifier, Protocol):
    """A notifier whose receiver forgets what it does not hear of again."""

    @property
    def resend(self) -> float:
        """Seconds from one repetition to the next."""
        ...

    async def keep(self, lasting: Callable[[], Awaitable[Sequence[IncidentEvent]]]) -> None:
        """Say again what lasts, or raise."""
        ...
