"""The simulation written edge by edge, one Python float at a time, one world at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.synthetic_faults import Disturbance, effect_of
from alora_ts.datasets.synthetic_system import System


def naive_readings(
    system: System,
    *,
    rows: int,
    seed: int,
    spread: NDArray[np.float64],
    faults: Sequence[Disturbance] = (),
    fault_row: int = 0,
) -> NDArray[np.float64]:
    noises, switches = np.random.default_rng(seed).spawn(2)
    d = len(system.nodes)
    process: dict[int, list[float]] = {}
    reading: dict[int, list[float]] = {}
    zeros = [0.0] * d
    mode = 0
    for t in range(-system.period, rows):
        if switches.random() < 1 / system.regime_rows:
            mode = 1 - mode
        shock, error = noises.standard_normal((2, d)).tolist()
        angle = 2 * math.pi * t / system.period
        now = []
        for i, node in enumerate(system.nodes):
            season = math.sin(angle + node.phase) + 0.3 * math.sin(2 * (angle + node.phase))
            outside = node.season * season + node.regime * (2 * mode - 1)
            value = node.memory * process.get(t - 1, zeros)[i] + (1 - node.memory) * outside
            value += node.noise * math.sqrt(max(0.0, 1 - node.memory**2)) * shock[i]
            for edge in system.edges:
                if edge.target == i:
                    past = reading if edge.reads else process
                    value += edge.weight * past.get(t - edge.lag, zeros)[edge.source]
            now.append(min(max(value, node.low), node.high))
        fault = next((f for f in faults if 0 <= t - fault_row - f.start < f.end - f.start), None)
        effect = None
        if fault is not None:
            origin = system.index(fault.origin)
            effect = effect_of(
                fault,
                period=system.period,
                sigma=float(spread[origin]),
                memory=system.nodes[origin].memory,
                zero=-system.nodes[origin].offset / system.nodes[origin].scale,
                seed=seed,
            )
            before = fault_row + fault.start - 1
            step = t - fault_row - fault.start
        if effect is not None and effect.process:
            now[origin] = effect.apply(now[origin], process[before][origin], step)
        process[t] = now
        read = [v + n.sensor_noise * e for v, n, e in zip(now, system.nodes, error, strict=True)]
        if effect is not None and not effect.process:
            read[origin] = effect.apply(read[origin], reading[before][origin], step)
        reading[t] = read
    return np.array(
        [
            [n.offset + n.scale * v for n, v in zip(system.nodes, reading[t], strict=True)]
            for t in range(rows)
        ]
    ).reshape(rows, d)
