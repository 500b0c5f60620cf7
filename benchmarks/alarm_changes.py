"""What is said when a system changes for good: a table of docs/quality-alarms.md.

Five simulated plants, a row a minute, fitted on six days. Some days later two signals move by three
standard deviations and stay there; a third signal shows a fault for an hour one day after that and
again four days after it. In a second run the two signals return after three days: a long fault,
not a change. What counts as usual is the median of the rows seen, 10,000 at most, so it matters how
long the system had run before: two days, or eight.

    python benchmarks/alarm_changes.py --seeds 3 --days 2 8
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np

from alora_ts import ALoRa
from alora_ts.datasets.synthetic import plant_system, simulate

_DAY = 1440
_FAULTS, _LASTS, _LONG = (_DAY, 4 * _DAY), 60, 3 * _DAY
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
        Incidents in the two days after that fault.
    """

    changed: int
    others: int
    found: tuple[bool, ...]
    named: tuple[bool, ...]
    kept: float
    after: int


def look(number: int, seed: int, *, days: int) -> Seen:
    """Fit one plant, and let it change so many days later."""
    moved_at = days * _DAY
    faults = [moved_at + later for later in _FAULTS]
    system = plant_system(variation=0.12, seed=2000 + number)
    until = moved_at + 5 * _DAY
    at_random = seed * 10_007 + number
    data = simulate(system, train_rows=6 * _DAY, test_rows=until, seed=at_random)
    spread = data.train.std(0)
    first, second, third = np.random.default_rng(number).permutation(len(spread))[:3].tolist()
    model = ALoRa(seed=seed).fit(data.train, progress=False)
    moved = data.test.copy()
    moved[moved_at:, [first, second]] += _SIZE * spread[[first, second]]
    broken = moved.copy()
    for fault in faults:
        broken[fault : fault + _LASTS, third] += _FAULT_SIZE * spread[third]
    long = np.where(np.arange(len(moved))[:, None] < moved_at + _LONG, moved, data.test)
    since = [one for one in model.diagnose(broken).incidents if one.end > moved_at]
    of_faults = [[one for one in since if -20 <= one.start - fault < _LASTS] for fault in faults]
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
        kept=float(inside[moved_at : moved_at + _LONG].mean()),
        after=sum(one.start >= moved_at + _LONG for one in told),
    )


def main() -> None:
    """Print a line for each plant and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plants", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--days", type=int, nargs="+", default=[2, 8])
    given = parser.parse_args()
    print(
        "| after days | plant, seed | called changed | others | faults found | named first "
        "| three-day fault in incidents | incidents after it |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for days, number, seed in product(given.days, range(given.plants), range(given.seeds)):
        seen = look(number, seed, days=days)
        said = (
            seen.changed,
            seen.others,
            sum(seen.found),
            sum(seen.named),
            f"{seen.kept:.0%}",
            seen.after,
        )
        print(f"| {days} | {number}, {seed} |", " | ".join(map(str, said)), "|", flush=True)


if __name__ == "__main__":
    main()
