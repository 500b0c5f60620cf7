"""A small water works: two tanks in a row, their pumps, valves, dosing and heating.

Each line takes water in through a controlled valve, lifts it from the first tank to the second,
doses and warms it there, and delivers what the town draws. All lines share the town's demand,
the weather and the supply main.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from alora_ts.datasets.synthetic_system import Edge, Node, System
from alora_ts.errors import DataError

__all__ = ["plant_system"]

_SHARED = (
    Node("demand_flow", 60, 12, memory=0.9, noise=0.25, season=1.0, regime=0.35),
    Node("ambient_temperature", 18, 5, memory=0.95, noise=0.15, season=1.0, phase=-2.0),
    Node("supply_pressure", 4.2, 0.15, memory=0.97, noise=0.8),
)

_LINE = (
    Node("valve{a}_position", 48, 11, memory=1.0, low=-4.3, high=4.7, sensor_noise=0.03),
    Node("pump{a}_flow", 62, 12, memory=0.5, noise=0.08, sensor_noise=0.04),
    Node("pump{a}_power", 7.4, 1.3, memory=0.3, noise=0.06, sensor_noise=0.03),
    Node("tank{a}_level", 2.6, 0.22, memory=0.995, noise=0.15),
    Node("valve{b}_position", 52, 10, memory=1.0, low=-5.2, high=4.8, sensor_noise=0.03),
    Node("pump{b}_flow", 61, 12, memory=0.5, noise=0.08, sensor_noise=0.04),
    Node("pump{b}_power", 9.1, 1.6, memory=0.3, noise=0.06, sensor_noise=0.03),
    Node("pump{b}_vibration", 2.1, 0.3, memory=0.6, noise=0.25, sensor_noise=0.05),
    Node("motor{b}_temperature", 61, 4, memory=0.97, noise=0.08),
    Node("tank{b}_level", 3.4, 0.25, memory=0.995, noise=0.15),
    Node("doser{b}_rate", 0.82, 0.16, memory=0.5, noise=0.05, sensor_noise=0.03),
    Node("chlorine{b}_residual", 0.55, 0.05, memory=0.9, noise=0.2, sensor_noise=0.05),
    Node("heater{b}_power", 14, 2.5, memory=1.0, low=-5.6, high=6.0, sensor_noise=0.03),
    Node("tank{b}_temperature", 22, 0.8, memory=0.98, noise=0.15),
    Node("outlet{b}_flow", 60, 12, memory=0.3, noise=0.06, sensor_noise=0.04),
    Node("outlet{b}_pressure", 3.1, 0.18, memory=0.4, noise=0.1, sensor_noise=0.04),
)

# (source, target, weight, lag, whether the target acts on the reading)
_EDGES = (
    ("valve{a}_position", "pump{a}_flow", 0.50, 1, False),
    ("supply_pressure", "pump{a}_flow", 0.12, 2, False),
    ("pump{a}_flow", "pump{a}_power", 0.65, 1, False),
    ("pump{a}_flow", "tank{a}_level", 0.08, 1, False),
    ("pump{b}_flow", "tank{a}_level", -0.08, 1, False),
    ("valve{b}_position", "pump{b}_flow", 0.50, 1, False),
    ("tank{a}_level", "pump{b}_flow", 0.05, 2, False),
    ("pump{b}_flow", "pump{b}_power", 0.65, 1, False),
    ("pump{b}_power", "pump{b}_vibration", 0.30, 2, False),
    ("pump{b}_power", "motor{b}_temperature", 0.025, 1, False),
    ("pump{b}_vibration", "motor{b}_temperature", 0.02, 3, False),
    ("ambient_temperature", "motor{b}_temperature", 0.012, 4, False),
    ("pump{b}_flow", "tank{b}_level", 0.08, 1, False),
    ("outlet{b}_flow", "tank{b}_level", -0.08, 1, False),
    ("pump{b}_flow", "doser{b}_rate", 0.50, 1, True),
    ("chlorine{b}_residual", "doser{b}_rate", -0.20, 2, True),
    ("doser{b}_rate", "chlorine{b}_residual", 0.10, 3, False),
    ("pump{b}_flow", "chlorine{b}_residual", -0.08, 1, False),
    ("heater{b}_power", "tank{b}_temperature", 0.03, 2, False),
    ("ambient_temperature", "tank{b}_temperature", 0.02, 5, False),
    ("pump{b}_flow", "tank{b}_temperature", -0.02, 1, False),
    ("demand_flow", "outlet{b}_flow", 0.65, 1, False),
    ("tank{b}_level", "outlet{b}_flow", 0.05, 1, False),
    ("tank{b}_level", "outlet{b}_pressure", 0.35, 1, False),
    ("outlet{b}_flow", "outlet{b}_pressure", -0.30, 1, False),
)

# (measured signal, actuator, proportional gain, integral gain)
_LOOPS = (
    ("tank{a}_level", "valve{a}_position", 0.35, 0.006),
    ("tank{b}_level", "valve{b}_position", 0.9, 0.012),
    ("tank{b}_temperature", "heater{b}_power", 0.8, 0.010),
)


def plant_system(*, lines: int = 1, variation: float = 0.0, seed: int = 0) -> System:
    """Describe the water works.

    Parameters
    ----------
    lines : int
        How many parallel lines of two tanks; each adds 16 signals to the 3 that all share.
    variation : float
        Relative scatter of operating points, noises and edge weights: sister plants differ.
    seed : int
        Of that scatter.

    Returns
    -------
    System
        Signals, edges and control loops (a controller in its incremental form is two edges
        that read the measured signal).

    Examples
    --------
    >>> plant = plant_system()
    >>> len(plant.nodes), plant.variables[6], plant.spectral_radius < 1
    (19, 'tank1_level', True)
    """
    if lines < 1:
        raise DataError(f"a plant needs at least one line, not {lines}")
    rng = np.random.default_rng(seed)

    def near(value: float) -> float:
        return float(value * (1 + variation * np.clip(rng.standard_normal(), -2, 2)))

    nodes = list(_SHARED)
    for line in range(lines):
        numbers = {"a": 2 * line + 1, "b": 2 * line + 2}
        nodes += [dataclasses.replace(n, name=n.name.format(**numbers)) for n in _LINE]
    nodes = [
        dataclasses.replace(
            n,
            offset=near(n.offset),
            scale=near(n.scale),
            noise=near(n.noise),
            season=near(n.season),
            phase=n.phase + near(1.0) - 1.0,
        )
        for n in nodes
    ]
    at = {node.name: position for position, node in enumerate(nodes)}
    edges: list[Edge] = []
    for line in range(lines):
        numbers = {"a": 2 * line + 1, "b": 2 * line + 2}
        for source, target, weight, lag, reads in _EDGES:
            ends = at[source.format(**numbers)], at[target.format(**numbers)]
            edges.append(Edge(*ends, weight=near(weight), lag=lag, reads=reads))
        for measured, actuator, gain, integral in _LOOPS:
            ends = at[measured.format(**numbers)], at[actuator.format(**numbers)]
            edges.append(Edge(*ends, weight=-(gain + integral), lag=1, reads=True))
            edges.append(Edge(*ends, weight=gain, lag=2, reads=True))
    return System(tuple(nodes), tuple(edges))
