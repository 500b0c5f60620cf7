"""The compiled kernels, where the package was built with them (see hatch_build.py)."""

from __future__ import annotations

import ctypes
import warnings
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["ABI", "Library", "installed", "missing", "usable"]

_PATH = Path(__file__).with_name("kernels.so")

ABI = 2
"""Which signatures and meanings of arguments are called here: ALORA_ABI of c/kernels.c."""

# What torch calls the instructions of a CPU, and what the kernels call them.
_INSTRUCTIONS = {"AVX512": "avx512", "AVX2": "avx2"}


class Rows(ctypes.Structure):
    """Matrices (B, H, T, w) in memory: where the first begins, and the strides of B, H and T."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("batch_stride", ctypes.c_long),
        ("head_stride", ctypes.c_long),
        ("row_stride", ctypes.c_long),
    )


class PanelStrides(ctypes.Structure):
    """The laid-out right-hand side of a product; see tile.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("panel_stride", ctypes.c_long),
        ("segment_stride", ctypes.c_long),
        ("segments", ctypes.c_long),
        ("depth", ctypes.c_long),
    )


_LONG, _PLACE, _FLAG, _FLOAT = ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_float
_ARGUMENTS: dict[str, tuple[list[Any], Any]] = {
    "panel_width": ([], _LONG),
    "pack": ([_LONG, _LONG, _PLACE, _LONG, _LONG, _PLACE], None),
    "multiply": (
        [_LONG, _LONG, _PLACE, _LONG, _LONG, PanelStrides, _PLACE, _FLAG, _PLACE, _LONG, _LONG],
        None,
    ),
    "multiply_each": (
        [*[_LONG] * 3, _PLACE, *[_LONG] * 3, PanelStrides, _LONG, _PLACE, _LONG, _LONG],
        None,
    ),
    "mix": ([*[_LONG] * 5, *[Rows] * 3], _FLAG),
    "attend": ([*[_LONG] * 6, _FLOAT, _FLAG, *[Rows] * 7, _FLAG], _FLAG),
    "penalise": ([_LONG, _LONG, _PLACE, _LONG, ctypes.c_double, *[_PLACE] * 3], _FLAG),
    "count_above": ([_LONG, _LONG, _PLACE, ctypes.c_double, _PLACE], _FLAG),
    "attend_backward": ([*[_LONG] * 6, _FLOAT, _FLOAT, *[Rows] * 9], _FLAG),
}


class Library:
    """The kernels for one instruction set, as functions that let other Python threads run.

    Parameters
    ----------
    instructions : {"plain", "avx2", "avx512"}
        Which the CPU must have.

    Raises
    ------
    ImportError
        When the library does not hold them, or was compiled from other sources.
    """

    def __init__(self, instructions: str) -> None:
        self.instructions = instructions
        problem = missing()
        if problem is not None:
            raise ImportError(problem)
        loaded = ctypes.CDLL(str(_PATH))
        for name, (arguments, result) in _ARGUMENTS.items():
            try:
                function = getattr(loaded, f"alora_{name}_{instructions}")
            except AttributeError as error:
                raise ImportError(f"{_PATH} holds no kernels for {instructions!r}") from error
            function.argtypes, function.restype = arguments, result
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        # Only for what __init__ did not set; it tells type checkers that functions exist.
        raise AttributeError(name)


@cache
def installed() -> Library | None:
    """The kernels for this CPU, or None where there are none that can be used.

    A library of other sources than this Python code is refused with a warning: calling it would
    write to wrong places in memory.

    Examples
    --------
    >>> kernels = installed()
    >>> kernels is None or kernels.instructions in {"plain", "avx2", "avx512"}
    True
    """
    if missing() is not None and _PATH.exists():
        warnings.warn(
            f"{missing()}. torch does their work, more slowly; install alora-ts again to compile "
            "them",
            RuntimeWarning,
            stacklevel=2,
        )
    return Library(usable()[-1]) if usable() else None


@cache
def missing() -> str | None:
    """Why the kernels cannot be used, in words; None where they can."""
    if not _PATH.exists():
        return "alora-ts was installed without compiled kernels"
    try:
        loaded = ctypes.CDLL(str(_PATH))
        found = loaded.alora_abi_plain()
    except OSError as error:
        return f"the compiled kernels cannot be loaded ({error})"
    except AttributeError:
        found = 1  # before there were numbers
    if found == ABI:
        return None
    return f"the compiled kernels in {_PATH} are of version {found}, and version {ABI} is needed"


@cache
def usable() -> list[str]:
    """The instruction sets that this CPU has and the library was compiled for.

    The best comes last. torch has looked at the CPU already, and lets ATEN_CPU_CAPABILITY say
    otherwise.
    """
    import torch

    if missing() is not None:
        return []
    best = _INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability(), "plain")
    every = ["plain", "avx2", "avx512"]
    loaded = ctypes.CDLL(str(_PATH))
    return [name for name in every[: every.index(best) + 1] if hasattr(loaded, f"alora_abi_{name}")]
