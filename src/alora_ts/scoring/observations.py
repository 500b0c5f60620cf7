"""How much was observed: independent observations among rows that depend on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.windows import segment_starts

__all__ = ["STILL", "observations"]

STILL = 1e-6
"""In scaled units, the rounding of a constant: what moves less does not move."""

_ROUNDING = 1e-9


def observations(
    rows: NDArray[np.float64], segments: NDArray[np.integer] | None
) -> NDArray[np.float64]:
    """How many independent observations of each variable some rows amount to, (d,).

    The smaller of the number of changes and of the rows divided by the integrated autocorrelation
    time, summed up to its first zero. At least 1 for a variable that moved, 0 for one that did
    not.

    Examples
    --------
    >>> steps = np.repeat([0.0, 1.0, 0.0], 100)
    >>> noise = np.random.default_rng(0).normal(size=300)
    >>> observations(np.column_stack([steps, noise, np.ones(300)]), None).round()
    array([  2., 275.,   0.])
    """
    n = len(rows)
    changed = np.diff(rows, axis=0) != 0
    changed[segment_starts(n, segments)[1:] - 1] = False
    changes = changed.sum(0).astype(np.float64)
    found = np.zeros(rows.shape[1])
    for at in np.flatnonzero(changes > 0):
        centred = rows[:, at] - rows[:, at].mean()
        power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
        correlation = np.fft.irfft(power)[:n]
        below = np.flatnonzero(correlation <= _ROUNDING * correlation[0])
        until = below[0] if len(below) else n
        time = 1 + 2 * correlation[1:until].sum() / correlation[0]
        found[at] = max(min(changes[at], n / time), 1.0)
    return found
