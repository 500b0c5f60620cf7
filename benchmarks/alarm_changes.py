"""What is said when a system changes for good: a table of docs/quality-alarms.md.

Five simulated plants, a row a minute, fitted on six days. Two days later two signals move by three
standard deviations and stay there; a third signal shows a fault for an hour one day after that and
again four days after it. In a second run the two signals return after three days: a long fault,
not a change.

    python benchmarks/alarm_changes.py --seeds 3
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from alora_ts import ALoRa
from alora_ts.datasets.synthetic import plant_system, simulate

_DAY = 1440
_MOVED, _FAULTS, _LASTS = 2 * _DAY, (3 * _DAY, 6 * _DAY), 60
_SIZE, _FAULT_SIZE = 3.0, 8.0


@dataclass(frozen=True)
class Seen:
    """What one plant showed.

    Attributes
    ----------
    changed, others : int
        Incidents since the change that are called one, and the rest but for the faults'.
    found, named : tuple of bool
        Of each fault: whether an incident began with it, and whether that names its signal first.
    kept : float
        Share of the three-day fault's rows that are in an incident.
    after : int
        Incidents in the four days after that fault.
    """

    changed: int
    others: int
    found: tuple[bool, ...]
    named: tuple[bool, ...]
    kept: float
    after: int


def look(number: int, seed: int) -> Seen:
    """Fit one plant, and let it change."""
    system = plant_system(variation=0.12, seed=2000 + number)
    data = simulate(system, train_rows=6 * _DAY, test_rows=7 * _DAY, seed=seed * 10_007 + number)
    spread = data.train.std(0)
    first, second, third = np.random.default_rng(number).permutation(len(spread))[:3].tolist()
    model = ALoRa(seed=seed).fit(data.train, progress=False)
    moved = data.test.copy()
    moved[_MOVED:, [first, second]] += _SIZE * spread[[first, second]]
    broken = moved.copy()
    for fault in _FAULTS:
        broken[fault : fault + _LASTS, third] += _FAULT_SIZE * spread[third]
    long = np.where(np.arange(len(moved))[:, None] < _MOVED + 3 * _DAY, moved, data.test)
    since = [one for one in model.diagnose(broken).incidents if one.end > _MOVED]
    of_faults = [[one for one in since if -20 <= one.start - fault < _LASTS] for fault in _FAULTS]
    name = f"x{third}"
    inside = np.zeros(len(moved), dtype=bool)
    told = model.diagnose(long).incidents
    for one in told:
        inside[one.start : one.end] = True
    return Seen(
        changed=sum(bool(one.changed) for one in since),
        others=sum(not one.changed for one in since) - sum(map(len, of_faults)),
        found=tuple(map(bool, of_faults)),
        named=tuple(bool(own) and own[0].culprits[0].variable == name for own in of_faults),
        kept=float(inside[_MOVED : _MOVED + 3 * _DAY].mean()),
        after=sum(one.start >= _MOVED + 3 * _DAY for one in told),
    )


def main() -> None:
    """Print a line for each plant and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plants", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print(
        "| plant, seed | called changed | others | faults found | named first "
        "| three-day fault in incidents | incidents after it |"
    )
    print("|---|---|---|---|---|---|---|")
    for number in range(given.plants):
        for seed in range(given.seeds):
            seen = look(number, seed)
            said = (
                seen.changed,
                seen.others,
                sum(seen.found),
                sum(seen.named),
                f"{seen.kept:.0%}",
                seen.after,
            )
            print(f"| {number}, {seed} |", " | ".join(map(str, said)), "|", flush=True)


if __name__ == "__main__":
    main()
