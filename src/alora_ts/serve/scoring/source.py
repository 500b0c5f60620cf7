"""A source: one named stream of rows with one active model, or none yet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from alora_ts.errors import AloraError, nearest
from alora_ts.serve.problems import ConflictError, NotFoundError
from alora_ts.serve.times import now_micros

__all__ = ["Source", "Sources", "UnknownSourceError", "check_source_name"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class UnknownSourceError(NotFoundError):
    """No source has this name."""


def check_source_name(name: str) -> str:
    """Return the name if it can be one: letters, digits, ``_ . -``.

    Examples
    --------
    >>> check_source_name("line-3")
    'line-3'
    >>> check_source_name("../etc")
    Traceback (most recent call last):
    alora_ts.errors.AloraError: '../etc' cannot name a source; use letters, digits, _ . and -
    """
    if not _NAME.fullmatch(name):
        raise AloraError(f"{name[:60]!r} cannot name a source; use letters, digits, _ . and -")
    return name


@dataclass
class Source:
    """What the service knows of a source while it runs.

    Attributes
    ----------
    id : int
    name : str
    variables : tuple of str
        All it ever had, in the order of the stored numbers.
    model_id : str or None
        None while it collects rows to learn from.
    wanted : tuple of str
        The variables of the active model; all it has while there is none.
    bucket_us : int
        Width of its summaries.
    newest, first : int or None
        Times of its last and first row. Changed on the writer's thread only.
    rows : int
    reload : bool
        Whether the scorer must load another model.
    arrived : int
        When its last row came, by the clock of whoever took it.
    heard : int
        When this process took or learnt of its last row, by its own clock; 0 since its start.
    threshold : float
        A raw score above it alarms.
    rows_from : int or None
        Time of the oldest row still stored; what is older is known by its summaries.
    unscored : int
        Rows that wait to be scored, about: late rows are not counted again.
    waits_since : int
        When rows began to wait, of those that wait now.
    scored_at : int
        When rows were last scored, by this process or as it heard of another.
    scored : int
        How many rows had their score by then, as the store counts them.
    scored_from : int or None
        For one that collected rows since the start of the service: from which time on they are
        scored since it has a model.
    """

    id: int
    name: str
    variables: tuple[str, ...]
    model_id: str | None
    wanted: tuple[str, ...]
    bucket_us: int
    newest: int | None
    first: int | None
    rows: int
    threshold: float
    arrived: int = 0
    heard: int = 0
    rows_from: int | None = None
    unscored: int = 0
    waits_since: int = 0
    scored_at: int = 0
    scored: int = 0
    reload: bool = True
    scored_from: int | None = None

    @property
    def collecting(self) -> bool:
        """Whether it has no model yet: rows are stored, and not scored."""
        return self.model_id is None

    @property
    def active(self) -> str:
        """The id of its model, for what needs one."""
        if self.model_id is None:
            raise ConflictError(
                f"the source {self.name!r} has no model yet, it collects rows; fit one from them "
                "and activate it first"
            )
        return self.model_id

    def note_waiting(self, count: int) -> None:
        """So many rows wait to be scored now."""
        if count and not self.unscored:
            self.waits_since = now_micros()
        self.unscored = count

    def lag(self, now: int) -> float:
        """Seconds since rows began to wait or were last scored, while some wait.

        Examples
        --------
        >>> from alora_ts.serve.times import now_micros
        >>> source = Source(1, "plant", ("flow",), "m", ("flow",), 1, None, None, 0, 1.0)
        >>> source.note_waiting(3)
        >>> source.lag(source.waits_since + 2_000_000)
        2.0
        >>> source.note_waiting(0)
        >>> source.lag(now_micros())
        0.0
        """
        return (now - max(self.scored_at, self.waits_since)) / 1e6 if self.unscored else 0.0


class Sources:
    """The sources by name."""

    def __init__(self) -> None:
        self._known: dict[str, Source] = {}

    def add(self, source: Source) -> None:
        """Keep a source."""
        # Readers iterate without a lock, so the dict is replaced, not changed.
        self._known = {**self._known, source.name: source}

    def get(self, name: str) -> Source:
        """The source of this name."""
        try:
            return self._known[name]
        except KeyError:
            raise UnknownSourceError(
                f"there is no source {name[:60]!r}{nearest(name, self._known)}"
            ) from None

    def all(self) -> list[Source]:
        """Every source, by name."""
        return [self._known[name] for name in sorted(self._known)]
