"""Published lists of attacks, and the rows and columns they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.dataset import Segment, label_segments

__all__ = ["Attack", "locate"]


@dataclass(frozen=True)
class Attack:
    """One entry of a published list.

    Attributes
    ----------
    name : str
        Its number in the list.
    start, end : numpy.datetime64
        First and last second.
    points : tuple of str
        The sensors and actuators that were attacked.
    """

    name: str
    start: np.datetime64
    end: np.datetime64
    points: tuple[str, ...]


def locate(
    attacks: Iterable[Attack],
    timestamps: NDArray[np.datetime64],
    variables: Sequence[str],
    *,
    aliases: Mapping[str, str],
    snap_to: NDArray[np.bool_] | None = None,
) -> tuple[Segment, ...]:
    """Turn attacks into rows and columns of a test set.

    Parameters
    ----------
    attacks : iterable of Attack
    timestamps : ndarray of datetime64, ascending
    variables : sequence of str
        The columns. A point that is not among them (some were attacked and not recorded) is left
        out, and its segment may then have no variable.
    aliases : mapping of str to str
        A point's name in the list, and the name of its column where it differs.
    snap_to : ndarray of bool, optional
        Labels. For lists that give the start by the minute: an attack gets the labelled stretches
        it touches, if any, instead of its own coarse times.

    Returns
    -------
    tuple of Segment
        In order of time. Attacks outside the timestamps are left out.

    Examples
    --------
    >>> clock = np.arange("2020-01-01T00:00", "2020-01-01T00:10", dtype="datetime64[m]")
    >>> attack = Attack("1", np.datetime64("2020-01-01T00:02"), np.datetime64("2020-01-01T00:04"),
    ...                 ("PUMP", "VALVE"))
    >>> locate([attack], clock, ["TANK", "PUMP"], aliases={})
    (Segment(start=2, end=5, variables=(1,)),)
    """
    column = {name: number for number, name in enumerate(variables)}
    labelled = label_segments(snap_to) if snap_to is not None else []
    segments: set[Segment] = set()
    for attack in attacks:
        names = {aliases.get(point, point) for point in attack.points}
        found = tuple(sorted(column[name] for name in names if name in column))
        start = int(np.searchsorted(timestamps, attack.start, side="left"))
        end = int(np.searchsorted(timestamps, attack.end, side="right"))
        touched = [run for run in labelled if run[0] < end and run[1] > start]
        segments.update(Segment(a, b, found) for a, b in touched or [(start, end)] if a < b)
    return tuple(sorted(segments))
