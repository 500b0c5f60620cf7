"""What ranks the signals that a fault has reached, row by row.

    ALORA_TS_DATA=… python -m benchmarks.affected_forms       # results/affected-forms.md
    ALORA_TS_DATA=… python -m benchmarks.affected_forms --pairs 512 --only SMD

HR@100 on SMD, ASD and simulated systems, from one fit of each entity with the default settings.
At the end each family is left out, a form is chosen by the mean of the others, and what it does on
the one left out is shown.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from benchmarks.origin_systems import FAMILIES, record
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.data import as_table
from alora_ts.datasets import load
from alora_ts.datasets.synthetic_dataset import simulate
from alora_ts.datasets.synthetic_plant import plant_system
from alora_ts.datasets.synthetic_stream import random_faults
from alora_ts.diagnosis import localize
from alora_ts.metrics import hit_rate
from alora_ts.model.examine import Examined, examine
from alora_ts.model.surprise import surprises
from alora_ts.scoring.rules import causal_mean, memory_segments

Array = NDArray[np.float64]
Table = NDArray[np.floating]
Form = Callable[["Seen"], Array]

OUT = Path("results/affected-forms.md")
SYSTEMS, SEED = 4, 3000
DEFAULT = "error + surprise + deviation"


@dataclass
class Seen:
    """One entity: what a fitted model says of its rows, and which signals were affected."""

    family: str
    entity: str
    examined: Examined
    truth: NDArray[np.bool_]

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Where some signal is affected."""
        return np.flatnonzero(self.truth.any(1))

    @cached_property
    def c(self) -> Array:
        """C."""
        return self.examined.model.contributions

    def mean(self, blame: Array, memory: int = 10) -> Array:
        """Of the last rows, at the rows that are judged."""
        segments = memory_segments(self.examined.segments, self.examined.evidence.warm_up)
        return causal_mean(blame, memory, segments)[self.examined.prepared.rows][self.rows]

    @cached_property
    def error(self) -> Array:
        """Of the network, squared, in multiples of normal."""
        seen = self.examined
        return seen.model.calibration.rule.blame(seen.values - seen.evidence.expected)

    @cached_property
    def surprise(self) -> Array:
        """One-step surprise, likewise."""
        seen = self.examined
        found = surprises(seen.model, seen.values, seen.evidence.warm_up)
        assert found is not None
        assert seen.model.mechanisms is not None
        return seen.model.calibration.rule.blame(found, np.square(seen.model.mechanisms.size))

    @cached_property
    def deviation(self) -> Array:
        """From the usual level, likewise."""
        seen, usual = self.examined, self.examined.model.judge.usual
        away = seen.values - usual.centre
        return seen.model.calibration.rule.blame(away, np.square(usual.scale))

    @cached_property
    def implied(self) -> Array:
        """From what the other signals imply, likewise: what explains an incident."""
        seen = self.examined
        model, nobody = seen.model, np.zeros(self.c.shape[0], dtype=bool)
        usual, values = model.judge.usual, seen.values.astype(np.float64)
        expected, size = usual.implied(values, nobody, limit=model.input_limit)
        return model.calibration.rule.blame(values - expected, np.square(size))

    @cached_property
    def every(self) -> Array:
        """The default's three together."""
        return self.error + self.surprise + self.deviation

    @property
    def apart(self) -> Array:
        """The means of each of the three, (3, n, d)."""
        return np.stack([self.mean(one) for one in (self.error, self.surprise, self.deviation)])


def shares(scores: Array) -> Array:
    """Of a row's sum."""
    total = scores.sum(1, keepdims=True)
    return scores / np.where(total > 0, total, np.inf)


def _every(memory: int) -> Form:
    return lambda seen: seen.mean(seen.every, memory)


FORMS: dict[str, Form] = {
    "blend (default before)": lambda s: localize(s.mean(s.error), s.c, form="blend"),
    "error": lambda s: s.mean(s.error),
    "absolute: errors through C": lambda s: localize(s.mean(s.error), s.c, form="absolute"),
    "squared input, 1 row": lambda s: s.mean(np.square(s.examined.values, dtype=float), 1),
    "squared input": lambda s: s.mean(np.square(s.examined.values, dtype=float)),
    "deviation": lambda s: s.mean(s.deviation),
    "surprise": lambda s: s.mean(s.surprise),
    "deviation from what the others imply": lambda s: s.mean(s.implied),
    "error + surprise": lambda s: s.mean(s.error + s.surprise),
    "error + deviation": lambda s: s.mean(s.error + s.deviation),
    "surprise + deviation": lambda s: s.mean(s.surprise + s.deviation),
    DEFAULT: _every(10),
    "the three, 5 rows": _every(5),
    "the three, 20 rows": _every(20),
    "the three, 30 rows": _every(30),
    "the three, error twice": lambda s: s.mean(s.every + s.error),
    "the three, surprise twice": lambda s: s.mean(s.every + s.surprise),
    "the three, deviation twice": lambda s: s.mean(s.every + s.deviation),
    "the three and what the others imply": lambda s: s.mean(s.every + s.implied),
    "the three through C": lambda s: localize(s.mean(s.every), s.c, form="absolute"),
    "the three, blended with C": lambda s: localize(s.mean(s.every), s.c, form="blend"),
    "the three's shares": lambda s: np.sum([shares(one) for one in s.apart], axis=0),
    "the three's logarithms": lambda s: np.log1p(s.apart).sum(0),
    "the largest of the three": lambda s: s.apart.max(0),
}


def entities(root: Path) -> Iterator[tuple[str, str, Table, Table, NDArray[np.bool_]]]:
    """Family, name, train, test and truth of each."""
    for dataset, names in (
        ("SMD", [f"machine-1-{number}" for number in range(2, 9)]),
        ("ASD", [f"omi-{number}" for number in range(1, 7)]),
    ):
        for name in names:
            data = load(dataset, root, name)
            yield dataset, name, data.train, data.test, data.truth()
    for number in range(SEED, SEED + SYSTEMS):
        for family in FAMILIES:
            made = record(family, number)
            yield family, str(number), made.train, made.test, made.affected
        plant = plant_system(variation=0.3, seed=number)
        faults = random_faults(plant, rows=4000, count=10, seed=number)
        run = simulate(plant, faults, train_rows=4000, test_rows=4000, seed=number)
        yield "plants", str(number), run.train, run.test, run.affected


def look(
    family: str, entity: str, train: Table, test: Table, truth: NDArray[np.bool_], *, pairs: int
) -> Seen:
    """Fit a model and let it look at the test rows."""
    model = ALoRa(threads=1, pairs=pairs).fit(train, progress=False).model_
    prepared, values, borders = model.prepare(as_table(test), None)
    seen = examine(model, prepared, values, borders, report=lambda _: None)
    return Seen(family, entity, seen, truth)


def outside(families: dict[str, list[tuple[int, float]]]) -> str:
    """How many signals are in no pair, and what they are of all that is affected."""
    lines = ["| data | signals in no pair | of what is affected |", "|---|---|---|"]
    for family, found in families.items():
        alone, part = np.array(found).T
        lines.append(f"| {family} | {alone.mean():.1f} | {100 * part.mean():.0f} % |")
    return "\n".join(lines)


def left_out(scores: dict[str, dict[str, float]]) -> str:
    """Choose a form without each family, and see what it does there."""
    lines = ["| left out | chosen on the others | HR@100 | before |", "|---|---|---|---|"]
    families = list(next(iter(scores.values())))
    for family in families:
        others = [one for one in families if one != family]
        best = max(scores, key=lambda form: np.mean([scores[form][one] for one in others]))
        before = next(iter(scores.values()))[family]
        lines.append(f"| {family} | {best} | {scores[best][family]:.3f} | {before:.3f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure; write the page where all was measured with the default settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    usual = ALoRa().pairs
    parser.add_argument("--pairs", type=int, default=usual, help="K of the network")
    parser.add_argument("--only", help="one family")
    args = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {form: {} for form in FORMS}
    alone: dict[str, list[tuple[int, float]]] = {}
    for one in entities(Path(os.environ["ALORA_TS_DATA"])):
        if args.only not in (None, one[0]):
            continue
        seen = look(*one, pairs=args.pairs)
        truth = seen.truth[seen.rows]
        for form, score in FORMS.items():
            found[form].setdefault(seen.family, []).append(hit_rate(truth, score(seen)))
        silent = ~seen.c.any(1)
        alone.setdefault(seen.family, []).append(
            (int(silent.sum()), float(truth[:, silent].sum() / truth.sum()))
        )
        print(seen.family, seen.entity, f"{found[DEFAULT][seen.family][-1]:.3f}", flush=True)
    means = {
        form: {family: float(np.mean(rates)) for family, rates in by.items()}
        for form, by in found.items()
    }
    families = list(alone)
    lines = [f"| form | {' | '.join(families)} |", f"|{'---|' * (len(families) + 1)}"]
    for form, by in means.items():
        named = f"**{form}** (default)" if form == DEFAULT else form
        lines.append(f"| {named} | {' | '.join(f'{by[one]:.3f}' for one in families)} |")
    told = "`ALORA_TS_DATA=… python -m benchmarks.affected_forms`"
    page = [
        "# Which signals are affected: forms of localization by row",
        f"HR@100, mean over entities; means over 10 rows unless said. {told}",
        "\n".join(lines),
        "## A family left out",
        left_out(means) if len(families) > 1 else "–",
        "## Signals that no pair of the network holds",
        outside(alone),
    ]
    if args.only is None and args.pairs == usual:
        OUT.write_text("\n\n".join(page) + "\n")
    print("\n\n".join(page))


if __name__ == "__main__":
    main()
