"""Best affiliation F1 against the window size T."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.figures.style import COLUMN, LINES, styled
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BEST", "WindowSizes", "draw", "measure"]

BEST = "best threshold / affiliation F1"


@dataclass(frozen=True)
class WindowSizes:
    """F1 of each window size, entity and seed.

    Attributes
    ----------
    windows : tuple of int
        T, ascending.
    values : dict of str to ndarray of shape (entities, seeds, windows)
        By dataset; only runs that exist for every window.
    """

    windows: tuple[int, ...]
    values: dict[str, NDArray[np.float64]]

    @property
    def repeated(self) -> bool:
        """Whether any dataset has results of several seeds."""
        return any(values.shape[1] > 1 for values in self.values.values())

    @property
    def caption(self) -> str:
        """What was found."""
        said = [
            "Best affiliation F1 against the window size T: the threshold is the best one on the "
            "test labels, so this is not a validation score (the paper's axis says validation F1, "
            "but labels exist in the test part only). Mean over entities"
            + ("; bars: standard deviation over seeds." if self.repeated else ".")
        ]
        for name, values in self.values.items():
            mean = values.mean((0, 1))
            said.append(
                f"{name} ({_count(values.shape[0], 'entity', 'entities')}, "
                f"{_count(values.shape[1], 'seed', 'seeds')}): "
                + ", ".join(f"{t}: {f1:.3f}" for t, f1 in zip(self.windows, mean, strict=True))
                + "."
            )
        return " ".join(said)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def measure(workshop: Workshop) -> WindowSizes:
    """Read the study "window".

    Raises
    ------
    MissingMaterialError
        When fewer than two windows have results for a common entity and seed.
    """
    found: dict[str, dict[tuple[str | None, int], dict[int, float]]] = {}
    for case, results in workshop.runs_of_study("window").items():
        if not case.isdigit():
            continue
        for result in results:
            record = result.record
            f1 = record.detection[BEST].value if BEST in record.detection else None
            if f1 is not None:
                runs = found.setdefault(record.dataset, {})
                runs.setdefault((record.entity, record.seed), {})[int(case)] = f1
    sizes = {t for runs in found.values() for by_window in runs.values() for t in by_window}
    windows = tuple(sorted(sizes))
    values = {}
    for dataset, runs in found.items():
        whole = {key: by_window for key, by_window in runs.items() if set(by_window) == sizes}
        entities = sorted({entity or "" for entity, _ in whole})
        seeds = sorted({seed for _, seed in whole})
        # Only seeds that every entity has, so that each mean is over the same runs.
        common = [s for s in seeds if all((e or None, s) in whole for e in entities)]
        if common:
            values[dataset] = np.array(
                [[[whole[e or None, s][t] for t in windows] for s in common] for e in entities]
            )
    if len(windows) < 2 or not values:
        raise MissingMaterialError(
            "needs runs of at least two window sizes on the same entity and seed; "
            "let `alora-ts bench run ablation` finish"
        )
    return WindowSizes(windows, values)


@styled
def draw(material: WindowSizes) -> Figure:
    """Draw one line per dataset; window sizes are evenly spaced."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(COLUMN, 2.3))
    axes = figure.subplots()
    places = np.arange(len(material.windows))
    lowest = 1.0
    for at, (name, values) in enumerate(material.values.items()):
        colour, mark = LINES[at % len(LINES)]
        by_seed = values.mean(0)
        spread = by_seed.std(0, ddof=1) if len(by_seed) > 1 else np.zeros(len(places))
        error = spread if material.repeated else None
        axes.errorbar(
            places, by_seed.mean(0), error, color=colour, marker=mark, capsize=2, label=name
        )
        lowest = min(lowest, float((by_seed.mean(0) - spread).min()))
    axes.set_xticks(places, [str(window) for window in material.windows])
    axes.set(xlabel="window size T", ylabel="best affiliation F1\n(threshold from test labels)")
    axes.set_ylim(max(0.0, np.floor(lowest * 10) / 10 - 0.1), 1.0)
    axes.legend(loc="lower right", ncols=2)
    return figure
