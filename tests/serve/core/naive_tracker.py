"""Incidents the slow way: all rows first, then the batch's own code."""

from __future__ import annotations

import numpy as np

from alora_ts.diagnosis.incident import find_incidents


def incidents(
    score: list[float], warm_up: list[bool], *, merge: int, minimum: int
) -> list[tuple[int, int]]:
    """First and last alarming row of each incident."""
    segments = np.cumsum(np.diff(np.r_[0, np.array(warm_up, dtype=int)]) == 1)
    quiet = np.where(warm_up, 0.0, score)
    found = find_incidents(quiet, merge=merge, minimum=minimum, segments=segments)
    return [(start, end - 1) for start, end in found]
