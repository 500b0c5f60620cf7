"""Whether rows and scores still look as they did."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Level", "drift_level", "population_stability", "show_drift"]

Level = Literal["ok", "watch", "drifted"]
_BINS = 10
_WATCH, _DRIFTED = 0.1, 0.25
_FAR, _VERY_FAR = 1.0, 2.0


def population_stability(
    reference: NDArray[np.floating], recent: NDArray[np.floating], *, bins: int = _BINS
) -> float:
    """Population stability index: how differently two samples fill the reference's quantiles.

    Parameters
    ----------
    reference, recent : ndarray of shape (n,), (m,)
        NaN is left out.
    bins : int
        The reference is cut into so many parts of equal share (fewer where values repeat).

    Returns
    -------
    float
        Σ (q − p) ln(q / p) over the parts, p and q the shares with half a row added to each part;
        0 for equal distributions, NaN where a sample is empty.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=5000)
    >>> bool(population_stability(x, rng.normal(size=5000)) < 0.02)
    True
    >>> bool(population_stability(x, rng.normal(loc=1, size=5000)) > 0.5)
    True
    """
    reference = reference[~np.isnan(reference)]
    recent = recent[~np.isnan(recent)]
    if reference.size == 0 or recent.size == 0:
        return float("nan")
    edges = np.unique(np.quantile(reference, np.arange(1, bins) / bins))
    shares = []
    for sample in (reference, recent):
        # A value at an edge belongs to the part below it, on both sides alike.
        part = np.bincount(np.searchsorted(edges, sample, side="left"), minlength=len(edges) + 1)
        shares.append((part + 0.5) / (sample.size + 0.5 * (len(edges) + 1)))
    p, q = shares
    return float(((q - p) * np.log(q / p)).sum())


def drift_level(statistic: float, shift: float = 0.0) -> Level:
    """Put a statistic into words.

    Below 0.1 the index counts as stable and from 0.25 as changed, by common use; a mean that lies
    one (two) standard deviations of the training rows from theirs counts likewise.

    Examples
    --------
    >>> drift_level(0.05), drift_level(0.2), drift_level(0.05, shift=-2.5)
    ('ok', 'watch', 'drifted')
    """
    if statistic >= _DRIFTED or abs(shift) >= _VERY_FAR:
        return "drifted"
    return "watch" if statistic >= _WATCH or abs(shift) >= _FAR else "ok"


def show_drift(
    *,
    variables: tuple[str, ...],
    reference: NDArray[np.float64],
    recent: NDArray[np.float64],
    reference_score: NDArray[np.float64],
    recent_score: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> dict[str, Any]:
    """Compare each variable and the score; say what to do.

    Parameters
    ----------
    variables : tuple of str
    reference, recent : ndarray of shape (n, d), (m, d)
    reference_score, recent_score : ndarray of shape (n,), (m,)
    center, scale : ndarray of shape (d,)
        Of the training rows.
    """
    inputs = []
    for at, name in enumerate(variables):
        known = recent[~np.isnan(recent[:, at]), at]
        shift = float((known.mean() - center[at]) / scale[at]) if known.size else 0.0
        statistic = population_stability(reference[:, at], recent[:, at])
        statistic = 0.0 if np.isnan(statistic) else statistic
        inputs.append(
            {
                "variable": name,
                "statistic": statistic,
                "shift": shift,
                "level": drift_level(statistic, shift),
            }
        )
    index = population_stability(reference_score, recent_score)
    score = {"statistic": index, "level": drift_level(index)}
    return {"inputs": inputs, "score": score, "advice": _advise(inputs, score)}


def _advise(inputs: list[dict[str, Any]], score: dict[str, Any]) -> str:
    drifted = [one["variable"] for one in inputs if one["level"] == "drifted"]
    if drifted and score["level"] != "ok":
        return (
            f"{', '.join(drifted[:5])} and the score have changed: if this is the new normal, "
            "fit a model on recent rows and compare it before activating it"
        )
    if drifted:
        return f"{', '.join(drifted[:5])} changed, the score did not: watch it"
    if score["level"] == "drifted":
        return "the score has changed while the inputs have not: recalibrate the alarm level"
    return "nothing to do"
