"""Simulated data with the truth about *when* and *which*, by name.

``plant`` is the demo, a water works with six faults; ``clear-faults`` holds faults that a
detector that works must find; ``types`` has one stretch for each kind of fault; ``fleet`` gives
sister plants; ``bivariate`` is the simulation of the ALoRa paper's appendix E.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from alora_ts.datasets.synthetic_dataset import SyntheticDataset, simulate
from alora_ts.datasets.synthetic_faults import FAULT_KINDS, Disturbance
from alora_ts.datasets.synthetic_plant import plant_system
from alora_ts.datasets.synthetic_random import random_system
from alora_ts.datasets.synthetic_system import Edge, Node, System
from alora_ts.datasets.synthetic_truth import Fault
from alora_ts.errors import DataError, nearest

__all__ = [
    "FAULT_KINDS",
    "PLANT_FAULTS",
    "PRESETS",
    "Disturbance",
    "Edge",
    "Fault",
    "Node",
    "SyntheticDataset",
    "System",
    "fleet",
    "make",
    "plant",
    "plant_system",
    "random_system",
    "simulate",
]

PLANT_FAULTS = (
    Disturbance("leak", "tank1_level", 380, 440, size=6.0),
    Disturbance("degradation", "pump1_flow", 800, 860, size=3.0),
    Disturbance("stuck-sensor", "pump2_flow", 1150, 1330),
    Disturbance("drift", "tank2_temperature", 1640, 1750, size=6.0),
    Disturbance("trend", "pump2_vibration", 2120, 2210, size=7.0),
    Disturbance("level-shift", "tank2_level", 2600, 2660, size=4.0),
)

# Strength of each kind in the presets that show kinds: Tsay's and the point kinds are a few
# standard deviations, those that act through the process need more to show through its inertia.
_SIZES = {"contextual-point": 2.5, "variance-change": 2.0, "correlation-break": 1.8, "leak": 5.0}


def plant(
    *,
    seed: int = 0,
    train_rows: int = 6000,
    test_rows: int = 3000,
    lines: int = 1,
    faults: Sequence[Disturbance] | None = None,
) -> SyntheticDataset:
    """Simulate the water works of the demo.

    Parameters
    ----------
    seed : int
        Of all random draws.
    train_rows, test_rows : int
        Minutes of healthy and of watched operation.
    lines : int
        Parallel lines of the plant: 19, 35, 51, … signals.
    faults : sequence of Disturbance, optional
        What goes wrong; by default six faults (a leak, a failing pump, a stuck and a drifting
        sensor, a wearing bearing, a sensor moved in maintenance), as far as they fit.

    Returns
    -------
    SyntheticDataset
        Readings, labels, and for each fault its origin and what it reached.

    Notes
    -----
    The kinds and sizes of the default faults were chosen with ALoRa's answers in view, so that the
    demo shows something. They are not a benchmark: use ``clear-faults`` or ``types`` to compare.

    Examples
    --------
    >>> data = plant()
    >>> data.train.shape, data.test.shape
    ((6000, 19), (3000, 19))
    >>> leak = data.faults[0]
    >>> leak.kind, leak.variable, leak.start
    ('leak', 'tank1_level', 380)
    >>> "valve1_position" in [data.variables[column] for column in leak.affected]
    True
    """
    if faults is None:
        faults = [fault for fault in PLANT_FAULTS if fault.end <= test_rows]
    return simulate(
        plant_system(lines=lines),
        faults,
        train_rows=train_rows,
        test_rows=test_rows,
        seed=seed,
        name="plant",
    )


def _kinds_in_turn(
    system: System, kinds: Sequence[str], *, length: int, gap: int, strength: float = 1.0
) -> tuple[list[Disturbance], int]:
    """One fault per kind, each at another signal that others depend on; and the rows they need."""
    causes = sorted({edge.source for edge in system.edges})
    faults = []
    for position, kind in enumerate(kinds):
        start = gap + position * (length + gap)
        rows = 1 if kind in {"additive-outlier", "innovational-outlier"} else length
        origin = causes[position % len(causes)]
        size = strength * _SIZES.get(kind, 5.0)
        faults.append(Disturbance(kind, origin, start, start + rows, size=size))
    return faults, gap + len(kinds) * (length + gap)


def _clear_faults(seed: int) -> SyntheticDataset:
    system = random_system(10, seed=11)
    kinds = ["level-shift", "shapelet", "leak", "variance-change", "correlation-break", "trend"]
    faults, rows = _kinds_in_turn(system, kinds, length=60, gap=240, strength=1.6)
    return simulate(system, faults, train_rows=4000, test_rows=rows, seed=seed, name="clear-faults")


def _types(seed: int) -> SyntheticDataset:
    system = random_system(8, seed=5)
    faults, rows = _kinds_in_turn(system, list(FAULT_KINDS), length=80, gap=220)
    return simulate(system, faults, train_rows=5000, test_rows=rows, seed=seed, name="types")


def _bivariate(seed: int) -> SyntheticDataset:
    """Two independent white series; the first is 5 standard deviations up in rows 200 to 299."""
    nodes = tuple(Node(name, memory=0.0, noise=1.0, sensor_noise=0.0) for name in ("x1", "x2"))
    shift = Disturbance("level-shift", "x1", 200, 300, size=5.0)
    return simulate(
        System(nodes), [shift], train_rows=500, test_rows=500, seed=seed, name="bivariate"
    )


def _sister(seed: int, entity: int) -> SyntheticDataset:
    system = plant_system(variation=0.12, seed=1000 + entity)
    # Each sister suffers two of the six, so that a fleet is neither all ill nor all alike.
    faults = [PLANT_FAULTS[entity % 6], PLANT_FAULTS[(entity + 2 + entity // 6) % 6]]
    return simulate(
        system,
        sorted(set(faults), key=lambda fault: fault.start),
        train_rows=6000,
        test_rows=3000,
        seed=seed * 10_007 + entity,
        name=f"fleet-{entity}",
    )


def fleet(entities: int = 8, *, seed: int = 0) -> Iterator[SyntheticDataset]:
    """Simulate sister plants one after the other.

    They share their design and differ in operating points, gains, noise and faults.

    Parameters
    ----------
    entities : int
        How many.
    seed : int
        Of all random draws; entity ``i`` is the same whatever the number of entities.

    Yields
    ------
    SyntheticDataset
        Named ``fleet-0``, ``fleet-1``, …

    Examples
    --------
    >>> [data.name for data in fleet(2)]
    ['fleet-0', 'fleet-1']
    """
    if entities < 1:
        raise DataError(f"a fleet needs at least one entity, not {entities}")
    for entity in range(entities):
        yield _sister(seed, entity)


PRESETS: dict[str, Callable[[int], SyntheticDataset]] = {
    "plant": lambda seed: plant(seed=seed),
    "clear-faults": _clear_faults,
    "types": _types,
    "fleet": lambda seed: make("fleet", seed=seed, entity=0),
    "bivariate": _bivariate,
}


def make(preset: str, *, seed: int = 0, entity: int = 0) -> SyntheticDataset:
    """Simulate a preset by name.

    Parameters
    ----------
    preset : str
        ``"plant"``, ``"clear-faults"``, ``"types"``, ``"fleet"`` or ``"bivariate"``.
    seed : int
        Of all random draws; the same seed gives the same bytes.
    entity : int
        Which plant of the fleet; the other presets have only entity 0.

    Returns
    -------
    SyntheticDataset
        See there.

    Raises
    ------
    DataError
        When the preset or the entity does not exist.

    Examples
    --------
    >>> data = make("types")
    >>> len(data.faults) == len(FAULT_KINDS)
    True
    >>> make("plan")
    Traceback (most recent call last):
    alora_ts.errors.DataError: there is no preset 'plan'; did you mean 'plant'? ...
    """
    if preset not in PRESETS:
        raise DataError(f"there is no preset {preset!r}{nearest(preset, PRESETS)}")
    if preset == "fleet" and entity >= 0:
        return _sister(seed, entity)
    if entity != 0:
        raise DataError(f"the preset {preset!r} has no entity {entity}; leave entity at 0")
    return PRESETS[preset](seed)
