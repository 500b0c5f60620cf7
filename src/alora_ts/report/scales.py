"""How values become heights."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.report.moments import number, round_ticks

__all__ = ["HEIGHT", "Scale"]

# Charts are drawn in a box of this many units, whatever their size on the screen.
HEIGHT = 1000
_ALARM_TICKS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 1e4, 1e5, 1e6)


@dataclass(frozen=True)
class Scale:
    """A vertical axis.

    Attributes
    ----------
    low, high : float
        Values at the bottom and at the top.
    alarm : bool
        Whether heights grow with ``log2(1 + value)``: fair to scores, where both 0.5 and 500
        must be seen.
    """

    low: float
    high: float
    alarm: bool = False

    @classmethod
    def over(cls, *lines: NDArray[np.floating], margin: float = 0.06) -> Scale:
        """Fit a linear scale to some lines.

        Examples
        --------
        >>> Scale.over(np.array([0.0, 1.0]), np.array([np.nan, 2.0]), margin=0.0)
        Scale(low=0.0, high=2.0, alarm=False)
        """
        values = np.concatenate([line.ravel() for line in lines]) if lines else np.zeros(0)
        values = values[np.isfinite(values)]
        if not len(values):
            return cls(0.0, 1.0)
        low, high = float(values.min()), float(values.max())
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            # A flat line belongs in the middle, not on an edge.
            room = max(abs(low) * 0.05, 1e-9)
            return cls(low - room, high + room)
        room = margin * (high - low)
        return cls(low - room, high + room)

    @classmethod
    def for_scores(cls, scores: NDArray[np.floating]) -> Scale:
        """Fit an alarm scale that always shows the alarm level 1.

        Examples
        --------
        >>> Scale.for_scores(np.array([0.1, 0.4])).high
        2.0
        """
        finite = scores[np.isfinite(scores)]
        top = float(finite.max()) if len(finite) else 0.0
        return cls(0.0, max(2.0, 1.15 * top), alarm=True)

    def heights(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Turn values into units from the top of the box; what lies outside sits at the edge.

        Examples
        --------
        >>> Scale(0.0, 4.0).heights(np.array([0.0, 1.0, 9.0])).tolist()
        [1000.0, 750.0, 0.0]
        """
        low, high, inner = self._inner(np.asarray(values, dtype=np.float64))
        inside = np.clip((inner - low) / (high - low), 0, 1)
        heights: NDArray[np.float64] = HEIGHT * (1 - inside)
        return heights

    def ticks(self, *, most: int = 5) -> list[tuple[float, str]]:
        """List some round values with their labels, each another.

        Examples
        --------
        >>> [label for _, label in Scale(61_234.1, 61_234.6).ticks(most=3)]
        ['61,234.2', '61,234.4', '61,234.6']
        """
        if self.alarm:
            known = [tick for tick in _ALARM_TICKS if self.low <= tick <= self.high]
            # Too many would overlap: the alarm level and every second one above it stay.
            chosen = known if len(known) <= 5 else [*known[:2], *known[3::2]]
            return [(tick, f"{number(tick)}×" if tick else "0") for tick in chosen]
        ticks = round_ticks(self.low, self.high, most=most)
        labels = [number(tick) for tick in ticks]
        if len(set(labels)) < len(labels):
            # Far from zero three digits do not tell neighbours apart.
            step = min(b - a for a, b in itertools.pairwise(ticks))
            digits = max(0, -math.floor(math.log10(step)))
            labels = [f"{tick:,.{digits}f}" for tick in ticks]
        return list(zip(ticks, labels, strict=True))

    def _inner(self, values: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
        if not self.alarm:
            return self.low, self.high, values
        curved: NDArray[np.float64] = np.log2(1 + np.maximum(values, 0))
        return float(np.log2(1 + self.low)), float(np.log2(1 + self.high)), curved
