"""The window that TSB-AD reads VUS with: the period of the series itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import next_fast_len

from alora_ts.metrics.inputs import as_scores

__all__ = ["period_window"]

_ROWS = 20_000
_LAGS = 400
_LEFT_OUT = 3
_SHORTEST, _LONGEST = 3, 300  # counted from the first lag that is looked at, as TSB-AD does
_USUAL = 125


def period_window(values: ArrayLike) -> int:
    """Window of :func:`~alora_ts.metrics.vus` for a series, by TSB-AD's rule.

    Parameters
    ----------
    values : array_like of shape (n,)
        The series; TSB-AD takes the first variable of a multivariate one. Finite.

    Returns
    -------
    int
        The lag of the highest local maximum of the autocorrelation among the lags 6 to 303, or
        125 where the highest of all lies outside them or there is none.

    Raises
    ------
    DataError
        When the values are unusable.

    Notes
    -----
    Liu and Paparrizos, "The elephant in the room", NeurIPS 2024. The first 20,000 rows and 400
    lags count; the autocorrelation is the biased one, about the mean. Lags 0 to 2 are left out,
    and the bounds 3 and 300 count from lag 3, so lags 6 to 303 pass.

    Examples
    --------
    >>> period_window(np.sin(np.arange(600) * 2 * np.pi / 48))
    48
    >>> period_window(np.zeros(600))
    125
    """
    series = as_scores(values, "values")[:_ROWS]
    centred = series - series.mean()
    spectrum = np.fft.fft(centred, next_fast_len(2 * series.size + 1, real=True))
    products = np.fft.ifft(spectrum * spectrum.conj())[: series.size].real
    if products[0] <= 0:
        return _USUAL
    correlation = (products / products[0])[_LEFT_OUT : _LAGS + 1]
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner > correlation[:-2]) & (inner > correlation[2:]))
    if not peaks.size:
        return _USUAL
    # Of equal maxima the last, which is where TSB-AD's sort puts it.
    highest = int(peaks[correlation[peaks] == correlation[peaks].max()][-1])
    return highest + _LEFT_OUT if _SHORTEST <= highest <= _LONGEST else _USUAL
