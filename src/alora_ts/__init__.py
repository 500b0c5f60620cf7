"""alora-ts: when a system of many signals misbehaves, and which signals caused it.

Importing the package is cheap: torch is loaded when :class:`ALoRa` is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from alora_ts.version import __version__

if TYPE_CHECKING:
    from alora_ts.data.options import PreparationOptions
    from alora_ts.diagnosis import Diagnosis, Incident
    from alora_ts.estimator import ALoRa, load
    from alora_ts.learning import Training
    from alora_ts.network import Architecture
    from alora_ts.scoring import CalibrationOptions

__all__ = [
    "ALoRa",
    "Architecture",
    "CalibrationOptions",
    "Diagnosis",
    "Incident",
    "PreparationOptions",
    "Training",
    "__version__",
    "load",
]

_HOMES = {
    "ALoRa": "alora_ts.estimator",
    "Architecture": "alora_ts.network",
    "Training": "alora_ts.learning",
    "CalibrationOptions": "alora_ts.scoring",
    "PreparationOptions": "alora_ts.data.options",
    "load": "alora_ts.estimator",
    "Diagnosis": "alora_ts.diagnosis",
    "Incident": "alora_ts.diagnosis",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'alora_ts' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
