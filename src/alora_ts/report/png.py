"""Small pictures of one hue whose strength is the value, for pages in light and dark."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["shade_png"]


def shade_png(shades: NDArray[np.floating], *, hue: tuple[int, int, int]) -> str:
    """Draw a matrix as a PNG picture and return it as a data URL.

    Parameters
    ----------
    shades : ndarray of shape (rows, columns)
        From 0 (clear) to 1 (full colour); one pixel each.
    hue : tuple of int
        Red, green and blue of the full colour, 0 to 255.

    Returns
    -------
    str
        ``data:image/png;base64,…``

    Examples
    --------
    >>> shade_png(np.eye(2), hue=(200, 30, 30)).startswith("data:image/png;base64,iVBOR")
    True
    """
    rows, columns = shades.shape
    levels = np.rint(np.clip(np.nan_to_num(shades), 0, 1) * 255).astype(np.uint8)
    # Each picture row starts with its filter number; 0 is "none".
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), levels], axis=1)
    parts = [
        b"\x89PNG\r\n\x1a\n",
        # 8-bit palette: colour 3; the palette is one hue, its transparency the level.
        _chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", bytes(hue) * 256),
        _chunk(b"tRNS", bytes(range(256))),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
        _chunk(b"IEND", b""),
    ]
    return "data:image/png;base64," + base64.b64encode(b"".join(parts)).decode("ascii")


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
