"""Files larger than memory: scored chunk by chunk, with the scores and incidents of one pass."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.data import Table
from alora_ts.data.chunks import prepare_chunks
from alora_ts.data.frames import Choices
from alora_ts.diagnosis import Incident
from alora_ts.errors import AloraError
from alora_ts.files import write_atomically
from alora_ts.model.cyclic import AcyclicChunks
from alora_ts.model.examine import examine
from alora_ts.model.fitted import FittedModel
from alora_ts.progress import Progress

__all__ = ["ScoredChunk", "Written", "score_chunks", "write_chunks"]


@dataclass(frozen=True)
class ScoredChunk:
    """Scores of some consecutive rows.

    Attributes
    ----------
    table : Table
        The rows.
    score : ndarray of shape (n,)
        Calibrated: in times of the alarm level.
    alarm : ndarray of bool, shape (n,)
        Which rows alarm, see :mod:`alora_ts.diagnosis.alarms`.
    incidents : tuple of Incident
        Those that began, went on or ended in the chunk, as far as they are known at its end. One
        that reaches into the next chunk comes again there, with the same ``start``.
    judged : int
        How many rows have a full window behind them.
    """

    table: Table
    score: NDArray[np.float64]
    alarm: NDArray[np.bool_]
    incidents: tuple[Incident, ...]
    judged: int

    def frame(self) -> Any:
        """Score and alarm beside the caller's own timestamps and labels."""
        columns: dict[str, NDArray[Any]] = {"score": self.score, "is_anomaly": self.alarm}
        if self.table.label is not None and self.table.label_name is not None:
            columns.setdefault(self.table.label_name, self.table.label)
        return self.table.frame(columns)


def score_chunks(
    model: FittedModel,
    source: str | os.PathLike[str],
    *,
    rows: int = 65_536,
    choices: Choices | None = None,
    progress: Progress = None,
) -> Iterator[ScoredChunk]:
    """Score files without holding them.

    Parameters
    ----------
    model : FittedModel
    source : path
        CSV or Parquet, a folder or a glob, rows in the order of time.
    rows : int
        How many rows to read at once.
    choices : Choices, optional
        How the files are read; by default as the training data were.
    progress : bool, callable or None

    Yields
    ------
    ScoredChunk
        Together they hold every row once, in order, with exactly the scores of one pass.
    """
    level = model.calibration.level()
    builder = model.incident_builder()
    cyclic = None if model.cycle is None else AcyclicChunks(model.cycle, model.preparation)
    for chunk in prepare_chunks(
        source,
        model.preparation,
        window=model.reach,
        rows=rows,
        choices=choices,
        each=None if cyclic is None else cyclic.take,
        progress=progress,
    ):
        prepared = chunk.prepared
        block = examine(
            model,
            prepared,
            model.seen(prepared),
            prepared.segments.astype(np.int64),
            moments=None if cyclic is None else cyclic.moments(prepared, chunk.overlap),
            report=lambda _: None,
            level=level,
            answered=chunk.overlap,
        ).block()
        pushed = builder.push(block)
        judged = int((~block.warm_up).sum())
        yield ScoredChunk(chunk.table, block.score, pushed.alarm, pushed.incidents, judged)


@dataclass(frozen=True)
class Written:
    """What was found while scores were written.

    Attributes
    ----------
    alarming_rows : int
    incidents : tuple of Incident
        In order of time.
    judged : int
        Rows with a full window behind them.
    """

    alarming_rows: int
    incidents: tuple[Incident, ...]
    judged: int


def write_chunks(chunks: Iterable[ScoredChunk], path: str | os.PathLike[str]) -> Written:
    """Write scores to CSV or Parquet as they come, whole or not at all; say what was found."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise AloraError(f"cannot write {target} in chunks; use .csv or .parquet")
    alarms, judged, incidents = 0, 0, dict[int, Incident]()
    with write_atomically(target) as part, tempfile.TemporaryDirectory(dir=part.parent) as folder:
        pieces = Path(folder)
        with part.open("wb") as out:
            for number, chunk in enumerate(chunks):
                alarms += int(chunk.alarm.sum())
                judged += chunk.judged
                incidents |= {incident.start: incident for incident in chunk.incidents}
                frame = chunk.frame()
                if suffix == ".csv":
                    frame.write_csv(out, include_header=number == 0)
                else:
                    frame.write_parquet(pieces / f"{number:09}.parquet")
        if suffix == ".parquet":
            pl.scan_parquet(pieces / "*.parquet").sink_parquet(part)
    return Written(alarms, tuple(incidents.values()), judged)
