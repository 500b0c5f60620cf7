"""Simulated series of any length, written to Parquet chunk by chunk."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from alora_ts.datasets.synthetic_dataset import check_faults, clock
from alora_ts.datasets.synthetic_faults import FAULT_KINDS, Disturbance
from alora_ts.datasets.synthetic_simulate import Simulator, usual_spread
from alora_ts.datasets.synthetic_system import System
from alora_ts.datasets.synthetic_truth import Fault, TruthKeeper
from alora_ts.errors import DataError
from alora_ts.files import write_atomically
from alora_ts.progress import Progress, Report, Step, reporting

__all__ = ["StreamedDataset", "random_faults", "write_parquet"]


@dataclass(frozen=True)
class StreamedDataset:
    """A simulated series on disk.

    Attributes
    ----------
    path : pathlib.Path
        The Parquet file: ``timestamp``, one float32 column per signal, and ``label``.
    truth : pathlib.Path
        A JSON list of the faults beside it.
    rows, healthy_rows : int
        Rows in all, and those at the beginning that have no fault.
    variables : tuple of str
        Names of the signals.
    faults : tuple of Fault
        Their rows are counted from the first row after the healthy ones.
    """

    path: Path
    truth: Path
    rows: int
    healthy_rows: int
    variables: tuple[str, ...]
    faults: tuple[Fault, ...]


def random_faults(system: System, *, rows: int, count: int, seed: int = 0) -> list[Disturbance]:
    """Spread faults of random kinds and origins evenly over some rows.

    Parameters
    ----------
    system : System
        Whose signals fail.
    rows : int
        Test rows; each fault fills at most a fifth of its share of them and 200 rows.
    count : int
        How many faults.
    seed : int
        Of the draw.

    Returns
    -------
    list of Disturbance
        In order of time.

    Examples
    --------
    >>> from alora_ts.datasets.synthetic_random import random_system
    >>> faults = random_faults(random_system(5), rows=10_000, count=4)
    >>> [fault.start for fault in faults]
    [1250, 3750, 6250, 8750]
    """
    if count < 0 or count * 10 > rows:
        raise DataError(
            f"{count} faults do not fit into {rows} rows; leave at least 10 rows for each"
        )
    rng = np.random.default_rng([seed, rows, count])
    kinds, share = sorted(FAULT_KINDS), rows // max(count, 1)
    faults = []
    for position in range(count):
        start = position * share + share // 2
        length = int(rng.integers(1, min(share // 5, 200) + 1))
        kind = kinds[int(rng.integers(len(kinds)))]
        origin = int(rng.integers(len(system.nodes)))
        faults.append(
            Disturbance(kind, origin, start, start + length, size=float(rng.uniform(3, 6)))
        )
    return faults


def write_parquet(
    path: str | os.PathLike[str],
    system: System,
    *,
    rows: int,
    healthy_rows: int = 0,
    faults: Sequence[Disturbance] = (),
    seed: int = 0,
    chunk: int = 50_000,
    progress: Progress = None,
) -> StreamedDataset:
    """Simulate a system straight into a Parquet file, never holding more than a few chunks.

    The rows are those that :func:`~alora_ts.datasets.synthetic_dataset.simulate` gives for the
    same seed, whatever the chunk.

    Parameters
    ----------
    path : path-like
        The file to write; the faults go into a file beside it that ends in ``.faults.json``.
    system : System
        What is simulated.
    rows : int
        Rows in all.
    healthy_rows : int
        Rows before the first one that faults are counted from.
    faults : sequence of Disturbance
        Not overlapping.
    seed : int
        Of all random draws.
    chunk : int
        Rows simulated at a time.
    progress : bool, callable or None
        See :mod:`alora_ts.progress`.

    Returns
    -------
    StreamedDataset
        Where the file is and what is in it.

    Examples
    --------
    >>> import tempfile
    >>> from alora_ts.datasets.synthetic_random import random_system
    >>> target = Path(tempfile.mkdtemp()) / "big.parquet"
    >>> written = write_parquet(target, random_system(4), rows=1000, chunk=300)
    >>> pl.scan_parquet(written.path).collect().shape
    (1000, 6)
    """
    if rows < 1 or chunk < 1 or not 0 <= healthy_rows <= rows:
        raise DataError(
            f"cannot write {rows} rows, {healthy_rows} of them healthy, {chunk} at a time; "
            "rows and chunk must be at least 1, healthy_rows between 0 and rows"
        )
    check_faults(faults, rows=rows - healthy_rows)
    target = Path(path)
    truth = target.with_suffix(".faults.json")
    spread = usual_spread(system)
    run = Simulator(system, seed=seed, spread=spread, disturbances=faults, fault_row=healthy_rows)
    keeper = TruthKeeper(system, faults, spread=spread)
    schema = pl.Schema(
        {"timestamp": pl.Datetime("us")}
        | {name: pl.Float32() for name in system.variables}
        | {"label": pl.Boolean()}
    )

    def frames(report: Report) -> Iterator[pl.DataFrame]:
        borders = sorted({*range(0, rows, chunk), healthy_rows, rows})
        for first, after in itertools.pairwise(borders):
            healthy, actual = run.advance(after - first)
            label = np.zeros(after - first, dtype=np.bool_)
            if first >= healthy_rows:
                label, _ = keeper.take(healthy, actual, run.origins(first, after - first))
            columns = dict(zip(system.variables, actual.T.astype(np.float32), strict=True))
            stamps = {"timestamp": clock(first, after - first)}
            yield pl.DataFrame(stamps | columns | {"label": label}, schema=schema)
            report(Step("simulating", after, rows))

    stopped: list[BaseException] = []
    with reporting(progress) as report, write_atomically(target) as part:

        def source(
            _columns: object, _predicate: object, _rows: object, _batch: object
        ) -> Iterator[pl.DataFrame]:
            try:
                yield from frames(report)
            except BaseException as error:
                stopped.append(error)
                raise

        try:
            register_io_source(source, schema=schema).sink_parquet(part)
        except pl.exceptions.ComputeError:
            if stopped:  # polars 1 hides an interruption in an error of its own
                raise stopped[0] from None
            raise
        with write_atomically(truth) as listing:
            listing.write_text(json.dumps([asdict(f) for f in keeper.faults()], indent=1) + "\n")
    return StreamedDataset(target, truth, rows, healthy_rows, system.variables, keeper.faults())
