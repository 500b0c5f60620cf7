"""Fitting, step by step: prepare, choose pairs, train, calibrate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.data import Preparation, Table, window_ends
from alora_ts.data.options import PrepareOptions
from alora_ts.devices import choose_device
from alora_ts.diagnosis.origins import learn_mechanisms
from alora_ts.errors import AloraError, DataError, nearest
from alora_ts.fast.engine import Engine
from alora_ts.learning import Callback, TrainingOptions, TrainingSummary, train
from alora_ts.learning.descent import Descend
from alora_ts.learning.sampling import WindowSource
from alora_ts.model.fitted import DiagnosisOptions, FittedModel, Period, join_segments, limit
from alora_ts.model.localize import FORMS
from alora_ts.network import ALoRaT, Architecture, choose_pairs
from alora_ts.network.pairs import Correlation
from alora_ts.progress import Report
from alora_ts.scoring import CalibrationOptions, calibrate
from alora_ts.scoring.rules import Scoring

__all__ = ["FitOptions", "fit_model"]

_SCORED_AT_ONCE = 256


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Every choice of a fit. See :class:`alora_ts.ALoRa` for each."""

    architecture: Architecture
    preparation: PrepareOptions
    training: TrainingOptions
    calibration: CalibrationOptions
    diagnosis: DiagnosisOptions
    pairs: int | None
    correlation: Correlation
    validation_share: float
    contamination: float
    input_limit: float
    seed: int
    device: str

    def __post_init__(self) -> None:
        at_least = {
            "window": (self.architecture.window, 2),
            "layers": (self.architecture.layers, 1),
            "heads": (self.architecture.heads, 1),
            "epochs": (self.training.epochs, 1),
            "epoch_windows": (self.training.epoch_windows, 1),
            "batch_size": (self.training.batch_size, 1),
            "smoothing": (self.calibration.smoothing, 1),
            "localization_memory": (self.diagnosis.localization_memory, 1),
        }
        for name, (value, least) in at_least.items():
            if value < least:
                raise AloraError(f"{name}={value} is too small; give at least {least}")
        scoring = self.calibration.scoring
        if scoring not in get_args(Scoring):
            raise AloraError(f"unknown scoring {scoring!r}{nearest(scoring, get_args(Scoring))}")
        if self.diagnosis.localization not in FORMS:
            raise AloraError(
                f"unknown localization {self.diagnosis.localization!r}"
                f"{nearest(self.diagnosis.localization, FORMS)}"
            )
        if self.pairs is not None and self.pairs < 1:
            raise AloraError(f"pairs={self.pairs} is too small; give at least 1, or None for all")
        if not 0 < self.validation_share < 0.9:
            raise AloraError(f"validation_share={self.validation_share} must lie between 0 and 0.9")
        if not 0 <= self.contamination < 0.5:
            raise AloraError(f"contamination={self.contamination} must lie between 0 and 0.5")
        if self.calibration.drift_memory < 0:
            raise AloraError("drift_memory must be 0 (for a fixed threshold) or more")
        if self.input_limit <= 0:
            raise AloraError(f"input_limit={self.input_limit} must be positive")


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
        Rows to hold back; None holds back the last part of ``table``.
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
    window = options.architecture.window
    device = choose_device(options.device)
    preparation = Preparation(**asdict(options.preparation)).fit(table)
    if initial is not None:
        _refuse_stranger(initial, preparation, options.architecture, table)
    prepared = preparation.apply(table)
    values = limit(prepared.values, options.input_limit, keep=False)
    borders = join_segments(prepared, segments)
    held_back_from = round(len(values) * (1 - options.validation_share))
    if validation is not None:
        more = preparation.apply(validation)
        held_back_from = len(values)
        values = np.concatenate([values, limit(more.values, options.input_limit)])
        borders = np.concatenate([borders, more.segments + borders.max() + 1])
    ends = window_ends(len(values), window, borders)
    # A held-back window may begin among training rows; it is judged by what follows them.
    chosen, held_back = ends[ends < held_back_from], ends[ends >= held_back_from]
    if len(chosen) == 0:
        raise DataError(
            f"{table.source}: no window of {window} rows fits into the training part "
            f"({held_back_from:,} rows; gaps split it into "
            f"{len(np.unique(borders[:held_back_from]))}); give more rows or a smaller window"
        )
    weights = None if initial is None else initial.network.state_dict()
    if weights is not None and "embed.pairs" in weights:
        pairs = weights["embed.pairs"]
    else:
        fresh = values[:held_back_from]
        pairs = torch.from_numpy(
            choose_pairs(fresh, limit=options.pairs, correlation=options.correlation)
        )

    def train_on(which: NDArray[np.intp]) -> tuple[ALoRaT, TrainingSummary]:
        torch.manual_seed(options.seed)
        network = ALoRaT(pairs, variables=values.shape[1], architecture=options.architecture)
        if weights is not None:
            network.load_state_dict(weights)
        network.to(device)
        summary = train(
            network,
            WindowSource(values, which, window=window, device=device),
            WindowSource(values, held_back, window=window, device=device),
            options=options.training,
            rng=np.random.default_rng(options.seed),
            variables=preparation.variables,
            report=report,
            callbacks=callbacks,
            descend=descend,
        )
        return network.cpu(), summary

    network, summary = train_on(chosen)
    if options.contamination > 0 and summary.stopped != "interrupted":
        source = WindowSource(values, chosen, window=window)
        kept = _least_surprising(Engine(network, device), source, options.contamination)
        network, summary = train_on(chosen[kept])
    calibration = calibrate(
        Engine(network, device),
        values,
        borders,
        held_back_from=held_back_from,
        window=window,
        options=options.calibration,
        rows_per_day=preparation.rows_per_day,
        report=report,
    )
    return FittedModel(
        network=network,
        preparation=preparation,
        calibration=calibration,
        training=summary,
        period=Period.of(prepared),
        options=options.diagnosis,
        input_limit=options.input_limit,
        device=options.device,
        mechanisms=learn_mechanisms(values, borders, held_back_from=held_back_from, window=window),
        report=prepared.report,
    )


def _refuse_stranger(
    initial: FittedModel, preparation: Preparation, architecture: Architecture, table: Table
) -> None:
    if initial.preparation.variables != preparation.variables:
        raise DataError(
            f"{table.source}: the variables are not those of the model to begin with, in its "
            f"order ({', '.join(initial.preparation.variables)}); give the same columns, or leave "
            "the initial model out"
        )
    if initial.network.architecture != architecture:
        raise AloraError(
            "the model to begin with has another shape (window, layers, heads …); use the "
            "parameters it was fitted with"
        )


def _least_surprising(engine: Engine, source: WindowSource, share: float) -> NDArray[np.intp]:
    """All windows but the ``share`` with the largest error in their last row, in order."""
    error = np.empty(len(source))
    for start in range(0, len(source), _SCORED_AT_ONCE):
        which = np.arange(start, min(start + _SCORED_AT_ONCE, len(source)))
        windows = source.take(which)
        expected = engine.last_rows(windows).expected
        error[which] = (windows[:, -1] - expected).square().sum(1).numpy()
    keep = max(1, round(len(source) * (1 - share)))
    return np.sort(np.argsort(error, kind="stable")[:keep])
