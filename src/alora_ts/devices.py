"""Where tensors live: the CPU, or a GPU where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alora_ts.errors import AloraError

if TYPE_CHECKING:
    import torch

__all__ = ["choose_device"]


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
