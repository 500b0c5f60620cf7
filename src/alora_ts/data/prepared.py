"""What preparation gives: rows ready for windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.report import Gap, PreparationReport
from alora_ts.errors import DataError

__all__ = ["Prepared"]


@dataclass(frozen=True)
class Prepared:
    """Rows ready for windows.

    Attributes
    ----------
    values : ndarray of float32, shape (M, d)
        Scaled and filled; always finite.
    segments : ndarray of int32, shape (M,)
        Windows never leave a run of equal numbers.
    timestamps : ndarray of shape (M,) or None
        The times of the prepared rows; of a block or grid step, its beginning.
    rows : ndarray of intp, shape (N,)
        For each input row, in the order given, its prepared row.
    mask : ndarray of uint8, shape (M, ceil(d / 8)), or None
        Which cells were missing, packed; read it with :meth:`filled`.
    gaps : tuple of Gap
        Stretches without data, as events.
    report : PreparationReport
        What was done.
    """

    values: NDArray[np.float32]
    segments: NDArray[np.int32]
    timestamps: NDArray[Any] | None
    rows: NDArray[np.intp]
    mask: NDArray[np.uint8] | None
    gaps: tuple[Gap, ...]
    report: PreparationReport

    def __len__(self) -> int:
        return len(self.values)

    def filled(self, start: int = 0, stop: int | None = None) -> NDArray[np.bool_]:
        """Say which cells of some prepared rows were missing.

        Parameters
        ----------
        start, stop : int
            The rows, as in a slice.

        Returns
        -------
        ndarray of bool, shape (stop − start, d)

        Examples
        --------
        >>> from alora_ts.data import Preparation, as_table
        >>> train = as_table(np.array([[1.0, 2.0], [3.0, np.nan]]))
        >>> Preparation().fit(train).apply(train).filled(1)
        array([[False,  True]])
        """
        width = self.values.shape[1]
        if self.mask is None:
            return np.zeros((len(self.values[start:stop]), width), bool)
        return np.unpackbits(self.mask[start:stop], axis=1, count=width).astype(bool)

    def labels(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Bring labels of input rows to prepared rows: 1 where any row of it is.

        Parameters
        ----------
        labels : ndarray of shape (N,)
            One for each input row; anything but 0 marks an anomaly.

        Returns
        -------
        ndarray of bool, shape (M,)

        Raises
        ------
        DataError
            When there are not N labels.

        Examples
        --------
        >>> from alora_ts.data import Preparation, as_table
        >>> train = as_table(np.arange(6.0))
        >>> Preparation(downsample=3).fit(train).apply(train).labels(np.array([0, 0, 1, 0, 0, 0]))
        array([ True, False])
        """
        labels = np.asarray(labels)
        if labels.shape != self.rows.shape:
            raise DataError(
                f"labels of shape {labels.shape} do not fit {len(self.rows):,} rows; give one "
                "label for each row"
            )
        marked = np.zeros(len(self.values), bool)
        marked[self.rows[labels != 0]] = True
        return marked
