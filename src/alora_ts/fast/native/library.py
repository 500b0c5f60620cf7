"""The compiled kernels, where the package was built with them (see hatch_build.py)."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Library", "installed", "usable"]

_PATH = Path(__file__).with_name("kernels.so")

# What torch calls the instructions of a processor, and what the kernels call them.
_INSTRUCTIONS = {"AVX512": "avx512", "AVX2": "avx2"}


class Rows(ctypes.Structure):
    """Matrices (B, H, T, w) in memory: where the first begins, and the steps of B, H and T."""

    _fields_ = (
        ("at", ctypes.c_void_p),
        ("batch", ctypes.c_long),
        ("head", ctypes.c_long),
        ("row", ctypes.c_long),
    )


class PanelSteps(ctypes.Structure):
    """The laid-out right-hand side of a product; see tile.h."""

    _fields_ = (
        ("at", ctypes.c_void_p),
        ("panel", ctypes.c_long),
        ("segment", ctypes.c_long),
        ("segments", ctypes.c_long),
        ("depth", ctypes.c_long),
    )


_LONG, _PLACE, _FLAG, _FLOAT = ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_float
_ARGUMENTS: dict[str, tuple[list[Any], Any]] = {
    "panel_columns": ([], _LONG),
    "pack": ([_LONG, _LONG, _PLACE, _LONG, _LONG, _PLACE], None),
    "multiply": (
        [_LONG, _LONG, _PLACE, _LONG, _LONG, PanelSteps, _PLACE, _FLAG, _PLACE, _LONG, _LONG],
        None,
    ),
    "multiply_each": (
        [*[_LONG] * 3, _PLACE, *[_LONG] * 3, PanelSteps, _LONG, _PLACE, _LONG, _LONG],
        None,
    ),
    "mix": ([*[_LONG] * 5, *[Rows] * 3], _FLAG),
    "attend": ([*[_LONG] * 6, _FLOAT, _FLAG, *[Rows] * 7, _FLAG], _FLAG),
    "penalise": ([_LONG, _LONG, _PLACE, _LONG, ctypes.c_double, *[_PLACE] * 3], _FLAG),
    "count_above": ([_LONG, _LONG, _PLACE, ctypes.c_double, _PLACE], _FLAG),
    "attend_back": ([*[_LONG] * 6, _FLOAT, _FLOAT, *[Rows] * 9], _FLAG),
}


class Library:
    """The kernels for one instruction set, as functions that let other Python threads run.

    Parameters
    ----------
    instructions : {"plain", "avx2", "avx512"}
        Which the processor must have.
    """

    def __init__(self, instructions: str) -> None:
        self.instructions = instructions
        loaded = ctypes.CDLL(str(_PATH))
        for name, (arguments, result) in _ARGUMENTS.items():
            try:
                function = getattr(loaded, f"alora_{name}_{instructions}")
            except AttributeError as error:
                raise ImportError(
                    f"{_PATH} was compiled from other sources ({error}); install alora-ts again"
                ) from error
            function.argtypes, function.restype = arguments, result
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        # Only for what __init__ did not set; it tells type checkers that functions exist.
        raise AttributeError(name)


@cache
def installed() -> Library | None:
    """The kernels for this processor, or None where the package was built without them.

    Examples
    --------
    >>> kernels = installed()
    >>> kernels is None or kernels.instructions in {"plain", "avx2", "avx512"}
    True
    """
    return Library(usable()[-1]) if usable() else None


@cache
def usable() -> list[str]:
    """The instruction sets that this processor has and the library was compiled for.

    The best comes last. torch has looked at the processor already, and lets ATEN_CPU_CAPABILITY
    say otherwise.
    """
    import torch

    if not _PATH.exists():
        return []
    best = _INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability(), "plain")
    every = ["plain", "avx2", "avx512"]
    loaded = ctypes.CDLL(str(_PATH))
    return [
        name
        for name in every[: every.index(best) + 1]
        if hasattr(loaded, f"alora_panel_columns_{name}")
    ]
