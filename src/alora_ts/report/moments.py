"""Times, durations and numbers as people write them, and where axes put their ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis

__all__ = ["Clock", "number", "round_ticks"]

_STEPS = (0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
          10800, 21600, 43200)  # fmt: skip
_DAY = 86400
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def number(value: float) -> str:
    """Write a number with three significant digits and no needless zeros.

    Examples
    --------
    >>> number(4.1987), number(61234.4), number(0.00012), number(float("nan"))
    ('4.2', '61,234', '0.00012', 'none')
    """
    if not math.isfinite(value):
        return "none"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value != 0 and abs(value) < 0.001:
        return f"{value:.3g}"
    text = f"{value:.{max(0, 2 - _magnitude(value))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


@dataclass(frozen=True)
class Clock:
    """The horizontal axis of a diagnosis.

    Attributes
    ----------
    moments : ndarray of shape (N,), float64
        One per row, never falling: seconds since 1970, other numbers, or row numbers.
    kind : {"time", "number", "row"}
        Which of the three.
    zone : str
        The zone in which times are shown; empty when the times name no zone.
    """

    moments: NDArray[np.float64]
    kind: Literal["time", "number", "row"] = "time"
    zone: str = ""

    @classmethod
    def of(cls, diagnosis: Diagnosis) -> Clock:
        """Read the times of a diagnosis; late rows stand at the latest moment before them."""
        stamps = diagnosis.timestamps
        if stamps is None:
            return cls(np.arange(len(diagnosis.score), dtype=np.float64), "row")
        if not np.issubdtype(stamps.dtype, np.datetime64):
            return cls(np.maximum.accumulate(stamps.astype(np.float64)), "number")
        micros = stamps.astype("datetime64[us]")
        zone = diagnosis.table.time_zone or ""
        if zone:
            local = _on_the_wall(micros, zone)
            # Where clocks were put back, local time shows an hour twice; UTC does not.
            micros, zone = (local, zone) if _rising(local) else (micros, "UTC")
        return cls(np.maximum.accumulate(micros.astype(np.int64) / 1e6), "time", zone)

    @property
    def is_time(self) -> bool:
        """Whether moments are seconds."""
        return self.kind == "time"

    def at(self, row: int) -> str:
        """Write the moment of a row.

        Examples
        --------
        >>> Clock(np.array([1767607260.0])).at(0)
        '2026-01-05 10:01'
        >>> Clock(np.array([7.0]), "row").at(0), Clock(np.array([7.5]), "number").at(0)
        ('row 7', '7.5')
        """
        moment = float(self.moments[row])
        if not self.is_time:
            return f"row {moment:,.0f}" if self.kind == "row" else f"{moment:,.10g}"
        date, time = str(np.datetime64(round(moment * 1000), "ms")).split("T")
        time = time.removesuffix(".000")
        return f"{date} {time.removesuffix(':00') if len(time) == 8 else time}"

    def between(self, first: int, last: int) -> str:
        """Write how long it is from one row to another.

        Examples
        --------
        >>> Clock(np.array([0.0, 3780.0])).between(0, 1)
        '1 h 3 min'
        >>> Clock(np.array([0.0, 1.0]), "row").between(0, 1)
        '1 row'
        """
        amount = float(self.moments[last] - self.moments[first])
        if not self.is_time:
            unit = f" row{'' if round(amount) == 1 else 's'}" if self.kind == "row" else ""
            return f"{amount:,.10g}{unit}"
        if amount < 1:
            return f"{amount * 1000:.0f} ms"
        seconds = round(amount)
        parts = [
            (seconds // _DAY, "d"),
            (seconds % _DAY // 3600, "h"),
            (seconds % 3600 // 60, "min"),
            (seconds % 60, "s"),
        ]
        said = [f"{count} {unit}" for count, unit in parts if count]
        # The two largest units say enough: nobody needs the seconds of three days.
        return " ".join(said[:2])

    def span(self, first: int, end: int) -> str:
        """Write how long the rows from ``first`` to before ``end`` last.

        Examples
        --------
        >>> Clock(np.array([0.0, 1.0, 2.0]), "row").span(0, 3)
        '3 rows'
        """
        if end - 1 == first:
            return "one row"
        return f"{end - first:,} rows" if self.kind == "row" else self.between(first, end - 1)

    def ticks(self, low: float, high: float, *, most: int = 7) -> list[tuple[float, str]]:
        """Choose round moments between two and write them short.

        Examples
        --------
        >>> Clock(np.zeros(0), "row").ticks(0, 100, most=3)
        [(0.0, '0'), (50.0, '50'), (100.0, '100')]
        >>> hours = Clock(np.zeros(0)).ticks(82_800, 97_200, most=4)
        >>> [label for _, label in hours]
        ['23:00', '2 Jan', '01:00', '02:00', '03:00']
        >>> [label for _, label in Clock(np.zeros(0)).ticks(0, 172_800, most=4)]
        ['1 Jan', '1 Jan 12:00', '2 Jan', '2 Jan 12:00', '3 Jan']
        """
        span = max(high - low, 1e-9)
        if not self.is_time:
            return [(tick, f"{tick:,.14g}") for tick in round_ticks(low, high, most=most)]
        step: float = next((s for s in _STEPS if span / s <= most), 0)
        if not step:
            step = _DAY * max(1, math.ceil(span / _DAY / most))
        first = math.ceil(low / step) * step
        ticks = [first + i * step for i in range(math.floor((high - first) / step) + 1)]
        labels = [_short(tick, step) for tick in ticks]
        if len(set(labels)) < len(labels):
            labels = [_full(tick, step) for tick in ticks]
        return list(zip(ticks, labels, strict=True))


def _on_the_wall(micros: NDArray[np.datetime64], zone: str) -> NDArray[np.datetime64]:
    """Turn moments in UTC into what clocks in a zone show."""
    local: NDArray[np.datetime64] = (
        pl.Series(micros, dtype=pl.Datetime("us", "UTC"))
        .dt.convert_time_zone(zone)
        .dt.replace_time_zone(None)
        .to_numpy()
    )
    return local


def _rising(micros: NDArray[np.datetime64]) -> bool:
    return bool((np.diff(micros.astype(np.int64)) >= 0).all())


def round_ticks(low: float, high: float, *, most: int = 5) -> list[float]:
    """Choose round numbers between two.

    Examples
    --------
    >>> round_ticks(0.13, 0.92)
    [0.2, 0.4, 0.6, 0.8]
    """
    span = high - low
    if not span > 0:
        return [low]
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    count = math.floor((high - first * step) / step + 1e-9) + 1
    ticks = [(first + i) * step for i in range(count)]
    return [float(f"{tick:.15g}") for tick in ticks]


def _full(moment: float, step: float) -> str:
    """A tick that is not taken for one of another day or year.

    Examples
    --------
    >>> _full(86_400.0, 86_400), _full(43_200.0, 43_200), _full(86_400.0, 43_200)
    ('2 Jan 1970', '1 Jan 12:00', '2 Jan')
    """
    day = _short(moment // _DAY * _DAY, _DAY)
    if step >= _DAY:
        return f"{day} {str(np.datetime64(round(moment), 's'))[:4]}"
    return day if moment % _DAY == 0 else f"{day} {_short(moment, step)}"


def _short(moment: float, step: float) -> str:
    date, time = str(np.datetime64(round(moment * 1000), "ms")).split("T")
    if time == "00:00:00.000":
        return f"{int(date[8:10])} {_MONTHS[int(date[5:7]) - 1]}"
    return time if step < 1 else time[: 8 if step < 60 else 5]
