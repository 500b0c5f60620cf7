"""How unusual a score is: how often normal operation shows one as high."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReturnPeriod"]

_UNITS = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"))


@dataclass(frozen=True)
class ReturnPeriod:
    """From one peak of normal operation that is as high to the next.

    Attributes
    ----------
    rows : float
    seconds : float or None
        The same in time; None where the time between rows is not known.
    more : bool
        Whether it is longer than that: the training period supports no longer one.

    Examples
    --------
    >>> str(ReturnPeriod(rows=5760.0, seconds=40 * 86_400.0))
    'once in 40 days'
    >>> str(ReturnPeriod(rows=12_000.0, more=True))
    'less than once in 12,000 rows'
    """

    rows: float
    seconds: float | None = None
    more: bool = False

    def __str__(self) -> str:
        return f"{'less than ' if self.more else ''}once in {self._span()}"

    def _span(self) -> str:
        if self.seconds is None:
            return _counted(self.rows, "row")
        for length, unit in _UNITS:
            if self.seconds >= 2 * length:
                return _counted(self.seconds / length, unit)
        return _counted(self.seconds, "second")


def _counted(number: float, unit: str) -> str:
    whole = round(number)
    return f"{whole:,} {unit}{'' if whole == 1 else 's'}"
