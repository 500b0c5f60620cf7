"""What the five classical methods share: they see single rows, and pyod does the work."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.baselines.detector import Detector
from alora_ts.baselines.inputs import Rows
from alora_ts.errors import AloraError
from alora_ts.progress import Report, Step

__all__ = ["PyodDetector"]

# Bounds the distance matrices that some of them make.
_ROWS_AT_A_TIME = 8192


@dataclass(kw_only=True, eq=False)
class PyodDetector(Detector):
    """A pyod model over standardised rows.

    pyod's ``contamination`` is left alone: it only concerns pyod's own labels.
    """

    @abstractmethod
    def _model(self, values: NDArray[np.float64]) -> Any:
        """Make the unfitted pyod model for these training rows."""

    def _training_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Choose which rows and columns the model learns from."""
        return values

    def _columns(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Choose which columns the model scores."""
        return values

    def _fit(self, rows: Rows, report: Report) -> None:
        report(Step("fitting", 0, 1))
        values = self._training_values(rows.values.astype(np.float64))
        try:
            model = self._model(values)
        except ModuleNotFoundError as error:
            raise AloraError(
                f"{type(self).__name__} needs the package {error.name!r}, which is not installed; "
                'pip install "alora-ts[bench]"'
            ) from error
        self.model_ = model.fit(values)
        report(Step("fitting", 1, 1))

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        scores = np.empty(len(rows))
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            part = slice(start, start + _ROWS_AT_A_TIME)
            values = self._columns(rows.values[part].astype(np.float64))
            scores[part] = self.model_.decision_function(values)
            report(Step("scoring", min(part.stop, len(rows)), len(rows)))
        return scores
