"""Localization scores of a fitted model's rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.diagnosis import localize
from alora_ts.diagnosis.localization import LOCALIZATIONS
from alora_ts.model.fitted import FittedModel
from alora_ts.network import window_contributions

__all__ = ["FORMS", "WINDOW_FORM", "localize_rows"]

WINDOW_FORM = "window"
"""Σ_j e_j Σ_q |W_t[q, i, j]|: tracing by the attention of the moment instead of C."""

FORMS = (*LOCALIZATIONS, WINDOW_FORM)

_ROWS_AT_ONCE = 64


def localize_rows(
    model: FittedModel,
    remembered: NDArray[np.float64],
    windows_of: Callable[[NDArray[np.intp]], NDArray[np.float32]],
) -> NDArray[np.float64]:
    """Localization score of each variable at each row, (N, d).

    Parameters
    ----------
    model : FittedModel
    remembered : ndarray of shape (N, d)
        Each variable's error, averaged over the rows the model remembers.
    windows_of : callable
        Gives the windows (B, T, d) that score some rows; only the form "window" asks for them.

    Returns
    -------
    ndarray of shape (N, d)
    """
    options = model.options
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
