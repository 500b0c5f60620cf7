"""D3R (2023): rebuild the window through noise, with drift separated.

What recurs with the time of day is taken out first, so that the drift of a window can be
distinguished from its course; then the window, drowned in noise around that drift, must be rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.d3r_network import TIME_FEATURES, D3RNetwork
from alora_ts.baselines.d3r_targets import with_stable_part, with_time
from alora_ts.baselines.detector import Capabilities
from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.parts.diffusion import signal_left
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, BestWeights, mean_loss, train
from alora_ts.baselines.windowed import Windows, plan_strided, score_positions
from alora_ts.progress import Report

__all__ = ["D3R"]

_TRAIN_SHARE = 0.8


@dataclass(kw_only=True, eq=False)
class D3R(TorchDetector[D3RNetwork]):
    """Dynamic decomposition with diffusion reconstruction (Wang et al., NeurIPS 2023).

    Parameters
    ----------
    window : int
        T. A row is scored as the last of its window.
    period : int
        Rows of the rolling median that defines drift on training rows; a third of the longest
        segment where that is less.
    width, heads, feed_forward, blocks : int
        Sizes of the network.
    dropout : float
    reach : int
        Steps to both sides among which the nearest stable value is looked for.
    noise_step : int
        How many of 1,000 diffusion steps the noise stands for.
    disturbance : float
        The largest drift added to training windows.
    learning_rate, weight_decay : float
    epochs, patience : int
        At most so many epochs, and so many without a better validation loss. The last fifth of the
        training windows validates.
    batch_size : int
    stride : int
        Rows between the ends of training windows.
    draws : int
        Draws of the noise over which a score is averaged.

    Examples
    --------
    >>> D3R().parameter_count(38)
    52241266
    """

    window: int = 64
    period: int = 1440
    width: int = 512
    heads: int = 8
    feed_forward: int = 2048
    blocks: int = 2
    dropout: float = 0.6
    reach: int = 30
    noise_step: int = field(default=500, metadata={"least": 0})
    disturbance: float = 10.0
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    epochs: int = 8
    patience: int = 3
    batch_size: int = 8
    stride: int = 1
    draws: int = 1

    capabilities: ClassVar[Capabilities] = Capabilities(needs_gpu=True)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "cpu": {
            "window": 32,
            "reach": 10,
            "width": 64,
            "heads": 4,
            "feed_forward": 128,
            "learning_rate": 1e-3,
            "batch_size": 32,
            "stride": 8,
        },
    }

    def _least_rows(self) -> int:
        # A third may go to the median's ends; two windows must be left.
        return 2 * self.window + 2

    def _build(self, variables: int) -> D3RNetwork:
        return D3RNetwork(
            variables=variables,
            window=self.window,
            width=self.width,
            heads=self.heads,
            feed_forward=self.feed_forward,
            blocks=self.blocks,
            dropout=self.dropout,
            reach=self.reach,
            signal=signal_left(self.noise_step),
        )

    def _train(self, rows: Rows, report: Report) -> D3RNetwork:
        with self._learning():
            network = self._new_network(rows)
            prepared = with_time(with_stable_part(rows, self.period))
            plan = plan_strided(prepared, self.window, self.stride)
            windows = Windows(prepared, plan, device=self._where())
            border = max(1, round(len(windows) * _TRAIN_SHARE))
            # Where gaps leave a single window, it is better to judge by it than by nothing.
            held_back = windows.subset(slice(min(border, len(windows) - 1), None))

            def loss(batch: Tensor) -> Tensor:
                return self._loss(network, batch)

            def judge() -> tuple[float]:
                return (mean_loss(network, loss, held_back, batch_size=self.batch_size),)

            best = BestWeights(network, judge, patience=self.patience)
            train(
                AdamStep(
                    network.parameters(), loss, rate=self.learning_rate, decay=self.weight_decay
                ),
                windows.subset(slice(border)),
                epochs=self.epochs,
                batch_size=self.batch_size,
                rng=self._rng(),
                report=report,
                after_epoch=best,
            )
            best.restore()
        return network

    def _loss(self, network: D3RNetwork, batch: Tensor) -> Tensor:
        variables = (batch.shape[-1] - TIME_FEATURES) // 2
        window, target = batch[..., :variables], batch[..., variables : 2 * variables]
        time = batch[..., -TIME_FEATURES:]
        drift = self.disturbance * torch.rand_like(window[:, :1])
        out = network(window, time, drift)
        stable = (out.stable - target).square().mean()
        rebuilt = (out.reconstruction - window).square().mean()
        loss: Tensor = 0.5 * stable + 0.5 * rebuilt
        return loss

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        def evaluate(batch: Tensor) -> Tensor:
            window, time = batch[..., :-TIME_FEATURES], batch[..., -TIME_FEATURES:]
            errors = torch.zeros_like(window[..., 0])
            for _ in range(self.draws):
                errors += (self.network_(window, time).reconstruction - window).square().mean(-1)
            return errors / self.draws

        plan = plan_strided(rows, self.window)
        windows = Windows(with_time(rows), plan, device=self._where())
        with self._scoring():
            return score_positions(windows, evaluate, batch_size=self.batch_size, report=report)
