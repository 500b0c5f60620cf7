"""What a fitted network says of rows, for studies that start from there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alora_ts.model.fitted import FittedModel
from alora_ts.scoring import Evidence, gather_evidence

__all__ = ["evidence_of"]


def evidence_of(
    model: FittedModel, values: NDArray[np.float32], segments: NDArray[np.integer] | None
) -> Evidence:
    """Expected rows and ranks of prepared rows, as ``model.prepare`` gives them."""
    return gather_evidence(
        model.engine,
        values,
        segments,
        window=model.window,
        rank_level=model.calibration.rank_level,
        report=lambda _: None,
    )
