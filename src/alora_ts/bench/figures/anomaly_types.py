"""Rank of the attention under each kind of anomaly, mean of five runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, GREY, HOT, PAGE, SKY, shade, styled
from alora_ts.bench.figures.workshop import Workshop
from alora_ts.datasets.synthetic import SyntheticDataset, make

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["KindOfAnomaly", "TypeRanks", "draw", "measure"]

_RUNS = 5
_BEFORE, _AFTER = 60, 120
_COLUMNS = 3


@dataclass(frozen=True)
class KindOfAnomaly:
    """What one kind of fault does.

    Attributes
    ----------
    kind : str
    length : int
        Rows during which it is active.
    signal : ndarray of shape (rows,)
        The origin in the first run, from 60 rows before the fault to 120 after its start.
    ranks : ndarray of shape (runs, rows)
    raised : ndarray of shape (runs,)
        Mean rank from the fault's start until its last row has left the window, less the mean
        over normal rows.
    """

    kind: str
    length: int
    signal: NDArray[np.float64]
    ranks: NDArray[np.float64]
    raised: NDArray[np.float64]


@dataclass(frozen=True)
class TypeRanks:
    """All kinds.

    Attributes
    ----------
    kinds : tuple of KindOfAnomaly
    usual : float
        Mean rank of normal rows.
    window : int
        T.
    """

    kinds: tuple[KindOfAnomaly, ...]
    usual: float
    window: int

    @property
    def caption(self) -> str:
        """What was found."""
        runs = len(self.kinds[0].raised)
        always = [one.kind for one in self.kinds if (one.raised > 0).all()]
        never = [one.kind for one in self.kinds if one.raised.mean() <= 0]
        said = (
            f"Rank of the last attention matrix under {len(self.kinds)} kinds of anomaly of the "
            f"simulated set 'types' (8 variables, T = {self.window}), mean and range of {runs} "
            f"runs (each with new data and a new network); grey: the signal in which the fault "
            f"began. In all {runs} runs the mean rank during the fault was above that of normal "
            f"rows ({self.usual:.2f}) for {len(always)} of the {len(self.kinds)} kinds."
        )
        if never:
            said += f" On average over the runs it was not above it for: {', '.join(never)}."
        return said


def measure(workshop: Workshop) -> TypeRanks:
    """Fit five networks on five simulations and cut out the rows around each fault."""
    sets, ranks, window = [], [], 0
    for run in range(_RUNS):
        data = make("types", seed=run)
        model = workshop.fit(data.train, f"anomaly types, run {run + 1} of {_RUNS}", seed=run)
        sets.append(data)
        ranks.append(model.diagnose(data.test, progress=False).rank.astype(np.float64))
        window = model.window
    usual = np.array(
        [rank[_normal(data, window)].mean() for data, rank in zip(sets, ranks, strict=True)]
    )
    kinds = []
    for number, fault in enumerate(sets[0].faults):
        part = slice(fault.start - _BEFORE, fault.start + _AFTER)
        during = slice(fault.start, fault.end + window - 1)
        kinds.append(
            KindOfAnomaly(
                fault.kind,
                fault.end - fault.start,
                sets[0].test[part, sets[0].faults[number].origin].astype(np.float64),
                np.array([rank[part] for rank in ranks]),
                np.array([rank[during].mean() for rank in ranks]) - usual,
            )
        )
    return TypeRanks(tuple(kinds), float(usual.mean()), window)


def _normal(data: SyntheticDataset, window: int) -> NDArray[np.bool_]:
    """Rows with a whole window behind them that is free of faults."""
    normal = ~data.label
    for row in np.flatnonzero(data.label):
        normal[row : row + window] = False
    normal[: window - 1] = False
    return normal


@styled
def draw(material: TypeRanks) -> Figure:
    """Draw one panel per kind."""
    from matplotlib.figure import Figure

    lines = -(-len(material.kinds) // _COLUMNS)
    figure = Figure(figsize=(PAGE, 0.4 + 1.15 * lines))
    panels = figure.subplots(lines, _COLUMNS, sharex=True, squeeze=False).flatten()
    for axes, one in zip(panels, material.kinds, strict=False):
        _draw_kind(axes, one, material.usual)
    for axes in panels[len(material.kinds) :]:
        axes.axis("off")
    spare = panels[len(material.kinds) :] if len(material.kinds) < len(panels) else panels[:1]
    handles, names = panels[0].get_legend_handles_labels()
    spare[-1].legend(handles, names, loc="center")
    figure.supxlabel("rows after the fault's start", fontsize=8)
    figure.supylabel("rank (ALoRa-T score)", fontsize=8)
    return figure


def _draw_kind(axes: Axes, one: KindOfAnomaly, usual: float) -> None:
    from matplotlib.ticker import MaxNLocator

    rows = np.arange(-_BEFORE, -_BEFORE + one.ranks.shape[1])
    shade(axes, 0, one.length, label="the fault is active")
    top = max(float(one.ranks.max()), 6.0)
    low, high = float(one.signal.min()), float(one.signal.max())
    scaled = (one.signal - low) / max(high - low, 1e-12)
    # The signal lies behind, in the lower part, without units: only its shape matters here.
    axes.plot(rows, 0.55 * top * scaled, color=GREY, linewidth=0.6, alpha=0.8, label="its signal")
    axes.fill_between(
        rows,
        one.ranks.min(0),
        one.ranks.max(0),
        color=SKY,
        alpha=0.45,
        linewidth=0,
        label="range of the runs",
    )
    axes.plot(rows, one.ranks.mean(0), color=BLUE, label="mean rank")
    axes.axhline(usual, color=HOT, linestyle=":", linewidth=0.9, label="mean of normal rows")
    axes.set(title=one.kind.replace("-", " "), xlim=(rows[0], rows[-1]), ylim=(0, 1.08 * top))
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
