"""Entities that misbehave at the same time, which hints at a common cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

__all__ = ["Company", "Stretches", "find_company", "overlap"]

_ALIKE = 0.5
_FINEST, _COARSEST = 65_536, 4096
_PRODUCTS = 2e9
"""Pairs of entities in the same cell that are worth counting, over all cells."""

_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Company:
    """Entities whose incidents overlap.

    Attributes
    ----------
    entities : tuple of str
        Sorted.
    likeness : float
        Mean over its overlapping pairs: time both were in an incident by time either was.
    at_once : int
        Most of them that were in an incident at one time.
    start, end : float
        The stretch around that moment in which at least half as many were.
    timed : bool
        Whether these are microseconds since 1970 (else numbers or rows).
    """

    entities: tuple[str, ...]
    likeness: float
    at_once: int
    start: float
    end: float
    timed: bool


@dataclass(frozen=True)
class Stretches:
    """When each entity was in an incident, on one common grid.

    Attributes
    ----------
    names : tuple of str
    edges : ndarray of shape (B + 1,)
        Borders of the grid's cells.
    within : sparse array of shape (E, B)
        1 where an entity was in an incident in a cell.
    """

    names: tuple[str, ...]
    edges: NDArray[np.float64]
    within: sparse.csr_array

    @classmethod
    def of(
        cls, stretches: Mapping[str, Iterable[tuple[float, float]]], *, finest: int | None = None
    ) -> Stretches:
        """Lay half-open stretches on a grid.

        Parameters
        ----------
        stretches : mapping of str to pairs
            Begin and end of each incident, by entity.
        finest : int, optional
            Most cells. With fewer different ends than that the grid is exact; beyond, its cells
            have one width and an incident counts for every cell it touches. By default 65,536,
            and fewer where many entities are in an incident at once.
        """
        names = tuple(stretches)
        pairs = [
            (row, begin, end)
            for row, name in enumerate(names)
            for begin, end in stretches[name]
            if end > begin
        ]
        if not pairs:
            return cls(names, np.zeros(1), sparse.csr_array((len(names), 0)))
        rows, begins, ends = (np.array(each) for each in zip(*pairs, strict=True))
        edges = np.unique(np.concatenate([begins, ends])).astype(np.float64)
        if finest is None:
            at_once = (ends - begins).sum() / max(edges[-1] - edges[0], 1e-9)
            finest = int(np.clip(_PRODUCTS / max(at_once, 1.0) ** 2, _COARSEST, _FINEST))
        if len(edges) > finest + 1:
            edges = np.linspace(edges[0], edges[-1], finest + 1)
        first = np.searchsorted(edges, begins, side="right") - 1
        stop = np.searchsorted(edges, ends, side="left")
        lengths = stop - first
        cells = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - first, lengths)
        shape = (len(names), len(edges) - 1)
        ones = np.ones(len(cells))
        within = sparse.csr_array((ones, (np.repeat(rows, lengths), cells)), shape=shape)
        within.data[:] = 1.0  # touched twice is still once
        return cls(names, edges, within)

    @property
    def widths(self) -> NDArray[np.float64]:
        """Width of each cell, (B,)."""
        return np.diff(self.edges)


def overlap(stretches: Stretches, rows: slice) -> NDArray[np.float64]:
    """Time in common by time of either (Jaccard) of some entities with all, (n, E)."""
    widths = stretches.widths
    weighted = stretches.within[rows] * widths
    common = np.asarray((weighted @ stretches.within.T).todense())
    own = stretches.within @ widths
    either = own[rows][:, None] + own[None, :] - common
    found: NDArray[np.float64] = np.zeros_like(common)
    np.divide(common, either, out=found, where=either > 0)
    return found


def find_company(
    stretches: Stretches, *, alike: float = _ALIKE, timed: bool = True
) -> list[Company]:
    """Group entities linked by an overlap of at least ``alike``.

    Chains of which less than half were ever in an incident at once do not count as a group.

    Examples
    --------
    >>> when = {"a": [(0.0, 10.0)], "b": [(1.0, 11.0)], "c": [(50.0, 60.0)]}
    >>> found = find_company(Stretches.of(when))
    >>> found[0].entities, round(found[0].likeness, 2), found[0].at_once
    (('a', 'b'), 0.82, 2)
    """
    count = len(stretches.names)
    left, right, degree = list[NDArray[np.intp]](), list[NDArray[np.intp]](), list[float]()
    for start in range(0, count, _ROWS_AT_ONCE):
        block = overlap(stretches, slice(start, start + _ROWS_AT_ONCE))
        row, column = np.nonzero(block >= alike)
        later = column > row + start
        left.append(row[later] + start)
        right.append(column[later])
        degree += block[row[later], column[later]].tolist()
    if not degree:
        return []
    i, j, likeness = np.concatenate(left), np.concatenate(right), np.array(degree)
    _, label = connected_components(
        sparse.coo_array((likeness, (i, j)), shape=(count, count)), directed=False
    )
    total = np.bincount(label[i], weights=likeness, minlength=label.max() + 1)
    links = np.bincount(label[i], minlength=label.max() + 1)
    companies = []
    for group in np.flatnonzero(links):
        members = np.flatnonzero(label == group)
        mean = float(total[group] / links[group])
        company = _company(stretches, members, mean, timed=timed)
        if company.at_once * 2 >= len(members):
            companies.append(company)
    return companies


def _company(
    stretches: Stretches, members: NDArray[np.intp], likeness: float, *, timed: bool
) -> Company:
    count = stretches.within[members].sum(0)
    peak = int(np.argmax(count))
    quiet = np.flatnonzero(count * 2 < count[peak])
    first = int(quiet[quiet < peak].max(initial=-1)) + 1
    last = int(quiet[quiet > peak].min(initial=len(count)))
    edges = stretches.edges
    return Company(
        entities=tuple(sorted(stretches.names[at] for at in members)),
        likeness=likeness,
        at_once=int(count[peak]),
        start=float(edges[first]),
        end=float(edges[min(last, len(edges) - 1)]),
        timed=timed,
    )
