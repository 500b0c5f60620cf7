"""Kernels in C for the two things that torch does slowly on small operands: products, attention.

Nothing depends on them: without a compiler at installation, on a GPU and in double precision torch
does the same work.
"""

from __future__ import annotations

from alora_ts.fast.native.calls import (
    Call,
    Panels,
    attend,
    attend_backward,
    combine,
    count_above,
    mix,
    multiply,
    penalise,
    project,
)
from alora_ts.fast.native.library import Library, installed, usable

__all__ = [
    "Call",
    "Library",
    "Panels",
    "attend",
    "attend_backward",
    "combine",
    "count_above",
    "installed",
    "mix",
    "multiply",
    "penalise",
    "project",
    "usable",
]
