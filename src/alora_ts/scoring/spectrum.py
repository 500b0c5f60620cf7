"""Singular values of attention matrices, and the level h1 below which one counts as zero."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.errors import AloraError, nearest

__all__ = ["RankRule", "choose_rank_level", "singular_values"]

RankRule = Literal["quantile", "max-4th", "max-5th"]


def singular_values(attention: Tensor) -> NDArray[np.float32]:
    """Singular values of each matrix, largest first, (B, T)."""
    sigma: NDArray[np.float32] = torch.linalg.svdvals(attention).numpy()
    return sigma


def choose_rank_level(
    sigma: NDArray[np.floating], *, rule: RankRule = "quantile", share: float = 1e-3
) -> float:
    """Choose h1 from the singular values seen on normal windows.

    Parameters
    ----------
    sigma : ndarray of shape (n, T)
        As :func:`singular_values` gives them.
    rule : {"quantile", "max-4th", "max-5th"}
        The largest 4th (or 5th) singular value over the normal windows, which keeps their rank
        at 3 (or 4) and below; or the level that a ``share`` of the 5th exceed, which withstands
        outliers in the training data.
    share : float
        For the rule "quantile".

    Returns
    -------
    float

    Examples
    --------
    >>> sigma = np.array([[1.0, 0.5, 0.2, 0.1, 0.05], [1.0, 0.4, 0.3, 0.2, 0.01]])
    >>> choose_rank_level(sigma, rule="max-4th"), choose_rank_level(sigma, rule="max-5th")
    (0.2, 0.05)
    """
    rules: tuple[RankRule, ...] = ("quantile", "max-4th", "max-5th")
    if rule not in rules:
        raise AloraError(f"unknown rank rule {rule!r}{nearest(rule, rules)}")
    column = min(3 if rule == "max-4th" else 4, sigma.shape[1] - 1)
    levels = sigma[:, column]
    if rule == "quantile":
        return float(np.quantile(levels, 1 - share))
    return float(levels.max())
