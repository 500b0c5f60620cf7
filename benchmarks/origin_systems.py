"""Random systems whose faults spread, for benchmarks/origins.py.

A system is a random sparse graph of 8 to 20 signals. A signal remembers part of its own last
value, follows its causes with lags, and is disturbed by noise; roots also follow a wave. Three
families: ``linear`` and ``nonlinear`` with lags of 1 to 4 rows, and ``instant``, linear, where
half of the edges act within the row (a system sampled more slowly than it reacts).

A fourth family, ``library``, is the package's own ``random_system`` with its own kinds of faults.

A fault changes the process of one signal, its origin; everything downstream follows by itself.
The same system with the same noise and no fault runs beside it, so what a fault reached is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.synthetic import FAULT_KINDS, Disturbance, random_system, simulate

Array = NDArray[np.float64]

FAMILIES = ("linear", "nonlinear", "instant", "library")
KINDS = ("spikes", "shift", "ramp", "push", "noise", "stuck", "unlink")
TRAIN_ROWS = 4000
GAP = 150

_AFFECTED_AT = 0.5  # standard deviations away from the healthy twin
_LINKS: tuple[Callable[[float], float], ...] = (
    lambda u: 1.5 * float(np.tanh(u)),
    lambda u: 1.5 * max(u, 0.0),
    lambda u: u + 0.5 * float(np.tanh(u)) ** 2,
)


@dataclass(frozen=True)
class Edge:
    """One cause of a signal."""

    source: int
    lag: int
    weight: float
    link: Callable[[float], float] | None


@dataclass(frozen=True)
class Fault:
    """A fault, in rows of the test data; ``end`` is the row after its last."""

    kind: str
    origin: int
    start: int
    end: int
    size: float


@dataclass(frozen=True)
class Recording:
    """Readings of a system and what is true of its faults."""

    family: str
    train: Array
    test: Array
    faults: tuple[Fault, ...]
    reached: tuple[tuple[int, ...], ...]
    """For each fault the signals it moved, the origin apart."""
    affected: NDArray[np.bool_]
    """At each test row the signals that are away from the healthy twin; origins are while at it."""


@dataclass(frozen=True)
class _System:
    memory: Array
    noise: Array
    wave: Array
    period: Array
    sensor: Array
    causes: tuple[tuple[Edge, ...], ...]
    order: tuple[int, ...]


def record(family: str, seed: int) -> Recording:
    """Draw a system and record it, healthy first, then with each kind of fault twice."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    if family == "library":
        return _record_library(seed, rng)
    system = _draw(family, rng)
    d = len(system.memory)
    faults = _draw_faults(system, rng)
    rows = TRAIN_ROWS + faults[-1].end + GAP
    shocks = rng.standard_normal((rows, d)) if seed % 2 else rng.laplace(size=(rows, d)) / 2**0.5
    drawn = rng.standard_normal((rows, 2))
    healthy = _run(system, shocks, drawn, [], np.ones(d))
    spread = healthy[:TRAIN_ROWS].std(0)
    faulty = _run(system, shocks, drawn, list(faults), spread)
    readings = faulty + system.sensor * spread * rng.standard_normal((rows, d))
    away = np.abs(faulty - healthy)[TRAIN_ROWS:] > _AFFECTED_AT * spread
    reached = tuple(
        tuple(int(v) for v in np.flatnonzero(away[f.start : f.end].any(0)) if v != f.origin)
        for f in faults
    )
    for fault in faults:
        away[fault.start : fault.end, fault.origin] = True
    return Recording(family, readings[:TRAIN_ROWS], readings[TRAIN_ROWS:], faults, reached, away)


def _record_library(seed: int, rng: np.random.Generator) -> Recording:
    """The package's own simulator: linear, lags of 1 to 5, seasons, regimes, lying sensors."""
    system = random_system(int(rng.integers(8, 21)), seed=seed)
    feeds = sorted({edge.source for edge in system.edges})
    kinds = [kind for kind in FAULT_KINDS if "outlier" not in kind]  # those last a single row
    faults = []
    start = GAP
    for kind in rng.choice(kinds, 2 * len(KINDS)).tolist():
        origin = int(rng.choice(feeds))
        size = float(rng.uniform(2, 5) * rng.choice([-1, 1]))
        end = start + int(rng.integers(20, 61))
        faults.append(Fault(kind, origin, start, end, size))
        start = end + GAP
    data = simulate(
        system,
        [Disturbance(f.kind, f.origin, f.start, f.end, size=f.size) for f in faults],
        train_rows=TRAIN_ROWS,
        test_rows=start,
        seed=seed,
    )
    reached = tuple(
        tuple(
            int(v) for v in np.flatnonzero(data.affected[f.start : f.end].any(0)) if v != f.origin
        )
        for f in faults
    )
    train, test = data.train.astype(np.float64), data.test.astype(np.float64)
    return Recording("library", train, test, tuple(faults), reached, data.affected)


def _draw(family: str, rng: np.random.Generator) -> _System:
    d = int(rng.integers(8, 21))
    # Positions are shuffled, so that the order of the columns shows nothing.
    order = rng.permutation(d)
    memory, noise, wave = np.zeros(d), np.zeros(d), np.zeros(d)
    causes: list[list[Edge]] = [[] for _ in range(d)]
    for place, at in enumerate(order.tolist()):
        root = place == 0 or rng.random() < 0.2
        memory[at] = rng.uniform(0.6, 0.97) if root else rng.uniform(0.2, 0.7)
        noise[at] = rng.uniform(0.3, 0.6) if root else rng.uniform(0.1, 0.4)
        noise[at] *= np.sqrt(1 - memory[at] ** 2)
        if root:
            wave[at] = rng.uniform(0, 1)
            continue
        count = min(1 + int(rng.poisson(0.8)), place)
        shares = rng.dirichlet(np.full(count, 3.0)) * (1 - memory[at])
        sources = rng.choice(order[:place], count, replace=False)
        for source, share in zip(sources, shares, strict=True):
            lag = int(rng.integers(1, 5))
            if family == "instant" and rng.random() < 0.5:
                lag = 0
            link = _LINKS[int(rng.integers(3))] if family == "nonlinear" else None
            sign = -1.0 if rng.random() < 0.3 else 1.0
            causes[at].append(Edge(int(source), lag, sign * float(share), link))
        if rng.random() < 1 / 8:
            # A weak loop of opposite sign: it damps.
            first = causes[at][0]
            back = -float(np.sign(first.weight)) * 0.1
            causes[first.source].append(Edge(at, max(first.lag, 1), back, None))
    return _System(
        memory=memory,
        noise=noise,
        wave=wave,
        period=rng.uniform(50, 400, d),
        sensor=rng.uniform(0.02, 0.1, d),
        causes=tuple(tuple(own) for own in causes),
        order=tuple(order.tolist()),
    )


def _draw_faults(system: _System, rng: np.random.Generator) -> tuple[Fault, ...]:
    feeds = sorted({edge.source for own in system.causes for edge in own})
    driven = [at for at in feeds if system.causes[at]] or feeds
    faults = []
    start = GAP
    for kind in rng.permutation(KINDS * 2).tolist():
        origin = int(rng.choice(driven if kind == "unlink" else feeds))
        size = float(rng.uniform(2, 5) * rng.choice([-1, 1]))
        end = start + int(rng.integers(20, 61))
        faults.append(Fault(kind, origin, start, end, size))
        start = end + GAP
    return tuple(faults)


def _run(system: _System, shocks: Array, drawn: Array, faults: list[Fault], spread: Array) -> Array:
    """Values of all signals, row by row; the first rows of a run start at rest."""
    rows, d = shocks.shape
    settled = np.zeros((rows, d))  # what memory sees: without the offset a fault adds
    values = np.zeros((rows, d))
    at_row = {TRAIN_ROWS + row: f for f in faults for row in range(f.start, f.end)}
    turn = 2 * np.pi / system.period
    for t in range(1, rows):
        fault = at_row.get(t)
        for j in system.order:
            drive = 0.0
            for edge in system.causes[j]:
                if t >= edge.lag:
                    u = values[t - edge.lag, edge.source]
                    drive += edge.weight * (u if edge.link is None else edge.link(float(u)))
            memory = system.memory[j]
            hit = fault is not None and fault.origin == j
            if hit and fault is not None and fault.kind == "unlink":
                drive = (1 - memory) * spread[j] * 0.6 * fault.size * drawn[t // 10 * 10, 0]
            if hit and fault is not None and fault.kind == "push":
                drive += (1 - memory) * spread[j] * fault.size
            wave = (1 - memory) * system.wave[j] * np.sin(turn[j] * t)
            own = memory * settled[t - 1, j] + drive + wave + system.noise[j] * shocks[t, j]
            settled[t, j] = values[t, j] = own
            if hit and fault is not None:
                values[t, j] += _offset(fault, t - TRAIN_ROWS, spread[j], drawn[t, 1])
                if fault.kind == "stuck":
                    values[t, j] = values[TRAIN_ROWS + fault.start - 1, j]
    return values


def _offset(fault: Fault, row: int, spread: float, draw: float) -> float:
    """What a fault adds to the value of its origin, which does not remember it."""
    height = fault.size * spread
    if fault.kind == "spikes":
        return height if (row - fault.start) % 10 == 0 else 0.0
    if fault.kind == "shift":
        return height
    if fault.kind == "ramp":
        return height * (row - fault.start + 1) / (fault.end - fault.start)
    return height * 0.7 * draw if fault.kind == "noise" else 0.0
