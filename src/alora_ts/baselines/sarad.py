"""SARAD (2024): when variables stop attending to each other as they did.

A transformer whose tokens are variables reconstructs the window; a small autoencoder learns which
losses of attention from the window's first half to its second are usual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.detector import Capabilities
from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.sarad_network import SaradNetwork
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, train
from alora_ts.baselines.windowed import Windows, plan_padded, score_ends
from alora_ts.progress import Report

__all__ = ["SARAD"]

_VALIDATION_SHARE = 0.2
# Constant channels are reconstructed without error; dividing by their spread must stay possible.
_LEAST_SPREAD = 1e-8


@dataclass(kw_only=True, eq=False)
class SARAD(TorchDetector[SaradNetwork]):
    """Spatial association-aware detection and diagnosis (Dai et al., NeurIPS 2024).

    Parameters
    ----------
    window : int
        T, even. A window ends at every row; before a segment's start its first row is repeated.
    width, layers, heads, feed_forward, descent_width : int
        Sizes of the network; see :class:`~alora_ts.baselines.sarad_network.SaradNetwork`.
    dropout : float
    descent_weight : float
        λ, the weight of the association descent's loss.
    learning_rate : float
        Halved after each epoch.
    epochs, batch_size : int
    train_share : float
        The share of the training windows, drawn at random, that is shown.
    validation : {"tail", "train"}
        From which windows the usual errors are measured: the last fifth, held back from training,
        or a random fifth of all windows.
    localization : {"full", "error"}
        Rank variables by errors of reconstruction and association together, or by the
        reconstruction alone.

    Notes
    -----
    Errors are means over the whole window, so an anomaly keeps the score high until it has left
    the window.

    Examples
    --------
    >>> SARAD().parameter_count(38)
    9568674
    """

    window: int = 100
    width: int = 512
    layers: int = 3
    heads: int = 8
    feed_forward: int = 2048
    descent_width: int = 64
    dropout: float = 0.1
    descent_weight: float = 100.0
    learning_rate: float = 3e-4
    epochs: int = 3
    batch_size: int = 128
    train_share: float = 1.0
    validation: Literal["tail", "train"] = "tail"
    localization: Literal["full", "error"] = "full"

    capabilities: ClassVar[Capabilities] = Capabilities(localizes=True)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "cpu": {
            "window": 20,
            "width": 64,
            "layers": 2,
            "feed_forward": 128,
            "learning_rate": 7e-4,
        },
    }
    datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "SMD": {"learning_rate": 7e-4, "validation": "train"},
        "PSM": {"learning_rate": 3e-4, "layers": 5},
        "SWaT": {"learning_rate": 1e-4},
        "HAI": {
            "learning_rate": 2e-4,
            "layers": 5,
            "descent_weight": 0.8,
            "train_share": 0.5,
            "validation": "train",
        },
    }

    def _least_rows(self) -> int:
        return self.window

    def _build(self, variables: int) -> SaradNetwork:
        return SaradNetwork(
            variables=variables,
            window=self.window,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            feed_forward=self.feed_forward,
            descent_width=self.descent_width,
            dropout=self.dropout,
        )

    def _train(self, rows: Rows, report: Report) -> SaradNetwork:
        rng = self._rng()
        with self._learning():
            network = self._new_network(rows)
            shown, held_back = self._split(self._windows(rows), rng)
            step = AdamStep(
                network.parameters(),
                lambda batch: self._loss(network, batch),
                rate=self.learning_rate,
            )

            def halve(epoch: int) -> None:
                step.set_rate(self.learning_rate * 0.5**epoch)

            train(
                step,
                shown,
                epochs=self.epochs,
                batch_size=self.batch_size,
                rng=rng,
                report=report,
                after_epoch=halve,
            )
            self._measure(network.eval(), held_back)
        return network

    def _windows(self, rows: Rows) -> Windows:
        return Windows(rows, plan_padded(rows, self.window), device=self._where())

    def _split(self, windows: Windows, rng: np.random.Generator) -> tuple[Windows, Windows]:
        """Choose the windows to learn from and those that show the usual errors."""
        count = len(windows)
        held = max(1, round(count * _VALIDATION_SHARE))
        if self.validation == "tail":
            candidates, judged = np.arange(count - held), np.arange(count - held, count)
        else:
            candidates, judged = np.arange(count), np.sort(rng.permutation(count)[:held])
        few = max(1, round(len(candidates) * self.train_share))
        chosen = np.sort(rng.permutation(candidates)[:few])
        return windows.subset(chosen), windows.subset(judged)

    def _loss(self, network: SaradNetwork, batch: Tensor) -> Tensor:
        out = network(batch)
        series = (out.reconstruction - batch).square().mean()
        descent = (out.expected_descent - out.descent).square().mean()
        loss: Tensor = series + self.descent_weight * descent
        return loss

    @torch.no_grad()
    def _measure(self, network: SaradNetwork, windows: Windows) -> None:
        errors = torch.cat(
            [network(batch).errors(batch).double() for batch in windows.batches(self.batch_size)]
        )
        network.usual.copy_(errors.mean(0))
        network.spread.copy_(errors.std(0, correction=0).clamp_min(_LEAST_SPREAD))

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        network = self.network_

        def evaluate(batch: Tensor) -> Tensor:
            errors: Tensor = network(batch).errors(batch)[..., -1]  # (B, 2)
            return ((errors - network.usual[:, -1]) / network.spread[:, -1]).sum(1)

        with self._scoring():
            return score_ends(
                self._windows(rows), evaluate, batch_size=self.batch_size, report=report
            )

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        network = self.network_

        def evaluate(batch: Tensor) -> Tensor:
            errors: Tensor = network(batch).errors(batch)[..., :-1]  # (B, 2, D)
            if self.localization == "error":
                return errors[:, 0]
            return ((errors - network.usual[:, :-1]) / network.spread[:, :-1]).mean(1)

        with self._scoring():
            return score_ends(
                self._windows(rows), evaluate, batch_size=self.batch_size, report=report
            )
