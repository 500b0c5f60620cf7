"""The spectral residual: what of a series its smoothed spectrum does not explain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["spectral_residual"]

_SILENT = 1e-8


def spectral_residual(values: NDArray[Any]) -> NDArray[np.float64]:
    """Turn each column into its saliency, which peaks where the series surprises.

    The logarithm of the amplitudes is compared with its mean over three neighbouring frequencies
    (itself and the two below); the inverse transform uses the ratio and the phases.

    Parameters
    ----------
    values : ndarray of shape (N, d)
        One uninterrupted series; the result at a row depends on all rows.

    Returns
    -------
    ndarray of shape (N, d)
        Not negative.

    Examples
    --------
    >>> wave = np.sin(np.arange(200) * 0.3)[:, None] + 1.0
    >>> wave[120] += 3.0
    >>> int(spectral_residual(wave).argmax())
    120
    """
    saliency = np.empty(values.shape)
    counts = np.minimum(np.arange(1, len(values) + 1), 3)
    for column in range(values.shape[1]):
        spectrum = np.fft.fft(values[:, column].astype(np.float64))
        amplitude = np.abs(spectrum)
        heard = amplitude > _SILENT
        amplitude = np.maximum(amplitude, _SILENT)
        logs = np.log(amplitude)
        sums = logs.copy()
        sums[1:] += logs[:-1]
        sums[2:] += logs[:-2]
        ratio = np.where(heard, np.exp(logs - sums / counts) / amplitude, 0.0)
        saliency[:, column] = np.abs(np.fft.ifft(spectrum * ratio))
    return saliency
