"""Many machines: one model each, fitted and used by local processes or on a Ray cluster."""

from alora_ts.fleet.engine import Engine, Finished
from alora_ts.fleet.fleet import Fleet
from alora_ts.fleet.local import LocalEngine
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
]
