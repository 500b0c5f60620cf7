"""Numbers of a row as bytes, in the order of the source's variables.

A source's list of variables only grows, so older bytes are shorter; what they lack is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack_cells", "pack_detail", "unpack_cells", "unpack_detail"]

_PARTS = 3
_WIDTH = 4


def pack_cells(values: NDArray[np.float64]) -> bytes:
    """Values of one row, exactly."""
    return values.astype("<f8").tobytes()


def unpack_cells(blobs: Sequence[bytes], variables: int) -> NDArray[np.float64]:
    """Values of many rows, (N, d); NaN where a row has none.

    Examples
    --------
    >>> unpack_cells([pack_cells(np.array([1.0])), pack_cells(np.array([2.0, 3.0]))], 2)
    array([[ 1., nan],
           [ 2.,  3.]])
    """
    if all(len(blob) == 8 * variables for blob in blobs):
        return np.frombuffer(b"".join(blobs), "<f8").reshape(len(blobs), variables)
    table = np.full((len(blobs), variables), np.nan)
    for row, blob in enumerate(blobs):
        part = np.frombuffer(blob, "<f8")[:variables]
        table[row, : len(part)] = part
    return table


def pack_detail(
    expected: NDArray[np.floating],
    error: NDArray[np.floating],
    localization: NDArray[np.floating],
) -> bytes:
    """What a reading says of each variable, in single precision as in a Diagnosis."""
    return np.stack([expected, error, localization]).astype("<f4").tobytes()


def unpack_detail(
    blobs: Sequence[bytes], variables: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Expected, error and localization of many readings, each (N, d).

    Examples
    --------
    >>> blob = pack_detail(np.array([1.0]), np.array([2.0]), np.array([3.0]))
    >>> [part.tolist() for part in unpack_detail([blob], 1)]
    [[[1.0]], [[2.0]], [[3.0]]]
    """
    if all(len(blob) == _PARTS * _WIDTH * variables for blob in blobs):
        whole = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), _PARTS, variables)
        return whole[:, 0], whole[:, 1], whole[:, 2]
    table = np.full((len(blobs), _PARTS, variables), np.nan, dtype=np.float32)
    for row, blob in enumerate(blobs):
        part = np.frombuffer(blob, "<f4").reshape(_PARTS, -1)[:, :variables]
        table[row, :, : part.shape[1]] = part
    return table[:, 0], table[:, 1], table[:, 2]
