"""Held-back loss by epoch: the published training beside the shorter one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alora_ts.bench.contestant import ALORA
from alora_ts.bench.figures.style import LINES, PAGE, styled
from alora_ts.bench.figures.workshop import MissingMaterialError, Workshop
from alora_ts.bench.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HeldBack", "Training", "draw", "measure"]

_PLAN = "published"
_LOSS = "held_back_loss_"


@dataclass(frozen=True)
class Training:
    """One training.

    Attributes
    ----------
    label, place : str
    loss : ndarray of shape (epochs,)
        On the rows held back, after each epoch.
    best : int
        The epoch whose weights were kept, from 1.
    windows : int
        Seen in training, repetitions included.
    stopped : bool
        Whether early stopping ended it.
    """

    label: str
    place: str
    loss: NDArray[np.float64]
    best: int
    windows: int
    stopped: bool


@dataclass(frozen=True)
class HeldBack:
    """All trainings of the plan "published", in the order of their names."""

    trainings: tuple[Training, ...]

    @property
    def caption(self) -> str:
        """What was found."""
        said = [
            "Loss on held-back training rows after each epoch, against the windows seen, with the "
            "weight of the penalty that each was trained with; the point is the epoch whose "
            "weights were kept."
        ]
        for one in self.trainings:
            end = "early stopping ended it" if one.stopped else "it ran to its last epoch"
            said.append(
                f"{one.label} on {one.place}: {len(one.loss)} epochs, {one.windows:,} windows, "
                f"best at {one.best} ({one.loss[one.best - 1]:.3g}); {end}."
            )
        return " ".join(said)


def measure(workshop: Workshop) -> HeldBack:
    """Read the losses that records of the plan keep.

    Raises
    ------
    MissingMaterialError
        When there are none.
    """
    found = [
        _training(result.record)
        for result in workshop.results
        if result.record.plan == _PLAN and result.record.method == ALORA
    ]
    if not found:
        raise MissingMaterialError(
            f"needs results of the plan {_PLAN!r}; make them with `alora-ts bench run {_PLAN}` and "
            "name their folder"
        )
    return HeldBack(tuple(sorted(found, key=lambda one: (one.place, one.label))))


def _training(record: Record) -> Training:
    epochs = sum(name.startswith(_LOSS) for name in record.facts)
    return Training(
        label=record.label,
        place=record.place,
        loss=np.array([record.facts[f"{_LOSS}{epoch}"] for epoch in range(1, epochs + 1)]),
        best=int(record.facts["epochs"]),
        windows=int(record.facts["windows"]),
        stopped=bool(record.facts["stopped_early"]),
    )


@styled
def draw(material: HeldBack) -> Figure:
    """Draw a panel for each entity and a line for each training."""
    from matplotlib.figure import Figure

    places = list(dict.fromkeys(one.place for one in material.trainings))
    labels = list(dict.fromkeys(one.label for one in material.trainings))
    figure = Figure(figsize=(PAGE, 2.4))
    panels = figure.subplots(1, len(places), squeeze=False)[0]
    for axes, place in zip(panels, places, strict=True):
        for one in material.trainings:
            if one.place == place:
                colour, _ = LINES[labels.index(one.label) % len(LINES)]
                seen = one.windows * np.arange(1, len(one.loss) + 1) / len(one.loss)
                axes.plot(seen, one.loss, color=colour, linewidth=1.0, label=one.label)
                axes.plot(seen[one.best - 1], one.loss[one.best - 1], "o", color=colour)
        axes.set(title=place, xlabel="windows seen", xscale="log", yscale="log")
    panels[0].set_ylabel("held-back loss")
    panels[0].legend()
    return figure
