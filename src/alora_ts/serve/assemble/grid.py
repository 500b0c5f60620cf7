"""The times at which rows are made, and which samples may serve them."""

from __future__ import annotations

from dataclasses import dataclass

from alora_ts.errors import AloraError

__all__ = ["Grid", "Sample"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one signal; the time is in microseconds since 1970, UTC.

    The value None says that the signal has none from then on: the last one is not kept.
    """

    signal: str
    time: int
    value: float | None


@dataclass(frozen=True, slots=True)
class Grid:
    """How rows are made of samples; all durations in microseconds.

    Attributes
    ----------
    step : int
        Rows are at multiples of it.
    tolerance : int
        A sample serves the nearest row when it is not further away than this.
    hold : int
        A signal without a sample for a row keeps its last value for this long.
    wait : int
        An incomplete row is made this long after its first sample arrived.
    late : int
        Samples for rows older than this, counted from the newest row, are refused.
    ahead : int
        Samples further than this in the future of the clock are refused: one wrong clock would
        otherwise make all other signals late.

    Examples
    --------
    >>> grid = Grid(step=10, tolerance=4, hold=20, wait=5, late=100, ahead=1000)
    >>> grid.point(23), grid.point(27), grid.point(25)
    (20, 30, None)
    """

    step: int
    tolerance: int
    hold: int
    wait: int
    late: int
    ahead: int

    def __post_init__(self) -> None:
        if self.step < 1:
            raise AloraError(f"the step of the rows is {_seconds(self.step)}; give at least 1 µs")
        if not 0 <= self.tolerance <= self.step // 2:
            raise AloraError(
                f"the tolerance is {_seconds(self.tolerance)}; give at most half the step "
                f"({_seconds(self.step // 2)}), or a sample could belong to two rows"
            )
        for name in ("hold", "wait", "late", "ahead"):
            if getattr(self, name) < 0:
                raise AloraError(
                    f"{name} is negative ({_seconds(getattr(self, name))}); give 0 or more"
                )

    def point(self, time: int) -> int | None:
        """Return the row that a sample serves; None when it is too far from any.

        A sample midway between two rows serves the later one.
        """
        nearest = (time + self.step // 2) // self.step * self.step
        return nearest if abs(time - nearest) <= self.tolerance else None


def _seconds(micros: int) -> str:
    return f"{micros / 1e6:g} s"
