"""Fitting, step by step: gather rows, choose windows, train, calibrate."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.data import Preparation, Prepared, Table, window_ends
from alora_ts.data.cycle import Cycle
from alora_ts.data.repetition import learn_cycle
from alora_ts.data.windows import windows_apart
from alora_ts.devices import choose_device
from alora_ts.diagnosis.origins import Mechanisms, learn_mechanisms
from alora_ts.diagnosis.usual import Usual, learn_usual
from alora_ts.errors import AloraError, DataError
from alora_ts.fast.engine import Engine
from alora_ts.learning import Callback, TrainingSummary, train
from alora_ts.learning.descent import Descend
from alora_ts.learning.sampling import WindowSource
from alora_ts.model.cyclic import Acyclic
from alora_ts.model.fitted import FittedModel, Period, join_segments, limit
from alora_ts.model.health import check_fit
from alora_ts.model.options import FitOptions
from alora_ts.model.surprise import surprise_at
from alora_ts.network import ALoRaT, Architecture, choose_pairs
from alora_ts.progress import Report
from alora_ts.scoring import Calibration, calibrate
from alora_ts.scoring.calibration import switch_weights
from alora_ts.scoring.novelty import learn_novelty

__all__ = ["fit_model", "hold_back", "take_cycle_off"]

_SCORED_AT_ONCE = 256

_BLOCKS = 5
_WINDOWS_IN_BLOCK = 3
_MOST_HELD_BACK = 40_000


def fit_model(
    table: Table,
    *,
    validation: Table | None,
    segments: NDArray[np.integer] | None,
    options: FitOptions,
    callbacks: Sequence[Callback],
    report: Report,
    initial: FittedModel | None = None,
    descend: Descend | None = None,
) -> FittedModel:
    """Fit a model.

    Parameters
    ----------
    table : Table
        Training rows.
    validation : Table or None
        Rows to hold back; None holds back blocks of ``table``, see :func:`hold_back`.
    segments : ndarray of int, shape (N,), or None
        Rows of different segments never share a window.
    options : FitOptions
    callbacks : sequence of Callback
    report : callable
        Receives the progress.
    initial : FittedModel or None
        A model of the same variables whose pairs and weights to begin with; None begins from
        scratch.
    descend : callable or None
        Gives a batch's loss and leaves its gradient in the network; None computes it here.

    Returns
    -------
    FittedModel

    Raises
    ------
    DataError
        When there are too few rows, or the variables are not those of ``initial``.
    """
    rows = _gather(table, validation, segments, options)
    windows = _choose_windows(rows, options.window, table)
    trainer = _Trainer(
        rows,
        windows,
        options,
        first=_first_network(rows, options, initial, table),
        callbacks=callbacks,
        report=report,
        descend=descend,
    )
    network, summary = trainer.train(windows.training)
    if options.contamination > 0 and summary.stopped != "interrupted":
        kept = trainer.least_surprising(network, options.contamination)
        network, summary = trainer.train(windows.training[kept])
    mechanisms = learn_mechanisms(
        rows.values, rows.segments, window=options.window, held_back=rows.held_back
    )
    novelty, own = None, None
    # The rules that count alarming rows follow their level by a factor, which knows no novelty.
    if options.hears_all:
        novelty, own = learn_novelty(
            rows.values,
            rows.segments,
            held_back=rows.held_back,
            weight=switch_weights(rows.values),
        )
    fitted = FittedModel(
        network=network,
        preparation=rows.preparation,
        calibration=_calibrate(network, mechanisms, rows, options, novelty=own, report=report),
        training=summary,
        period=Period.of(rows.prepared),
        options=options.diagnosis,
        device=options.device,
        mechanisms=mechanisms,
        novelty=novelty,
        cycle=rows.cycle,
        usual=_usual(rows, mechanisms, options.architecture.input_limit),
        report=rows.prepared.report,
    )
    return replace(fitted, health=check_fit(fitted, table))


@dataclass(frozen=True)
class _Rows:
    """The rows of a fit as the network sees them.

    Attributes
    ----------
    preparation : Preparation
        Learned from the training table.
    cycle : Cycle or None
        What was taken off the rows first.
    prepared : Prepared
        The training table.
    values : ndarray of shape (N, d)
        Training rows; those of a validation table last.
    segments : ndarray of int, shape (N,)
    held_back : ndarray of bool, shape (N,)
        The rows that training does not use.
    extent : (ndarray, ndarray)
        Smallest and largest values before they were limited.
    """

    preparation: Preparation
    cycle: Cycle | None
    prepared: Prepared
    values: NDArray[np.float32]
    segments: NDArray[np.int64]
    held_back: NDArray[np.bool_]
    extent: tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True)
class _Windows:
    """The rows at which windows end: those to train on, and those to judge the training by."""

    training: NDArray[np.intp]
    held_back: NDArray[np.intp]


def _gather(
    table: Table,
    validation: Table | None,
    segments: NDArray[np.integer] | None,
    options: FitOptions,
) -> _Rows:
    """Learn the preparation, apply it, and part the rows."""
    most = options.architecture.input_limit
    cycle, table = take_cycle_off(table, options)
    preparation = Preparation(**asdict(options.preparation)).fit(table)
    if cycle is not None:
        cycle = cycle.only(np.isin(table.variables, preparation.variables))
    prepared = preparation.apply(table)
    extent = prepared.values.min(0), prepared.values.max(0)
    values = limit(prepared.values, most, keep=False)
    borders = join_segments(prepared, segments)
    if validation is None:
        share = options.training.validation_share
        held_back = hold_back(len(values), share, window=options.window)
    else:
        if cycle is not None:
            validation, _ = Acyclic(cycle).take(preparation.match(validation))
        more = preparation.apply(validation)
        held_back = np.arange(len(values) + len(more.values)) >= len(values)
        extent = (
            np.minimum(extent[0], more.values.min(0)),
            np.maximum(extent[1], more.values.max(0)),
        )
        values = np.concatenate([values, limit(more.values, most)])
        borders = np.concatenate([borders, more.segments + borders.max() + 1])
    return _Rows(preparation, cycle, prepared, values, borders, held_back, extent)


def take_cycle_off(table: Table, options: FitOptions) -> tuple[Cycle | None, Table]:
    """What repeats, and training's rows without it."""
    wanted = options.hears_all and options.preparation.calendar == "auto"
    found = learn_cycle(table) if wanted else None
    return (None, table) if found is None else (found[0], replace(table, values=found[1]))


def hold_back(rows: int, share: float, *, window: int) -> NDArray[np.bool_]:
    """The rows that training does not use: blocks spread over all, so that no stretch decides.

    Five blocks, each the end of a fifth of the rows, where each fills three windows; fewer
    otherwise, and 40,000 rows at most.

    Examples
    --------
    >>> np.flatnonzero(np.diff(hold_back(1000, 0.2, window=10)))
    array([159, 199, 359, 399, 559, 599, 759, 799, 959])
    >>> np.flatnonzero(hold_back(20, 0.2, window=10))
    array([16, 17, 18, 19])
    """
    whole = min(round(rows * share), _MOST_HELD_BACK)
    blocks = int(np.clip(whole // (_WINDOWS_IN_BLOCK * window), 1, _BLOCKS))
    held = np.zeros(rows, dtype=bool)
    for block in range(1, blocks + 1):
        end = round(rows * block / blocks)
        held[end - whole // blocks : end] = True
    return held


def _usual(rows: _Rows, mechanisms: Mechanisms, most: float) -> Usual:
    """How each variable usually behaves."""
    return learn_usual(
        rows.values,
        rows.segments,
        held_back=rows.held_back,
        limit=most,
        known=mechanisms.hold(rows.values, rows.segments, held_back=rows.held_back),
        extent=rows.extent,
    )


def _choose_windows(rows: _Rows, window: int, table: Table) -> _Windows:
    """Part the windows by the row they end at."""
    ends, learned = window_ends(len(rows.values), window, rows.segments), ~rows.held_back
    # A held-back window may begin among training rows; it is judged by what follows them.
    found = _Windows(ends[windows_apart(ends, window, rows.held_back)], ends[rows.held_back[ends]])
    if len(found.training) == 0:
        raise DataError(
            f"{table.source}: no window of {window} rows fits into the training part "
            f"({int(learned.sum()):,} rows; gaps split it into "
            f"{len(np.unique(rows.segments[learned]))}); give more rows or a smaller window"
        )
    return found


def _first_network(
    rows: _Rows, options: FitOptions, initial: FittedModel | None, table: Table
) -> ALoRaT:
    """The network as training begins with it: that of ``initial``, or a random one."""
    if initial is not None:
        _refuse_stranger(initial, rows.preparation, options.window, options.architecture, table)
        return initial.network
    pairs = choose_pairs(
        rows.values[~rows.held_back],
        limit=options.pairs,
        correlation=options.architecture.correlation,
    )
    return ALoRaT(
        torch.from_numpy(pairs),
        variables=rows.values.shape[1],
        window=options.window,
        architecture=options.architecture,
        # Its own, so that fits in several threads do not take each other's numbers.
        generator=torch.Generator().manual_seed(options.seed),
    )


def _refuse_stranger(
    initial: FittedModel,
    preparation: Preparation,
    window: int,
    architecture: Architecture,
    table: Table,
) -> None:
    if initial.preparation.variables != preparation.variables:
        raise DataError(
            f"{table.source}: the variables are not those of the model to begin with, in its "
            f"order ({', '.join(initial.preparation.variables)}); give the same columns, or leave "
            "the initial model out"
        )
    if (initial.window, initial.network.architecture) != (window, architecture):
        raise AloraError(
            "the model to begin with has another shape (window, layers, heads …); use the "
            "parameters it was fitted with"
        )


class _Trainer:
    """Trains copies of one first network, each on windows of its own."""

    def __init__(
        self,
        rows: _Rows,
        windows: _Windows,
        options: FitOptions,
        *,
        first: ALoRaT,
        callbacks: Sequence[Callback],
        report: Report,
        descend: Descend | None,
    ) -> None:
        self._rows = rows
        self._windows = windows
        self._options = options
        self._first = first
        self._callbacks = callbacks
        self._report = report
        self._descend = descend
        self._device = choose_device(options.device)

    def train(self, ends: NDArray[np.intp]) -> tuple[ALoRaT, TrainingSummary]:
        """Train on the windows that end at these rows."""
        options = self._options
        network = copy.deepcopy(self._first).to(self._device)
        summary = train(
            network,
            self._source(ends, self._device),
            self._source(self._windows.held_back, self._device),
            options=options.training,
            epochs=options.epochs,
            epoch_windows=options.epoch_windows,
            rng=np.random.default_rng(options.seed),
            variables=self._rows.preparation.variables,
            report=self._report,
            callbacks=self._callbacks,
            descend=self._descend,
        )
        return network.cpu(), summary

    def least_surprising(self, network: ALoRaT, share: float) -> NDArray[np.intp]:
        """All training windows but the ``share`` whose last row has the largest error, in order."""
        engine, source = Engine(network, self._device), self._source(self._windows.training)
        error = np.empty(len(source))
        for start in range(0, len(source), _SCORED_AT_ONCE):
            which = np.arange(start, min(start + _SCORED_AT_ONCE, len(source)))
            windows = source.take(which)
            expected = engine.last_rows(windows).expected
            error[which] = (windows[:, -1] - expected).square().sum(1).numpy()
        keep = max(1, round(len(source) * (1 - share)))
        return np.sort(np.argsort(error, kind="stable")[:keep])

    def _source(self, ends: NDArray[np.intp], device: torch.device | None = None) -> WindowSource:
        return WindowSource(self._rows.values, ends, window=self._options.window, device=device)


def _calibrate(
    network: ALoRaT,
    mechanisms: Mechanisms,
    rows: _Rows,
    options: FitOptions,
    *,
    novelty: NDArray[np.float64] | None,
    report: Report,
) -> Calibration:
    """Measure what is normal for the trained network."""
    return calibrate(
        Engine(network, choose_device(options.device)),
        rows.values,
        rows.segments,
        held_back=rows.held_back,
        window=options.window,
        scoring=options.scoring,
        options=options.calibration,
        alarms=options.alarms,
        gap=options.diagnosis.gap(options.window),
        rows_per_day=rows.preparation.rows_per_day,
        report=report,
        surprise=partial(surprise_at, mechanisms, rows.values)
        if options.scoring == "joint"
        else None,
        novelty=novelty,
    )
