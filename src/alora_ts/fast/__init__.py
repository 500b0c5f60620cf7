"""Everything that gives the same numbers sooner; it could be deleted without losing a result.

Three ways lead to the same numbers, up to rounding:

* ``plain``: the network itself, one full SVD for a rank (:mod:`alora_ts.fast.plain`);
* ``torch``: weights multiplied together beforehand (:mod:`alora_ts.fast.fold`), in torch;
* ``native``: the same in compiled kernels (:mod:`alora_ts.fast.native`).

The environment variable ``ALORA_TS_FAST`` names the way. Without it kernels are used where they are
installed, else torch. Kernels take single precision on the CPU; elsewhere ``native`` means
``torch``. Networks that cannot be folded run plainly by any way.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, get_args

from alora_ts.errors import AloraError, nearest

if TYPE_CHECKING:
    from torch import Tensor

    from alora_ts.fast.native import Library

__all__ = ["Way", "kernels_for", "way"]

Way = Literal["plain", "torch", "native"]

_VARIABLE = "ALORA_TS_FAST"


def way() -> Way:
    """Which way is taken.

    Raises
    ------
    AloraError
        When ``ALORA_TS_FAST`` names no way, or kernels that are not there.

    Examples
    --------
    >>> way() in {"plain", "torch", "native"}
    True
    """
    from alora_ts.fast.native import library

    asked = os.environ.get(_VARIABLE)
    if not asked:
        return "torch" if library.installed() is None else "native"
    known: tuple[Way, ...] = get_args(Way)
    for each in known:
        if asked == each:
            if each == "native" and library.installed() is None:
                raise AloraError(
                    f"{_VARIABLE}=native, but {library.missing()}. Install alora-ts again where "
                    f"there is a C compiler, or use {_VARIABLE}=torch"
                )
            return each
    raise AloraError(f"unknown way {_VARIABLE}={asked!r}{nearest(asked, known)}")


def kernels_for(tensor: Tensor) -> Library | None:
    """The kernels, where they are to be used and take such a tensor."""
    import torch

    from alora_ts.fast.native import library

    taken = tensor.dtype is torch.float32 and tensor.is_cpu
    return library.installed() if taken and way() == "native" else None
