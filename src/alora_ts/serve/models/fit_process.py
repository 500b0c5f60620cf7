"""Training in a process of its own, so that scoring continues meanwhile."""

from __future__ import annotations

import os
import signal
import tempfile
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from alora_ts.errors import AloraError, DataError
from alora_ts.progress import Step
from alora_ts.serve.rows.table import rows_frame, time_name
from alora_ts.serve.store.engines import make_engines, store_url
from alora_ts.serve.store.rows import RowBlock, rows_before, rows_from

if TYPE_CHECKING:
    from alora_ts.estimator import ALoRa

__all__ = ["FitOrder", "compare", "run_fit"]


@dataclass(frozen=True)
class FitOrder:
    """What to fit.

    Attributes
    ----------
    store : str
        Its address, password included; goes to the process through a pipe.
    source : int
    variables : tuple of str
        All the source has.
    start, end : int
    parameters : dict
        Of the new model, as :meth:`~alora_ts.ALoRa.plain_params` gives them.
    active : bytes or None
        The file of the model to compare with, if there is one.
    recent : int
        On how many of the newest rows.
    """

    store: str
    source: int
    variables: tuple[str, ...]
    start: int
    end: int
    parameters: dict[str, Any]
    active: bytes | None
    recent: int


def run_fit(order: FitOrder, pipe: Pipe) -> None:
    """Fit and compare.

    Sends ("progress", share, text), at last ("done", file, comparison) or ("failed", why).
    """
    # Ctrl-C at the terminal reaches every process of the group; the service ends this one itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(10)
    import torch

    torch.set_num_threads(1)
    try:
        file, comparison = _fit(order, pipe)
        pipe.send(("done", file, comparison))
    except (AloraError, ValueError, TypeError, MemoryError) as error:
        pipe.send(("failed", str(error) or type(error).__name__))
    finally:
        pipe.close()


def _fit(order: FitOrder, pipe: Pipe) -> tuple[bytes, dict[str, Any]]:
    from alora_ts.estimator import ALoRa
    from alora_ts.serve.models.cache import read_model

    d = len(order.variables)
    engine = make_engines(store_url(order.store))[1]
    with engine.begin() as connection:
        train = rows_from(connection, order.source, d, start=order.start, end=order.end)
        recent = rows_before(connection, order.source, d, end=2**62, limit=order.recent)
    engine.dispose()
    if len(train) == 0:
        raise DataError("the source has no rows in this period; choose another")
    known = [at for at in range(d) if not np.isnan(train.values[:, at]).all()]
    chosen = tuple(order.variables[at] for at in known)
    pipe.send(("progress", 0.0, f"fitting {len(train):,} rows of {len(chosen)} variables"))

    def report(step: Step) -> None:
        pipe.send(
            ("progress", step.done / max(step.total, 1), f"{step.task} {step.done}/{step.total}")
        )

    model = ALoRa.from_params(order.parameters)
    model.fit(_frame(train, order.variables, chosen), time=time_name(chosen), progress=report)
    with tempfile.TemporaryDirectory(prefix="alora-fit-") as folder:
        file = model.save(Path(folder) / "model.alora").read_bytes()
    pipe.send(("progress", 1.0, "judging recent rows"))
    active = None if order.active is None else read_model(order.active)
    return file, compare(model, active, recent, order.variables)


def compare(
    fresh: ALoRa, active: ALoRa | None, recent: RowBlock, variables: tuple[str, ...]
) -> dict[str, Any]:
    """How two models judge the same rows; rows in which either warms up are left out.

    Returns
    -------
    dict
        ``rows``; for "new" and "active" the share of alarming rows and the mean score;
        ``agreement``, the share of rows on which both say the same. Without an active model the
        new one stands alone.
    """
    judged = []
    for model in (fresh,) if active is None else (fresh, active):
        wanted = model.model_.preparation.variables
        judged.append(model.diagnose(_frame(recent, variables, wanted), progress=False))
    warm = np.logical_or.reduce([one.warm_up for one in judged])
    if warm.all():
        return {"rows": 0}
    said: dict[str, Any] = {"rows": int((~warm).sum())}
    for name, one in zip(("new", "active"), judged, strict=False):
        alarm, score = one.alarm[~warm], one.score[~warm]
        said[name] = {"alarm_rate": float(alarm.mean()), "mean_score": float(score.mean())}
    if active is not None:
        agreement = judged[0].alarm[~warm] == judged[1].alarm[~warm]
        said["agreement"] = float(agreement.mean())
    return said


def _frame(block: RowBlock, variables: tuple[str, ...], chosen: tuple[str, ...]) -> pl.DataFrame:
    columns = [variables.index(name) for name in chosen]
    return rows_frame(block.times, block.values[:, columns], chosen)
