"""The alarm level of a source: the model's, recalibrated, and moved by what people say."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from alora_ts.serve.store.incidents import judged, judged_sources
from alora_ts.serve.store.sources import recalibrated, recalibrated_sources

__all__ = ["MARGIN", "adjust_threshold", "effective_threshold", "moved_levels"]

MARGIN = 0.05
"""How far above an incident that was normal, or below one that was real, the level is put."""


def adjust_threshold(
    base: float,
    *,
    normal: Sequence[float],
    real: Sequence[float],
    limit: float,
) -> float:
    """Raise an alarm level so that incidents people called normal would not alarm again.

    Parameters
    ----------
    base : float
        The level without any verdict.
    normal, real : sequence of float
        Highest raw scores of the incidents called so.
    limit : float
        The result is at most so many times ``base``.

    Returns
    -------
    float
        Never below ``base``; and where a real incident scored above ``base``, low enough that it
        would still alarm, whatever was called normal.

    Notes
    -----
    The result depends on the verdicts that stand at the moment and on nothing else, so taking one
    back restores exactly the level there was without it.

    Examples
    --------
    >>> round(adjust_threshold(10.0, normal=[12.0], real=[], limit=3.0), 6)
    12.6
    >>> adjust_threshold(10.0, normal=[500.0], real=[], limit=3.0)
    30.0
    >>> adjust_threshold(10.0, normal=[12.0], real=[10.5], limit=3.0)
    10.0
    """
    wanted = max([base, *(peak * (1 + MARGIN) for peak in normal)])
    allowed = min([limit * base, *(peak / (1 + MARGIN) for peak in real if peak > base)])
    return max(base, min(wanted, allowed))


def effective_threshold(
    connection: Connection, source: int, model: str, *, own: float, limit: float
) -> float:
    """The current alarm level of a source with a model.

    Parameters
    ----------
    connection : Connection
    source : int
    model : str
    own : float
        The level the model was fitted with.
    limit : float
        See :func:`adjust_threshold`.
    """
    found = recalibrated(connection, source, model)
    verdicts = judged(connection, source, model)
    return adjust_threshold(
        own if found is None else found.value,
        normal=[incident.peak_raw for incident in verdicts if incident.verdict == "normal"],
        real=[incident.peak_raw for incident in verdicts if incident.verdict == "real"],
        limit=limit,
    )


def moved_levels(connection: Connection) -> set[int]:
    """The sources whose alarm level may differ from their model's."""
    return {*recalibrated_sources(connection), *judged_sources(connection)}
