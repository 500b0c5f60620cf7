"""One very long series, scored by many workers at once, with the scores of one pass.

The rows are cut into parts of consecutive windows. A part's rows reach back to the beginning of its
first window, so neighbouring parts overlap by a window less one row. What looks back further (the
smoothing of the score, the memory of the localization) is done once over the joined parts, so no
border can show.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import plan_windows
from alora_ts.data.windows import WindowPlan
from alora_ts.diagnosis import Diagnosis
from alora_ts.errors import AloraError, NotFittedError
from alora_ts.estimator import ALoRa
from alora_ts.fast.engine import Engine as NetworkEngine
from alora_ts.fast.threads import use_threads
from alora_ts.fleet.engine import Engine
from alora_ts.fleet.local import LocalEngine
from alora_ts.fleet.memory import estimate_memory
from alora_ts.fleet.storage import Store
from alora_ts.model.diagnose import diagnose
from alora_ts.progress import Progress, Report, Step, reporting
from alora_ts.scoring import gather_evidence
from alora_ts.scoring.evidence import Evidence

__all__ = ["diagnose_long"]

_MODEL = "model.alora"


def diagnose_long(
    model: ALoRa,
    X: Any,
    *,
    engine: Engine | None = None,
    parts: int | None = None,
    scratch: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Diagnosis:
    """Diagnose one long series with many workers; the same Diagnosis as ``model.diagnose(X)``.

    Parameters
    ----------
    model : ALoRa
        Fitted.
    X : array, frame or path
        Rows with the variables of the training data.
    engine : Engine, optional
        Who does the work; local processes by default.
    parts : int, optional
        How many parts to cut the series into; by default about 50,000 windows each.
    scratch : path or URL, optional
        A folder all workers can read and write, emptied of what was put there; by default a
        temporary one on this computer.
    progress : bool, callable or None
        None shows a bar on a terminal.

    Returns
    -------
    Diagnosis

    Raises
    ------
    AloraError
        When a part could not be scored.

    Notes
    -----
    The network runs on the workers; reading, preparing and the arrays of the answer are this
    process's, which must hold them. For files larger than its memory see
    :meth:`alora_ts.ALoRa.score_chunks`.
    """
    if not hasattr(model, "model_"):
        raise NotFittedError("this ALoRa is not fitted yet; call fit or load a model first")
    fitted = model.model_
    chosen = LocalEngine() if engine is None else engine

    def gather(
        engine: NetworkEngine,
        values: NDArray[np.float32],
        segments: NDArray[np.integer] | None,
        *,
        window: int,
        rank_level: float,
        report: Report,
    ) -> Evidence:
        assert segments is not None
        plan = plan_windows(len(values), window, segments)
        expected = np.empty_like(values)
        rank = np.empty(len(values), dtype=np.int16)
        with _folder(scratch) as store:
            with store.writing(_MODEL) as path:
                model.save(path)
            orders = []
            for number, part in enumerate(_cut(engine, values, plan, parts)):
                _put(store, f"{number}.values.npy", values[part.first : part.stop])
                _put(store, f"{number}.segments.npy", segments[part.first : part.stop])
                orders.append(_PartOrder(store.url, number, rank_level, part))
            report(Step("scoring", 0, len(orders)))
            over = 0
            for finished in chosen.map(_score_part, orders, memory=_part_memory):
                if finished.error is not None:
                    raise AloraError(f"a part of the series was not scored: {finished.error}")
                part, over = finished.task.part, over + 1
                mine = slice(part.begin, part.end)
                expected[mine] = _get(store, f"{finished.task.number}.expected.npy")
                rank[mine] = _get(store, f"{finished.task.number}.rank.npy")
                report(Step("scoring", over, len(orders)))
        return Evidence(np.arange(len(values)), expected, rank, plan.warm_up)

    table = fitted.preparation.read(X)
    with reporting(progress) as report:
        return diagnose(fitted, table, segments=None, report=report, gather=gather)


@dataclass(frozen=True)
class _Part:
    """Rows to read, from ``first`` to before ``stop``; rows to answer for, ``begin`` to ``end``."""

    first: int
    stop: int
    begin: int
    end: int
    width: int


@dataclass(frozen=True)
class _PartOrder:
    root: str
    number: int
    rank_level: float
    part: _Part


_WINDOWS_IN_A_PART = 50_000


def _cut(
    network: NetworkEngine, values: NDArray[np.float32], plan: WindowPlan, parts: int | None
) -> Iterator[_Part]:
    """Cut a plan's windows where the network's own batches end, so that all batches stay as is."""
    total = len(plan.ends)
    batch = next(network.chunks(values, plan, lambda _: None)).windows.stop
    wanted = _WINDOWS_IN_A_PART if parts is None else -(-total // max(1, parts))
    size = max(1, round(wanted / batch)) * batch
    for start in range(0, total, size):
        last = min(start + size, total) - 1
        begin = int(np.searchsorted(plan.of_row, start, side="left"))
        end = int(np.searchsorted(plan.of_row, last, side="right"))
        yield _Part(int(plan.starts[start]), end, begin, end, values.shape[1])


def _score_part(order: _PartOrder) -> None:
    """On a worker: what the network says of a part's rows."""
    store, part = Store(order.root), order.part
    with store.reading(_MODEL) as path:
        fitted = ALoRa.load(path).model_
    with use_threads(1):
        evidence = gather_evidence(
            fitted.engine,
            _get(store, f"{order.number}.values.npy"),
            _get(store, f"{order.number}.segments.npy"),
            window=fitted.window,
            rank_level=order.rank_level,
            report=lambda _: None,
        )
    mine = slice(part.begin - part.first, part.end - part.first)
    _put(store, f"{order.number}.expected.npy", evidence.expected[mine])
    _put(store, f"{order.number}.rank.npy", evidence.rank[mine])


def _part_memory(order: _PartOrder) -> int:
    part = order.part
    return estimate_memory([(".csv", 4 * part.width * (part.stop - part.first))])


def _put(store: Store, name: str, array: NDArray[Any]) -> None:
    # Given a name instead of a file, numpy would add a suffix to the temporary one.
    with store.writing(name) as path, path.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def _get(store: Store, name: str) -> NDArray[Any]:
    with store.reading(name) as path:
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    return array


@contextmanager
def _folder(scratch: str | os.PathLike[str] | None) -> Iterator[Store]:
    """A new folder for the time of the block."""
    if scratch is None:
        with tempfile.TemporaryDirectory(prefix="alora-long-") as made:
            yield Store(made)
        return
    inside = f"alora-long-{os.getpid()}-{os.urandom(4).hex()}"
    above = Store(scratch)
    try:
        yield Store(f"{above.url}/{inside}")
    finally:
        above.remove(inside)
