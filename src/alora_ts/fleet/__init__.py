"""Many machines: one model each, fitted and used by local processes or on a Ray cluster.

Importing the package is cheap, so that a worker that finds its work done loads no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alora_ts.fleet.engine import Engine, Finished
    from alora_ts.fleet.fleet import Fleet
    from alora_ts.fleet.local import LocalEngine
    from alora_ts.fleet.long_fit import fit_long
    from alora_ts.fleet.long_score import diagnose_long
    from alora_ts.fleet.ray_engine import RayEngine
    from alora_ts.fleet.settings import WarmStart
    from alora_ts.fleet.tally import Tally
    from alora_ts.fleet.view import EntityView, FleetView

__all__ = [
    "Engine",
    "EntityView",
    "Finished",
    "Fleet",
    "FleetView",
    "LocalEngine",
    "RayEngine",
    "Tally",
    "WarmStart",
    "diagnose_long",
    "fit_long",
]

_HOMES = {
    "Engine": "engine",
    "EntityView": "view",
    "Finished": "engine",
    "Fleet": "fleet",
    "FleetView": "view",
    "LocalEngine": "local",
    "RayEngine": "ray_engine",
    "Tally": "tally",
    "WarmStart": "settings",
    "diagnose_long": "long_score",
    "fit_long": "long_fit",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"alora_ts.fleet.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'alora_ts.fleet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
