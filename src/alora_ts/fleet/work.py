"""What a worker does for one entity: read, fit or score, write. No data pass through the driver."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from alora_ts.data import Table, as_table
from alora_ts.data.write import write_table
from alora_ts.errors import AloraError, DataError
from alora_ts.fast.threads import use_threads
from alora_ts.fleet.entities import Entity
from alora_ts.fleet.names import folder_name
from alora_ts.fleet.settings import Settings, combined_digest
from alora_ts.fleet.status import ENTITIES, Action, Status, read_status, write_status
from alora_ts.fleet.storage import Store, fetched

if TYPE_CHECKING:
    from alora_ts.diagnosis import Diagnosis
    from alora_ts.estimator import ALoRa

__all__ = [
    "POOLED",
    "Order",
    "Outcome",
    "detect_entity",
    "diagnosis_name",
    "fit_entity",
    "model_name",
    "read_entity",
]

POOLED = "pooled.alora"


@dataclass(frozen=True)
class Order:
    """One entity's work.

    Attributes
    ----------
    entity : Entity
    root : str
        The fleet's store.
    settings : Settings
    time : str or None
        The time column of rows to score, where it has another name than in training.
    variables : bool
        Write each variable's localization score too.
    """

    entity: Entity
    root: str
    settings: Settings
    time: str | None = None
    variables: bool = False


@dataclass(frozen=True)
class Outcome:
    """All that the driver learns of an entity.

    Attributes
    ----------
    state : {"done", "skipped", "failed"}
        "skipped": the same work was done before.
    reason : str or None
        Why it failed.
    seconds : float
        CPU time the worker took, which other work on its computer does not change.
    """

    state: Literal["done", "skipped", "failed"]
    reason: str | None
    seconds: float


def model_name(entity: str) -> str:
    """Where an entity's model is."""
    return f"{ENTITIES}/{folder_name(entity)}/model.alora"


def diagnosis_name(entity: str) -> str:
    """Where the scores of an entity's rows are."""
    return f"{ENTITIES}/{folder_name(entity)}/diagnosis.parquet"


def fit_entity(order: Order) -> Outcome:
    """Fit one entity's model, unless the same was done before."""
    store, name, settings = Store(order.root), order.entity.name, order.settings
    target = model_name(name)

    def fit(paths: list[Path], digest: str) -> Status:
        from alora_ts.estimator import load

        table = read_entity(paths, settings)
        estimator = settings.estimator()
        _refuse_useless(table, estimator)
        initial: ALoRa | None = None
        if settings.pooled is not None and settings.warm_start is not None:
            with store.reading(POOLED) as path:
                initial = load(path)
            estimator.set_params(epochs=settings.warm_start.epochs)
        estimator.fit(table, initial=initial, progress=False)
        with store.writing(target) as path:
            estimator.save(path)
        fitted = estimator.model_
        facts = {
            "model": store.digest(target),
            "rows": len(table),
            "variables": len(fitted.preparation.variables),
            "epochs": len(fitted.training.error),
        }
        return Status(name, "fit", "done", digest, facts=facts)

    choices = {"action": "fit", "settings": settings.to_dict()}
    return _once(store, order, "fit", choices, fit, result=target, named="model")


def detect_entity(order: Order) -> Outcome:
    """Score one entity's rows with its model, unless the same was done before."""
    store, name = Store(order.root), order.entity.name
    fitted = read_status(store, name, "fit")
    target = diagnosis_name(name)

    def detect(paths: list[Path], digest: str) -> Status:
        from alora_ts.estimator import load

        if fitted is None:
            raise DataError("there is no model for it; fit the fleet with its rows first")
        if fitted.state != "done":
            raise DataError(f"there is no model for it: {fitted.reason}")
        with store.reading(model_name(name)) as path:
            model = load(path)
        table = model.model_.preparation.read([str(path) for path in paths], time=order.time)
        found = model.diagnose(table, progress=False)
        with store.writing(target) as path:
            write_table(found.to_frame(variables=order.variables), path)
        facts = {"diagnosis": store.digest(target), **_summarise(found)}
        return Status(name, "detect", "done", digest, facts=facts)

    model = fitted.facts.get("model") if fitted is not None else None
    choices = {"action": "detect", "model": model, "time": order.time, "all": order.variables}
    return _once(store, order, "detect", choices, detect, result=target, named="diagnosis")


def read_entity(paths: list[Path], settings: Settings) -> Table:
    """Read an entity's rows, columns in the fleet's order; refuse others than the fleet's."""
    table = as_table(
        [str(path) for path in paths],
        time=settings.time,
        columns=settings.columns,
        ignore=settings.ignore,
        label=settings.label,
        form=settings.form,
        progress=False,
    )
    expected = settings.expected
    if expected is not None and set(table.variables) != set(expected):
        missing = sorted(set(expected) - set(table.variables))
        extra = sorted(set(table.variables) - set(expected))
        raise DataError(
            "its columns are not the fleet's"
            + (f"; missing: {', '.join(missing)}" if missing else "")
            + (f"; extra: {', '.join(extra)}" if extra else "")
            + "; choose common ones with columns= or fit it in a fleet of its own"
        )
    if expected is not None and table.variables != expected:
        columns = [table.variables.index(name) for name in expected]
        table = replace(table, values=table.values[:, columns], variables=expected)
    return table


def _once(
    store: Store,
    order: Order,
    action: Action,
    choices: dict[str, Any],
    work: Callable[[list[Path], str], Status],
    *,
    result: str,
    named: str,
) -> Outcome:
    """Do the work unless its digest says it is done; write the status last; catch what fails."""
    begun = clock.process_time()
    name = order.entity.name
    digest, paths = "", list[Path]()
    try:
        with fetched(order.entity.files) as paths:
            digest = combined_digest(choices, paths)
            before = read_status(store, name, action)
            if (
                before is not None
                and (before.state, before.digest) == ("done", digest)
                and store.digest(result) == before.facts.get(named)
            ):
                return Outcome("skipped", None, clock.process_time() - begun)
            # Here and not above: it loads torch, which work that is done need not wait for.
            with use_threads(1):
                status = work(paths, digest)
    except AloraError as error:
        status = Status(name, action, "failed", digest, reason=_told(str(error), paths))
    except Exception as error:
        # One entity's failure, expected or not, must not end the others' work.
        reason = _told(f"{type(error).__name__}: {error}", paths)
        status = Status(name, action, "failed", digest, reason=reason)
    if status.state == "failed":
        # What an earlier run left does not belong to these rows.
        store.remove(result)
    write_status(store, status)
    state: Literal["done", "failed"] = status.state
    return Outcome(state, status.reason, clock.process_time() - begun)


def _told(reason: str, paths: list[Path]) -> str:
    """A reason without the folders of a worker, which differ from run to run."""
    for path in paths:
        reason = reason.replace(str(path), path.name)
    return reason


def _refuse_useless(table: Table, estimator: ALoRa) -> None:
    """Refuse rows from which a model could be computed, but none worth having."""
    share = estimator.training.validation_share
    least = round(estimator.window / share)
    if len(table) < least:
        raise DataError(
            f"{len(table):,} rows are too few: the threshold rests on the last "
            f"{share:.0%} of them, which must fill a window of "
            f"{estimator.window}; give at least {least:,} rows or choose a smaller window"
        )
    with np.errstate(invalid="ignore"):
        low, high = np.fmin.reduce(table.values), np.fmax.reduce(table.values)
        varying = high > low
    if not varying.any():
        raise DataError(
            f"none of its {len(table.variables)} variables ever changes, so nothing can be "
            "learned; give rows from a time when it was running"
        )


def _summarise(found: Diagnosis) -> dict[str, Any]:
    """What the fleet's table shows of a diagnosis."""
    stamps = found.timestamps
    described = found.to_dict()
    moments = np.arange(len(found)) if stamps is None else stamps
    if stamps is not None and stamps.dtype.kind == "M":
        moments = stamps.astype("datetime64[us]").astype(np.int64)
    steps = np.diff(np.sort(moments))
    last = int(np.argmax(moments))
    return {
        "rows": len(found),
        "alarming_rows": described["alarming_rows"],
        "score": float(found.score[last]),
        "alarm": bool(found.alarm[last]),
        "timed": stamps is not None and stamps.dtype.kind == "M",
        "first": float(moments.min()),
        "last": float(moments.max()),
        "step": float(np.median(steps)) if len(steps) else 0.0,
        "incidents": [
            {
                **incident,
                "culprits": [
                    [each["variable"], each["contribution_score"], each["direction"]]
                    for each in incident["culprits"]
                ],
            }
            for incident in described["incidents"]
        ],
    }
