"""How much of a signal is left after some steps of a linear noise schedule."""

from __future__ import annotations

import numpy as np

__all__ = ["signal_left"]

_STEPS = 1000
_FIRST, _LAST = 1e-4, 0.02


def signal_left(step: int) -> float:
    """Return ᾱ after steps 0 … ``step`` of 1,000 with β from 0.0001 to 0.02.

    The noisy signal is √ᾱ times the signal plus √(1 − ᾱ) times unit noise.

    Examples
    --------
    >>> round(signal_left(500), 4)
    0.0778
    """
    betas = np.linspace(_FIRST, _LAST, _STEPS)
    return float(np.prod(1.0 - betas[: step + 1]))
