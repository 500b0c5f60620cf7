"""Reads pickled numpy arrays without trusting the file.

Unpickling normally calls whatever the file names. Here every name a pickled array needs is
answered by an inert stand-in of ours, any other name ends the reading, and the array is then made
from the plain bytes that were collected. Nothing of the file is ever called.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.reading import need_file
from alora_ts.errors import DataError

__all__ = ["read_array_pickle"]

_NUMBERS = frozenset(f"{kind}{size}" for kind in "fiu" for size in (1, 2, 4, 8)) | {"b1"}


class _RefusedError(Exception):
    """The pickle holds something else than an array of numbers."""


class _Type:
    """Stands for ``numpy.dtype``: remembers the code and the byte order."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = str(code).lstrip("<>=|")
        self.order = "="
        if self.code not in _NUMBERS:
            raise _RefusedError(f"an array of {code!r}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = {"<": "<", ">": ">", "|": "=", "=": "="}[state[1]]

    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.order + self.code)


@dataclass
class _Array:
    """Stands for an array whose content follows."""

    state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def array(self) -> NDArray[Any]:
        _, shape, kind, fortran, raw = self.state
        return _build(raw, kind, shape, "F" if fortran else "C")


def _build(raw: object, kind: object, shape: object, order: object) -> NDArray[Any]:
    if isinstance(raw, str):
        # Bytes that Python 2 wrote come back as text in the encoding given to the reader.
        raw = raw.encode("latin1")
    if not isinstance(raw, (bytes, bytearray)) or not isinstance(kind, _Type):
        raise _RefusedError("an array without plain bytes")
    flat = np.frombuffer(raw, dtype=kind.dtype())
    return flat.reshape(shape, order=order).copy()  # type: ignore[call-overload, no-any-return]


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _from_buffer(raw: object, kind: object, shape: object, order: object = "C") -> NDArray[Any]:
    return _build(raw, kind, shape, order)


def _no_bytes() -> bytes:
    # How Python 3 wrote the bytes of an empty array into protocol 2.
    return b""


def _encode(text: object, codec: object = "latin1") -> bytes:
    # How Python 3 wrote bytes into protocol 2.
    if not isinstance(text, str) or codec not in ("latin1", "latin-1"):
        raise _RefusedError("an encoded object")
    return text.encode("latin1")


_STAND_INS: dict[tuple[str, str], object] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _no_bytes,
    **{(f"numpy.{c}.multiarray", "_reconstruct"): _reconstruct for c in ("core", "_core")},
    **{(f"numpy.{c}.numeric", "_frombuffer"): _from_buffer for c in ("core", "_core")},
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _STAND_INS[module, name]
        except KeyError:
            raise _RefusedError(f"{module}.{name}") from None


def read_array_pickle(path: Path) -> NDArray[Any]:
    """Read a pickle that holds one array of numbers.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ndarray

    Raises
    ------
    DataError
        When the file holds anything else; none of it has been run.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.pkl"
    >>> _ = path.write_bytes(pickle.dumps(np.eye(2)))
    >>> read_array_pickle(path)
    array([[1., 0.],
           [0., 1.]])
    >>> _ = path.write_bytes(pickle.dumps(len))
    >>> read_array_pickle(path)
    Traceback (most recent call last):
        ...
    alora_ts.errors.DataError: ... holds builtins.len, and only arrays of numbers are read ...
    """
    content = need_file(path).read_bytes()
    try:
        found = _Reader(io.BytesIO(content), encoding="latin1").load()
        if isinstance(found, _Array):
            found = found.array()
    except _RefusedError as refused:
        raise DataError(
            f"{path} holds {refused}, and only arrays of numbers are read from pickles; do not "
            "trust this file, fetch the official one"
        ) from None
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise DataError(f"{path} is not a readable pickle ({error}); fetch it again") from None
    if not isinstance(found, np.ndarray):
        raise DataError(
            f"{path} holds a {type(found).__name__}, expected an array of numbers; fetch the "
            "official file"
        )
    return found
