"""One run, in a process of its own: it can be timed, limited and killed without harm.

The runner starts ``python -m alora_ts.bench.unit`` and writes the job as one line of JSON to its
standard input; the unit answers with lines of JSON that say how far it is, writes the scores, then
the record. When standard input closes, the runner is gone and the unit ends too.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from alora_ts.bench.record import Measurement, Record, write_record
from alora_ts.bench.runs import Run
from alora_ts.bench.surroundings import describe_surroundings, peak_memory_mib
from alora_ts.errors import AloraError
from alora_ts.files import write_atomically
from alora_ts.progress import Report, Step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alora_ts.bench.contestant import Contestant
    from alora_ts.datasets import Dataset

__all__ = ["DISK_FULL", "failed", "main", "perform"]

DISK_FULL = 28
"""Exit code when there is no room for results: not this run's failure, so it is not recorded."""

_EVERY = 0.5
"""Seconds between two words to the runner."""


def perform(run: Run, *, folder: Path, root: Path, report: Report) -> Record:
    """Fit, score, judge, and write what was found.

    Parameters
    ----------
    run : Run
    folder : Path
        Of the plan's results; gets ``scores/<key>.parquet``, then ``runs/<key>.json``.
    root : Path
        The folder that holds the datasets' folders.
    report : callable
        Receives the steps of fit and score.

    Returns
    -------
    Record
        As written. A method that fails leaves a record that says why.
    """
    from alora_ts.bench.contestant import make_contestant
    from alora_ts.bench.entities import open_entity
    from alora_ts.fast.threads import use_threads

    seconds: dict[str, float] = {}

    @contextmanager
    def timed(part: str) -> Iterator[None]:
        clock, processor = time.perf_counter(), time.process_time()
        yield
        seconds[f"{part}_seconds"] = time.perf_counter() - clock
        # On a busy machine wall time says more about other work; CPU time counts only ours.
        seconds[f"{part}_processor_seconds"] = time.process_time() - processor

    started = datetime.now(UTC).isoformat(timespec="seconds")
    record = _begin(run)
    with use_threads(run.threads), timed("run"):
        try:
            data = open_entity(run.dataset, run.entity, root)
            record = replace(record, data=_describe(data))
            method = make_contestant(
                run.method, run.preset, run.parameters, dataset=run.dataset, seed=run.seed
            )
            truth = data.truth()
            pointless = _pointless(run, data, method, located=bool(truth.any()))
            if pointless is not None:
                record = replace(record, status="left out", error=pointless)
            else:
                record = _compete(
                    record,
                    run,
                    method=method,
                    data=data,
                    truth=truth,
                    folder=folder,
                    timed=timed,
                    report=report,
                )
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if is_disk_full(error):
                raise
            record = failed(run, _explain(error), data=record.data)
    measured = {
        **{part: round(value, 4) for part, value in seconds.items()},
        "started": started,
        "peak_mib": peak_memory_mib(),
        **describe_surroundings(run.threads),
    }
    record = replace(record, measured=measured)
    write_record(record, folder / "runs" / f"{run.key}.json")
    return record


def _compete(
    record: Record,
    run: Run,
    *,
    method: Contestant,
    data: Dataset,
    truth: NDArray[np.bool_],
    folder: Path,
    timed: Callable[[str], AbstractContextManager[None]],
    report: Report,
) -> Record:
    """Each part is timed alone, and the same part for every method."""
    from alora_ts.bench.covering import covering_mean
    from alora_ts.bench.judge import judge_detection

    with timed("fit"):
        method.learn(data, report)
    score = None
    if method.detects:
        with timed("score"):
            score = method.score(data, report)
    if score is not None:
        score = covering_mean(score, run.covering, data.test_segments)
    located, others = None, {}
    if truth.any():
        with timed("locate"):
            located = method.locate(data, report)
        others = method.other_forms(data, report)
    report(Step("judging", 0, 1))
    if score is not None:
        found = judge_detection(data, score, range_window=run.range_window)
        record = replace(record, detection=found)
    if located is not None:
        which = _judge_variables(method, truth, {"": located, **others})
        record = replace(record, localization=which)
    written = _write_scores(folder / "scores" / f"{run.key}.parquet", data, score, located)
    return replace(record, facts=method.facts(), scores=written)


def _judge_variables(
    method: Contestant, truth: NDArray[np.bool_], forms: dict[str, NDArray[np.floating]]
) -> dict[str, Measurement]:
    """Every form's measurements; the one without a name by the metrics' names alone."""
    from alora_ts.bench.judge import judge_localization

    return {
        f"{form} / {name}" if form else name: one
        for form, located in forms.items()
        for name, one in judge_localization(truth, located, by_segment=method.by_segment).items()
    }


def failed(run: Run, error: str, *, data: dict[str, float] | None = None) -> Record:
    """The record of a run that failed."""
    return replace(_begin(run), status="failed", error=error, data=data or {})


def is_disk_full(error: BaseException) -> bool:
    """Whether an error, or one behind it, says that there is no room left.

    Examples
    --------
    >>> is_disk_full(OSError(errno.ENOSPC, "No space left on device"))
    True
    """
    seen: BaseException | None = error
    while seen is not None:
        # Polars passes the system's words on without its number.
        if getattr(seen, "errno", None) in {errno.ENOSPC, errno.EDQUOT} or (
            "No space left on device" in str(seen)
        ):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _begin(run: Run) -> Record:
    return Record(
        plan=run.plan,
        label=run.label,
        method=run.method,
        preset=run.preset,
        parameters=run.parameters,
        dataset=run.dataset,
        entity=run.entity,
        seed=run.seed,
        digest=run.digest,
        status="done",
        studies=run.studies,
    )


def _describe(data: Dataset) -> dict[str, float]:
    from alora_ts.datasets.dataset import label_segments

    return {
        "train_rows": len(data.train),
        "test_rows": len(data.test),
        "variables": data.train.shape[1],
        "events": len(label_segments(data.label)),
        "anomalous": round(float(data.label.mean()), 6),
    }


def _pointless(run: Run, data: Dataset, method: Contestant, *, located: bool) -> str | None:
    """Why a run would be meaningless, if so."""
    there = comb(data.train.shape[1], 2)
    if run.needs_pairs is not None and there <= run.needs_pairs:
        return f"{there} pairs, no more than the {run.needs_pairs} to choose from them"
    if not method.detects and not located:
        return "it only locates, and these data do not say which variables were affected"
    return None


def _explain(error: BaseException) -> str:
    if isinstance(error, AloraError):
        return str(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"


def _write_scores(
    path: Path,
    data: Dataset,
    score: NDArray[np.float64] | None,
    located: NDArray[np.floating] | None,
) -> str:
    """Write scores of all rows, and those of the variables where the truth is known."""
    import numpy as np
    import polars as pl

    columns: dict[str, Any] = {"row": np.arange(len(data.test)), "label": data.label}
    if score is not None:
        columns["score"] = score
    if located is not None:
        known = data.truth().any(axis=1)
        for name, values in zip(data.variables, located.T, strict=True):
            column = pl.Series(values.astype(np.float32))
            columns[f"variable:{name}"] = pl.select(
                pl.when(pl.lit(pl.Series(known))).then(pl.lit(column))
            ).to_series()
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as part:
        pl.DataFrame(columns).write_parquet(part, compression="zstd")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    """Take a job from standard input and do it."""
    job = json.loads(sys.stdin.readline())
    # Progress goes out on what was standard output; whatever a library prints goes to the other.
    words = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        perform(
            Run(**job["run"]),
            folder=Path(job["folder"]),
            root=Path(job["root"]),
            report=_speaker(words),
        )
    except Exception as error:
        if not is_disk_full(error):
            raise
        return DISK_FULL
    return 0


def _end_with_runner() -> None:
    sys.stdin.read()
    os._exit(1)


def _speaker(words: TextIO) -> Callable[[Step], None]:
    last, task = 0.0, ""

    def report(step: Step) -> None:
        nonlocal last, task
        now = time.monotonic()
        if step.task != task or now - last > _EVERY:
            last, task = now, step.task
            words.write(json.dumps({**asdict(step), "facts": {}}) + "\n")

    return report


if __name__ == "__main__":
    sys.exit(main())
