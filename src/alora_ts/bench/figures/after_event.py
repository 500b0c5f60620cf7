"""What the ALoRa-T score does once an event is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, GREY, HOT, PAGE, count_ranks, shade, styled
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop
from alora_ts.metrics.events import runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["AfterEvent", "Fall", "draw", "follow_falls", "measure"]

_PADDINGS = ("circular", "reflect")
_BEFORE, _AFTER = 1, 3
"""Rows shown around the end of an event, in windows."""


@dataclass(frozen=True)
class Fall:
    """Ranks around the end of each event.

    Attributes
    ----------
    ranks : ndarray of shape (events, rows)
        From one window before an event's end to three after it.
    usual : float
        The 90th percentile over normal rows more than two windows away from all events.
    back : ndarray of float, shape (raised,)
        Of the events at whose last row the rank was above ``usual``: how many rows until it was
        first back; NaN where that did not happen within three windows.
    """

    ranks: NDArray[np.float64]
    usual: float
    back: NDArray[np.float64]


@dataclass(frozen=True)
class AfterEvent:
    """The same events seen by networks of both paddings.

    Attributes
    ----------
    place : str
    window : int
        T.
    falls : dict of str to Fall
        By padding.
    """

    place: str
    window: int
    falls: dict[str, Fall]

    @property
    def caption(self) -> str:
        """What was found, and whether the paper's statement holds."""
        said = [
            f"Rank of the last attention matrix around the end of the events of {self.place} "
            f"(T = {self.window}), mean over the events. The paper says that it falls within T "
            "rows, when no anomalous row is left in the window."
        ]
        for padding, fall in self.falls.items():
            raised = len(fall.back)
            # The window that ends T rows after the last anomalous one is the first without any.
            within = int((fall.back <= self.window).sum())
            said.append(
                f"With {padding} padding the rank was above its usual level "
                f"({fall.usual:g}, 90 % of normal rows) at the end of {raised} of "
                f"{len(fall.ranks)} events, and back within T rows after {within} of these {raised}"
                + (f" (median {np.nanmedian(fall.back):g} rows)." if within else ".")
            )
        return " ".join(said)


def follow_falls(
    rank: NDArray[np.number], label: NDArray[np.bool_], segments: NDArray[np.int64], window: int
) -> Fall:
    """Cut out the rows around the end of each event that normal rows follow.

    Parameters
    ----------
    rank : ndarray of shape (N,)
    label : ndarray of bool, shape (N,)
    segments : ndarray of int, shape (N,)
    window : int
        T.

    Returns
    -------
    Fall
        Only of events followed by three windows of normal rows of their segment.

    Examples
    --------
    >>> label = np.zeros(60, dtype=bool)
    >>> label[30:40] = True
    >>> rank = np.ones(60)
    >>> rank[30:42] = 5
    >>> follow_falls(rank, label, np.zeros(60, dtype=np.int64), 4).back
    array([3.])
    """
    starts, ends = runs(label)
    far = np.ones(len(label), dtype=bool)
    for start, end in zip(starts, ends, strict=True):
        far[max(start - 2 * window, 0) : end + 2 * window] = False
    usual = float(np.quantile(rank[far], 0.9)) if far.any() else float(np.median(rank))
    cut, back = [], []
    for end in ends:
        first, after = end - _BEFORE * window, end + _AFTER * window
        if first < 0 or after > len(label) or label[end:after].any():
            continue
        if segments[first] != segments[after - 1]:
            continue
        cut.append(rank[first:after].astype(np.float64))
        if rank[end - 1] > usual:
            calm = np.flatnonzero(rank[end:after] <= usual)
            back.append(float(calm[0]) + 1 if len(calm) else np.nan)
    rows = (_BEFORE + _AFTER) * window
    return Fall(np.array(cut).reshape(-1, rows), usual, np.array(back))


def measure(workshop: Workshop) -> AfterEvent:
    """Fit with circular and with reflecting borders and follow the rank after each event.

    Raises
    ------
    MissingMaterialError
        When no event is followed by three windows of normal rows.
    """
    data, falls, window = workshop.data, {}, 0
    for padding in _PADDINGS:
        model = workshop.fitted(architecture__padding=padding)
        window = model.window
        rank = model.diagnose(data.test, segments=data.test_segments, progress=False).rank
        falls[padding] = follow_falls(rank, data.label, data.test_segments, window)
    if not len(falls[_PADDINGS[0]].ranks):
        raise MissingMaterialError(
            f"no event of {workshop.place} is followed by {_AFTER * window} normal rows; choose "
            "another --entity"
        )
    return AfterEvent(workshop.place, window, falls)


@styled
def draw(material: AfterEvent) -> Figure:
    """Draw one panel per padding: every event in grey, their mean, and T rows as a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, 2.6))
    panels = figure.subplots(1, len(material.falls), sharey=True)
    window = material.window
    rows = np.arange(-_BEFORE * window, _AFTER * window)
    for axes, (padding, fall) in zip(panels, material.falls.items(), strict=True):
        shade(axes, rows[0], 0)
        axes.plot(rows, fall.ranks.T, color=GREY, linewidth=0.5, alpha=0.6)
        axes.plot(rows, fall.ranks.mean(0), color=BLUE, linewidth=1.8, label="mean of the events")
        axes.axhline(fall.usual, color=GREY, linestyle=":", label="90 % of normal rows are below")
        axes.axvline(window, color=HOT, linestyle="--", label=f"T = {window} rows later")
        axes.set(title=f"{padding} padding", xlabel="rows after the event's end")
        axes.set_xlim(rows[0], rows[-1])
        count_ranks(axes)
    panels[0].set_ylabel("rank (ALoRa-T score)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3)
    return figure
