"""Fit on the first part, score onward causally, fit again as often as asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.backtest.result import Backtest, Round
from alora_ts.backtest.rounds import Plan, Span, plan_rounds
from alora_ts.data import Table, as_table
from alora_ts.data.form import FileForm
from alora_ts.diagnosis import Diagnosis
from alora_ts.diagnosis.builder import IncidentBuilder, Pushed
from alora_ts.errors import DataError
from alora_ts.estimator import ALoRa
from alora_ts.fast.threads import choose_threads, use_threads
from alora_ts.model.diagnose import diagnose_part
from alora_ts.model.health import check_diagnosis
from alora_ts.progress import Progress, Step, reporting

__all__ = ["backtest"]

_DAY = 86_400.0
_BY_ROW = ("score", "raw", "rank", "error", "localization", "values", "expected", "warm_up")


def backtest(
    source: Any,
    *,
    model: ALoRa | None = None,
    train: float | str = 0.5,
    refit_every: Span | None = None,
    history: Span | None = None,
    time: str | None = None,
    columns: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    label: str | None = None,
    form: FileForm | None = None,
    progress: Progress = None,
) -> Backtest:
    """Replay history: what would have alarmed, how often, and with which culprits.

    Every row is scored by a model that was fitted on earlier rows only, from rows up to itself.

    Parameters
    ----------
    source : array, frame or path
        Rows in order of time, as for :meth:`ALoRa.fit`.
    model : ALoRa, optional
        Its settings are used for each fit; it is not fitted itself.
    train : float, int or str
        The first part, to fit on: a share of the rows below 1, a number of rows, or a duration
        such as "14d".
    refit_every : int, str or None
        Rows or duration from one fit to the next; None fits once.
    history : int, str or None
        Rows or duration that a fit learns from; None is everything so far.
    time, columns, ignore, label, form
        Which columns are what and how text is read, see :func:`alora_ts.data.as_table`.
    progress : bool, callable or None
        None shows bars on a terminal.

    Returns
    -------
    Backtest

    Raises
    ------
    DataError
        For times out of order, a first part that leaves nothing to replay, durations without
        dates, or rows that a fit cannot use.

    Notes
    -----
    A fit is taken to be in service from the row after its last training row: how long it takes is
    not simulated. Everything before a round serves its windows as their past, so a new model needs
    no warm-up. ``missing="interpolate"``, ``resample`` and ``downsample`` look at later rows when
    they prepare a row, so with them the replay is causal only up to that preparation.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> load = np.sin(np.arange(600) / 10)
    >>> x = np.column_stack([load, 2 * load, -load]) + 0.1 * rng.normal(size=(600, 3))
    >>> x[560:570, 1] += 5
    >>> quick = ALoRa(window=8, epochs=2, epoch_windows=320)
    >>> found = backtest(x, model=quick, train=400, refit_every=100)
    >>> worst = max(found.incidents, key=lambda incident: incident.score)
    >>> len(found.rounds), 400 + worst.start, worst.culprits[0].variable
    (2, 560, 'x1')
    """
    chosen = None if columns is None else list(columns)
    table = as_table(source, time=time, columns=chosen, ignore=ignore, label=label, form=form)
    _refuse_disorder(table)
    plans = plan_rounds(
        len(table), table.timestamps, train=train, refit_every=refit_every, history=history
    )
    settings = ALoRa() if model is None else model
    parts: list[Diagnosis] = []
    pushed: list[Pushed] = []
    builder: IncidentBuilder | None = None
    with reporting(progress) as report:
        for number, plan in enumerate(plans):
            report(Step("replaying", number, len(plans)))
            fitted = settings.clone().fit(
                table.slice(plan.train_start, plan.train_end), progress=report
            )
            start = _past(plan, fitted, table)
            with use_threads(choose_threads(fitted.threads)):
                found, block = diagnose_part(
                    fitted.model_, table.slice(start, plan.score_end), segments=None, report=report
                )
                skipped = plan.train_end - start
                # One builder for all rounds: an incident may outlast the model that found it.
                builder = builder or fitted.model_.incident_builder()
                pushed.append(builder.push(replace(block.onward(skipped), segments=None)))
            parts.append(_onward(found, skipped))
        report(Step("replaying", len(plans), len(plans)))
    return _assemble(table, plans, parts, pushed, fitted)


def _refuse_disorder(table: Table) -> None:
    if table.timestamps is None:
        return
    back = np.flatnonzero(table.timestamps[1:] < table.timestamps[:-1])
    if len(back):
        raise DataError(
            f"{table.place(int(back[0]) + 1)} is earlier than the row before it "
            f"({len(back)} such rows); sort the table by time before replaying it"
        )


def _past(plan: Plan, fitted: ALoRa, table: Table) -> int:
    """The row from which the windows, means and memories of a round's rows are served."""
    followed = fitted.model_.calibration.memory
    reach = fitted.model_.reach + followed
    # Blocks of rows begin where they would begin in the whole table.
    block = fitted.preparation.downsample or 1
    start = (max(0, plan.train_end - reach * block) // block) * block
    times, step = table.timestamps, fitted.preparation.resample
    if step is not None and times is not None and times.dtype.kind == "M":
        span = np.timedelta64(round(reach * step * 1e6), "us")
        start = min(start, int(np.searchsorted(times, times[plan.train_end] - span)))
    return start


def _onward(found: Diagnosis, skipped: int) -> Diagnosis:
    """The rows of a round without those that only served as its past."""
    cut = {name: getattr(found, name)[skipped:] for name in _BY_ROW}
    stamps = None if found.timestamps is None else found.timestamps[skipped:]
    return replace(found, timestamps=stamps, **cut)


def _assemble(
    table: Table,
    plans: Sequence[Plan],
    parts: Sequence[Diagnosis],
    pushed: Sequence[Pushed],
    last: ALoRa,
) -> Backtest:
    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    first = plans[0].train_end
    replayed = table.slice(first, len(table))
    stamps = None if parts[0].timestamps is None else joined("timestamps")
    preparation = last.model_.preparation
    incidents = {one.start: one for part in pushed for one in part.incidents}
    arrays: dict[str, Any] = {name: joined(name) for name in _BY_ROW}
    report = preparation.apply(replayed).report
    diagnosis = replace(
        parts[-1],
        timestamps=stamps,
        alarm=np.concatenate([part.alarm for part in pushed]),
        incidents=tuple(incidents.values()),
        **arrays,
        gaps=report.gaps,
        preparation=report,
        table=replayed,
    )
    health = (*last.model_.health, *check_diagnosis(last.model_, diagnosis))
    diagnosis = replace(diagnosis, health=health)
    rounds = [
        _round(diagnosis, plan, first, float(part.model["threshold"]))
        for plan, part in zip(plans, parts, strict=True)
    ]
    dated = stamps is not None and stamps.dtype.kind == "M" and preparation.step
    days = len(replayed) * float(preparation.step or 0) / _DAY if dated else None
    return Backtest(diagnosis, tuple(rounds), days)


def _round(diagnosis: Diagnosis, plan: Plan, first: int, threshold: float) -> Round:
    start, end = plan.train_end - first, plan.score_end - first
    stamps = diagnosis.timestamps
    judged = diagnosis.score[start:end][~diagnosis.warm_up[start:end]]
    return Round(
        train_start=plan.train_start,
        train_end=plan.train_end,
        score_end=plan.score_end,
        fitted_at=plan.train_end if stamps is None else stamps[start],
        until=plan.score_end - 1 if stamps is None else stamps[end - 1],
        threshold=threshold,
        alarming_rows=int(diagnosis.alarm[start:end].sum()),
        incidents=sum(start <= incident.start < end for incident in diagnosis.incidents),
        highest=float(judged.max(initial=0.0)),
    )
