"""How the outside follows a training and may end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from alora_ts.network import ALoRaT

__all__ = ["Callback", "EpochEnd"]


@dataclass(frozen=True)
class EpochEnd:
    """Given to callbacks after each epoch.

    Attributes
    ----------
    epoch : int
        Counted from 1.
    error, penalty : float
        Mean squared error and low-rank penalty over the epoch's training windows.
    validation : float
        The loss on the validation windows.
    network : ALoRaT
        The network as it is now. Look, do not change.
    """

    epoch: int
    error: float
    penalty: float
    validation: float
    network: ALoRaT


Callback = Callable[[EpochEnd], bool | None]
"""Called after each epoch; returning True ends the training with the best weights so far."""
