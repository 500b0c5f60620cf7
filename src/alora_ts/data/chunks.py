"""Files larger than memory: prepared chunk by chunk, with the result of one pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.fitted import Tally
from alora_ts.data.flow import Flow, Piece
from alora_ts.data.frames import Choices
from alora_ts.data.prepare import Preparation
from alora_ts.data.prepared import Prepared
from alora_ts.data.record import Table
from alora_ts.data.report import Gap
from alora_ts.data.sources import read_file_blocks
from alora_ts.data.ticks import as_ticks, as_timestamps
from alora_ts.data.windows import segment_starts
from alora_ts.progress import Progress

__all__ = ["Chunk", "prepare_chunks", "prepare_tables"]


@dataclass(frozen=True)
class Chunk:
    """Rows to score, with the rows before them that their windows need.

    Attributes
    ----------
    table : Table
        The input rows this chunk answers, in order, for ``table.frame``.
    prepared : Prepared
        ``values`` begin with ``overlap`` rows that earlier chunks have answered; ``rows`` maps the
        table's rows into ``values``. ``gaps`` are those that ended in this chunk, while ``report``
        covers everything so far, so the last chunk's is the whole report.
    overlap : int
        At most window − 1.
    """

    table: Table
    prepared: Prepared
    overlap: int


def prepare_chunks(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    preparation: Preparation,
    *,
    window: int,
    rows: int = 65_536,
    choices: Choices | None = None,
    each: Callable[[Table], Table] | None = None,
    progress: Progress = None,
) -> Iterator[Chunk]:
    """Prepare files a chunk at a time.

    Parameters
    ----------
    source : path or list of paths
        Files, folders or globs, with rows in the order of time.
    preparation : Preparation
        Fitted.
    window : int
        The window's length.
    rows : int
        How many rows to read at once.
    choices : Choices, optional
        How the files are read; by default as the training data were.
    each : callable, optional
        What is done to the rows that were read, first.
    progress : bool, callable or None
        See :mod:`alora_ts.progress`.

    Yields
    ------
    Chunk
        Scoring the windows of each chunk's ``values`` and keeping the answers of
        ``rows`` gives exactly what scoring everything in one pass gives: rows whose window or
        filling still depends on later rows wait for the next chunk.

    Raises
    ------
    DataError
        As ``as_table`` and ``Preparation.apply``; also when rows are not in the order of time, or
        interpolation has no limit.

    Examples
    --------
    >>> import polars as pl, tempfile
    >>> from alora_ts.data import as_table
    >>> path = Path(tempfile.mkdtemp()) / "plant.parquet"
    >>> pl.DataFrame({"flow": [float(i) for i in range(10)]}).write_parquet(path)
    >>> fitted = Preparation().fit(as_table(path))
    >>> [(len(chunk.table), chunk.overlap)
    ...  for chunk in prepare_chunks(path, fitted, window=3, rows=4)]
    [(3, 0), (4, 2), (3, 2)]
    """
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    tables = read_file_blocks(
        [Path(path) for path in paths],
        preparation.choices() if choices is None else choices,
        rows=rows,
        progress=progress,
    )
    read = tables if each is None else map(each, tables)
    return prepare_tables(read, preparation, window=window)


def prepare_tables(
    tables: Iterable[Table], preparation: Preparation, *, window: int
) -> Iterator[Chunk]:
    """Prepare tables that continue one another; see :func:`prepare_chunks`.

    Parameters
    ----------
    tables : iterable of Table
        Stretches of rows; a part with an offset above 0 continues the table before.
    preparation, window
        As there.

    Yields
    ------
    Chunk
    """
    assembly: _Assembly | None = None
    upcoming: Table | None = None
    for table in tables:
        if upcoming is not None:
            assembly = assembly or _Assembly(preparation, window, upcoming)
            yield from assembly.push(upcoming, final=False)
        upcoming = table
    if upcoming is not None:
        assembly = assembly or _Assembly(preparation, window, upcoming)
        yield from assembly.push(upcoming, final=True)


class _Assembly:
    """Joins what waits with what comes, at the input's side and at the windows' side."""

    def __init__(self, preparation: Preparation, window: int, first: Table) -> None:
        self._preparation = preparation
        self._window = window
        self._flow: Flow = preparation.flow(preparation.match(first), chunked=True)
        self._tally = Tally(preparation.fitted)
        self._unread: Table | None = None  # rows the flow has not used up
        self._unanswered: Table | None = None  # rows no chunk has answered
        self._ready: Piece | None = None  # prepared rows that wait for their first window
        self._tail: Piece | None = None  # the last window − 1 prepared rows that were given
        self._used = 0
        self._gaps: tuple[Gap, ...] = ()  # ended since the last chunk

    def push(self, table: Table, *, final: bool) -> Iterator[Chunk]:
        table = self._preparation.match(table)
        self._unanswered = table if self._unanswered is None else self._unanswered.join(table)
        unread = table if self._unread is None else self._unread.join(table)
        piece = self._flow.push(unread, as_ticks(unread, self._used), final=final)
        self._used += piece.used
        self._unread = unread.slice(piece.used, len(unread))
        self._gaps += self._tally.add(piece, table)
        self._ready = piece if self._ready is None else _follow(self._ready, piece)
        cut = len(self._ready.values) if final else self._complete(self._ready)
        if not cut:
            return
        given, self._ready = _part(self._ready, cut)
        answered = self._unanswered.slice(0, len(given.rows))
        self._unanswered = self._unanswered.slice(len(given.rows), len(self._unanswered))
        overlap = 0 if self._tail is None else len(self._tail.values)
        whole = given if self._tail is None else _follow(replace(self._tail, rows=_NO_ROWS), given)
        self._tail = _last(whole, self._window - 1)
        prepared = Prepared(
            whole.values,
            whole.segments,
            as_timestamps(whole.ticks, table),
            whole.rows,
            whole.mask,
            self._gaps,
            self._tally.report(table),
        )
        self._gaps = ()
        yield Chunk(answered, prepared, overlap)

    def _complete(self, piece: Piece) -> int:
        """How many rows can be scored: all but a segment that is still shorter than a window."""
        starts = segment_starts(len(piece.segments), piece.segments)
        if not len(starts):
            return 0
        goes_on = (
            self._tail is not None
            and len(self._tail.segments) > 0
            and (self._tail.segments[-1] == piece.segments[-1])
        )
        short = len(piece.segments) - starts[-1] < self._window
        return int(starts[-1]) if short and not goes_on else len(piece.segments)


_NO_ROWS = np.empty(0, np.intp)


def _follow(first: Piece, second: Piece) -> Piece:
    mask: NDArray[np.uint8] | None = None
    if first.mask is not None or second.mask is not None:
        mask = np.concatenate([_mask(first), _mask(second)])
    return replace(
        second,
        values=np.concatenate([first.values, second.values]),
        mask=mask,
        segments=np.concatenate([first.segments, second.segments]),
        ticks=np.concatenate([first.ticks, second.ticks]),
        rows=np.concatenate([first.rows, second.rows + len(first.values)]),
    )


def _mask(piece: Piece) -> NDArray[np.uint8]:
    if piece.mask is not None:
        return piece.mask
    return np.zeros((len(piece.values), (piece.values.shape[1] + 7) // 8), np.uint8)


def _part(piece: Piece, cut: int) -> tuple[Piece, Piece]:
    before = piece.rows < cut
    return (
        _cut(piece, slice(0, cut), piece.rows[before]),
        _cut(piece, slice(cut, None), piece.rows[~before] - cut),
    )


def _last(piece: Piece, count: int) -> Piece:
    return _cut(piece, slice(max(len(piece.values) - count, 0), None), _NO_ROWS)


def _cut(piece: Piece, part: slice, rows: NDArray[Any]) -> Piece:
    return replace(
        piece,
        # A copy, so that a few waiting rows do not keep a whole chunk in memory.
        values=piece.values[part].copy(),
        mask=None if piece.mask is None else piece.mask[part].copy(),
        segments=piece.segments[part].copy(),
        ticks=piece.ticks[part].copy(),
        rows=rows,
    )
