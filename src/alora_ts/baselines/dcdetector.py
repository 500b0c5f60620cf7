"""DCdetector (2023): two attentions of the same window that agree where it is normal.

One attends among patches, the other inside them; nothing is reconstructed. How far they are apart
at a step, against the other steps of its window, is the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.dcdetector_network import (
    AssociationPair,
    DCdetectorNetwork,
    discrepancy,
)
from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.parts.divergence import symmetric_kl
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, train
from alora_ts.baselines.windowed import Windows, plan_strided, score_positions
from alora_ts.progress import Report

__all__ = ["ContrastLoss", "DCdetector", "contrast"]

ContrastLoss = Literal["official", "sum"]

_TEMPERATURE = 50.0


def contrast(pairs: tuple[AssociationPair, ...], *, form: ContrastLoss) -> Tensor:
    """Loss of a batch of association pairs.

    Parameters
    ----------
    pairs : tuple of AssociationPair
    form : {"official", "sum"}
        "official" is the published program's difference of two terms that are equal in value and
        differ in which side the gradient is stopped on: always 0, it pulls the prior to the series
        and pushes the series away. "sum" adds them, as the paper's first version was written.

    Examples
    --------
    >>> even = torch.full((1, 1, 2, 2), 0.5)
    >>> contrast((AssociationPair(even, even),), form="sum")
    tensor(0.)
    """
    to_prior = [symmetric_kl(p.series, p.normalised_prior().detach()).mean() for p in pairs]
    to_series = [symmetric_kl(p.normalised_prior(), p.series.detach()).mean() for p in pairs]
    series, prior = torch.stack(to_prior).mean(), torch.stack(to_series).mean()
    return prior - series if form == "official" else prior + series


@dataclass(kw_only=True, eq=False)
class DCdetector(TorchDetector[DCdetectorNetwork]):
    """Dual attention contrastive representation learning (Yang et al., KDD 2023).

    Parameters
    ----------
    window : int
        T. Scored windows do not overlap, except the last of a segment.
    patch_sizes : tuple of int
        Each must divide the window.
    width, layers : int
        Sizes of the network.
    loss : {"official", "sum"}
        See :func:`contrast`.
    sign : {"minus", "plus"}
        Whether a step whose associations agree ("minus", as published) or disagree ("plus")
        scores high.
    learning_rate : float
        Halved after each epoch from the second on.
    epochs, batch_size : int
    stride : int
        Rows between the ends of training windows.

    Notes
    -----
    A window's scores are a softmax over its steps and sum to 1: they compare the steps of one
    window with each other, not one window with the next.

    Examples
    --------
    >>> DCdetector().parameter_count(38)
    431616
    """

    window: int = 105
    patch_sizes: tuple[int, ...] = (5, 7)
    width: int = 256
    layers: int = 3
    loss: ContrastLoss = "official"
    sign: Literal["minus", "plus"] = "minus"
    learning_rate: float = 1e-4
    epochs: int = 2
    batch_size: int = 256
    stride: int = 1

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "cpu": {"width": 64, "stride": 10, "batch_size": 64},
    }
    datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "SMD": {},
        "MSL": {"window": 90, "patch_sizes": (3, 5), "batch_size": 64, "epochs": 3},
        "PSM": {"window": 60, "patch_sizes": (1, 3, 5), "epochs": 3},
        "SWaT": {"patch_sizes": (3, 5, 7), "batch_size": 128, "epochs": 3},
        "HAI": {"patch_sizes": (3, 5, 7), "batch_size": 128, "epochs": 3},
        "MSDS": {"patch_sizes": (3, 5, 7), "batch_size": 128, "epochs": 3},
    }

    def _least_rows(self) -> int:
        return self.window

    def _build(self, variables: int) -> DCdetectorNetwork:
        del variables  # every variable passes through the same weights
        return DCdetectorNetwork(
            window=self.window,
            patch_sizes=self.patch_sizes,
            width=self.width,
            layers=self.layers,
        )

    def _train(self, rows: Rows, report: Report) -> DCdetectorNetwork:
        with self._learning():
            network = self._new_network(rows)
            step = AdamStep(
                network.parameters(),
                lambda batch: contrast(network(batch), form=self.loss),
                rate=self.learning_rate,
            )

            def halve(epoch: int) -> None:
                step.set_rate(self.learning_rate * 0.5 ** (epoch - 1))

            train(
                step,
                Windows(rows, plan_strided(rows, self.window, self.stride), device=self._where()),
                epochs=self.epochs,
                batch_size=self.batch_size,
                rng=self._rng(),
                report=report,
                after_epoch=halve,
            )
        return network

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        factor = _TEMPERATURE if self.sign == "plus" else -_TEMPERATURE

        def evaluate(batch: Tensor) -> Tensor:
            return (factor * discrepancy(self.network_(batch))).softmax(-1)

        plan = plan_strided(rows, self.window, self.window)
        windows = Windows(rows, plan, device=self._where())
        with self._scoring():
            return score_positions(windows, evaluate, batch_size=self.batch_size, report=report)
