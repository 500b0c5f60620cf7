"""Files larger than memory: scored chunk by chunk, with the scores of one pass."""

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
from alora_ts.errors import AloraError
from alora_ts.files import write_atomically
from alora_ts.model.fitted import FittedModel, limit
from alora_ts.model.score import score_prepared
from alora_ts.progress import Progress

__all__ = ["ScoredChunk", "score_chunks", "write_chunks"]


@dataclass(frozen=True)
class ScoredChunk:
    """Scores of some consecutive rows.

    Attributes
    ----------
    table : Table
        The rows.
    score : ndarray of shape (n,)
        Calibrated; more than 1 alarms.
    """

    table: Table
    score: NDArray[np.float64]

    def frame(self) -> Any:
        """Score and alarm beside the caller's own timestamps."""
        return self.table.frame({"score": self.score, "is_anomaly": self.score > 1})


def score_chunks(
    model: FittedModel,
    source: str | os.PathLike[str],
    *,
    rows: int = 65_536,
    time: str | None = None,
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
    time : str, optional
        The time column, where it has another name than in training.
    progress : bool, callable or None

    Yields
    ------
    ScoredChunk
        Together they hold every row once, in order, with exactly the scores of one pass.
    """
    # The mean over the newest rows reaches further back than one window.
    reach = model.window + model.calibration.rule.smoothing - 1
    level = model.calibration.level()
    for chunk in prepare_chunks(
        source, model.preparation, window=reach, rows=rows, time=time, progress=progress
    ):
        prepared = chunk.prepared
        values = limit(prepared.values, model.input_limit)
        score = score_prepared(
            model,
            values,
            prepared.segments,
            report=lambda _: None,
            level=level,
            answered=chunk.overlap,
        )
        yield ScoredChunk(chunk.table, score[prepared.rows])


def write_chunks(chunks: Iterable[ScoredChunk], path: str | os.PathLike[str]) -> int:
    """Write scores to CSV or Parquet as they are computed, atomically; return the alarming rows."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise AloraError(f"cannot write {target} in chunks; use .csv or .parquet")
    alarms = 0
    with write_atomically(target) as part, tempfile.TemporaryDirectory(dir=part.parent) as folder:
        pieces = Path(folder)
        with part.open("wb") as out:
            for number, chunk in enumerate(chunks):
                alarms += int((chunk.score > 1).sum())
                frame = chunk.frame()
                if suffix == ".csv":
                    frame.write_csv(out, include_header=number == 0)
                else:
                    frame.write_parquet(pieces / f"{number:09}.parquet")
        if suffix == ".parquet":
            pl.scan_parquet(pieces / "*.parquet").sink_parquet(part)
    return alarms
