"""Localization and origin scores of a fitted model's rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.diagnosis import localize
from alora_ts.diagnosis.localization import LOCALIZATIONS
from alora_ts.errors import AloraError
from alora_ts.model.fitted import FittedModel
from alora_ts.network import window_contributions

__all__ = [
    "AFFECTED_FORM",
    "FORMS",
    "ORIGIN_FORM",
    "WINDOW_FORM",
    "localize_rows",
    "needs_windows",
    "origin_rows",
    "row_blame",
    "row_surprises",
    "surprises_within",
]

Windows = Callable[[NDArray[np.intp]], NDArray[np.float32]]
"""Gives the windows (B, T, d) that score some rows."""

WINDOW_FORM = "window"
"""Σ_j e_j Σ_q |W_t[q, i, j]|: tracing by the attention of the moment instead of C."""

ORIGIN_FORM = "origin"
"""Where a fault began instead of what it reached: :mod:`alora_ts.diagnosis.origins`."""

AFFECTED_FORM = "affected"
"""Who deviates in any way: from the network's expectation, the rows before, or the usual level."""

FORMS = (AFFECTED_FORM, *LOCALIZATIONS, WINDOW_FORM, ORIGIN_FORM)

_ROWS_AT_ONCE = 64


def needs_windows(form: str) -> bool:
    """Whether a form looks at windows, beside what the rows remembered give it.

    Examples
    --------
    >>> needs_windows(AFFECTED_FORM), needs_windows(ORIGIN_FORM)
    (False, True)
    """
    return form in (WINDOW_FORM, ORIGIN_FORM)


def row_blame(
    model: FittedModel,
    values: NDArray[np.float32],
    residual: NDArray[np.floating],
    surprise: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """What each variable gives the localization of its row to go by, (N, d).

    Squared errors of the network. For "affected" the squares of two more deviations are added,
    each in multiples of what is normal for it: of one-step surprises, and of the distance from the
    usual level. A signal that is reached may show in one of the three alone: the network follows
    what lasts, a step surprises once, and what moves within its range is not far from its level.

    Parameters
    ----------
    model : FittedModel
    values : ndarray of shape (N, d)
        What the network saw.
    residual : ndarray of shape (N, d)
        The same less what it expected.
    surprise : ndarray of shape (N, d) or None
        One-step surprises in scaled units; None where no rules were learned.

    Returns
    -------
    ndarray of shape (N, d)
    """
    rule = model.calibration.rule
    blame = rule.blame(residual)
    if model.options.localization == AFFECTED_FORM:
        usual = model.judge.usual
        blame += rule.blame(values - usual.centre, np.square(usual.scale))
        if surprise is not None and model.mechanisms is not None:
            blame += rule.blame(surprise, np.square(model.mechanisms.size))
    return blame


def localize_rows(
    model: FittedModel,
    remembered: NDArray[np.float64],
    windows_of: Windows,
) -> NDArray[np.float64]:
    """Localization score of each variable at each row, (N, d).

    Parameters
    ----------
    model : FittedModel
    remembered : ndarray of shape (N, d)
        :func:`row_blame`, averaged over the rows the model remembers.
    windows_of : callable
        Gives the windows (B, T, d) that score some rows; asked for where :func:`needs_windows`.

    Returns
    -------
    ndarray of shape (N, d)
    """
    options = model.options
    if options.localization == AFFECTED_FORM:
        return remembered.copy()
    if options.localization == ORIGIN_FORM:
        return origin_rows(model, np.arange(len(remembered)), windows_of)
    if options.localization != WINDOW_FORM:
        return localize(
            remembered,
            model.contributions,
            form=options.localization,
            top=options.localization_top,
        )
    scores = np.empty_like(remembered)
    for start in range(0, len(remembered), _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(remembered)))
        windows = torch.from_numpy(windows_of(rows))
        weights = window_contributions(model.network, windows).abs().sum(1).double().numpy()
        scores[rows] = localize(remembered[rows], weights, form="absolute")
    return scores


def origin_rows(
    model: FittedModel, rows: NDArray[np.intp], windows_of: Windows
) -> NDArray[np.float64]:
    """How likely each variable is the origin of what some rows show, (rows, d).

    Parameters
    ----------
    model : FittedModel
    rows : ndarray of int
        Which rows.
    windows_of : callable
        Gives the windows (B, T, d) that score some rows.

    Returns
    -------
    ndarray of shape (len(rows), d)

    Raises
    ------
    AloraError
        When the model was saved by a version that did not learn origins.
    """
    mechanisms = model.mechanisms
    if mechanisms is None:
        raise AloraError(
            "this model was saved by an earlier version, which learned nothing about origins; fit "
            "it again, or choose another localization"
        )
    scores = np.empty((len(rows), len(mechanisms.size)))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        scores[part] = mechanisms.scores(windows_of(rows[part]))
    return scores


def row_surprises(
    model: FittedModel, rows: NDArray[np.intp], windows_of: Windows
) -> NDArray[np.float64]:
    """One-step surprise of each variable at some rows, (rows, d); NaN without rules."""
    mechanisms = model.mechanisms
    found = np.full((len(rows), len(model.preparation.variables)), np.nan)
    if mechanisms is not None:
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            newest = windows_of(rows[part])[:, -mechanisms.lags - 1 :]
            found[part] = mechanisms.residuals(newest)[:, 0]
    return found


def surprises_within(model: FittedModel, window: NDArray[np.float32]) -> NDArray[np.float64]:
    """One-step surprises of a window's rows, (T, d); NaN for those that nothing predicts."""
    mechanisms = model.mechanisms
    found = np.full(window.shape, np.nan)
    if mechanisms is not None:
        found[mechanisms.lags :] = mechanisms.residuals(window[None])[0]
    return found
