"""What a machine has: cores, and a GPU or none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from alora_ts.errors import AloraError

if TYPE_CHECKING:
    import torch

__all__ = ["choose_device", "usable_cores"]


def usable_cores() -> int:
    """The cores that this process may run on, or all where the system does not tell.

    Examples
    --------
    >>> usable_cores() >= 1
    True
    """
    # Neither macOS nor Windows has it.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def choose_device(name: str) -> torch.device:
    """The device that a name means on this machine.

    Parameters
    ----------
    name : str
        "auto" takes a GPU where torch finds one, else the CPU; "cpu", "cuda" or "cuda:1"
        name one.

    Returns
    -------
    torch.device

    Raises
    ------
    AloraError
        When torch does not know the name or does not have the device.

    Examples
    --------
    >>> choose_device("cpu")
    device(type='cpu')
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise AloraError(f"unknown device {name!r}; give 'auto', 'cpu' or 'cuda'") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise AloraError(f"device={name!r} was asked for, but torch finds no GPU; use 'auto'")
    if device.type not in ("cpu", "cuda"):
        raise AloraError(f"device {name!r} is not supported; give 'auto', 'cpu' or 'cuda'")
    return device
