"""InterFusion (2021): relations between variables and over time, each with a latent of its own.

A convolutional autoencoder sees every variable's course, a recurrent one on top of it the state of
the whole; a row is judged by its likelihood once it was hidden and filled in from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.detector import Capabilities
from alora_ts.baselines.inputs import Rows, Scaling
from alora_ts.baselines.interfusion_network import ConvolutionalVAE, InterFusionNetwork
from alora_ts.baselines.interfusion_sampling import explain, impute, log_likelihood
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, BestWeights, mean_loss, train
from alora_ts.baselines.windowed import Windows, plan_strided, score_positions
from alora_ts.progress import Report

__all__ = ["InterFusion"]

_LARGEST_GRADIENT = 10.0
_WEIGHT_PENALTY = 1e-4


@dataclass(kw_only=True, eq=False)
class InterFusion(TorchDetector[InterFusionNetwork]):
    """Hierarchical inter-metric and temporal embedding (Li et al., KDD 2021).

    Parameters
    ----------
    window : int
        T.
    convolutions : int
        Convolutions down and up again, odd.
    latent : int
        Length of the latent vector of a step, at least 2.
    width : int
        Width of the recurrent and linear layers.
    flows, flow_width : int
        Layers of the flow and their hidden width.
    learning_rate : float
        Halved after every ``halve_every`` epochs.
    pretrain_epochs, epochs : int
        Of the convolutional autoencoder alone, then of everything. All are run; each phase keeps
        the weights with the best validation loss.
    halve_every : int
    validation_share : float
        The share of the training windows, at their end, that validates.
    batch_size : int
    stride : int
        Rows between the ends of training windows.
    iterations : int
        Rounds of filling in the rows to be scored; 0 scores them as they are.
    chains : int
        Independent repetitions of the filling in.
    draws : int
        Posterior samples for a likelihood.
    score_stride : int
        Rows between the ends of scored windows; so many last rows of each are hidden and scored.

    Notes
    -----
    Per-variable scores are meant for whole anomalous segments (their largest value there). Every
    row is explained, since no labels are known, which takes up to 17 more rounds of filling in.

    Examples
    --------
    >>> InterFusion().parameter_count(38)
    1732272
    """

    window: int = 100
    convolutions: int = 5
    latent: int = field(default=3, metadata={"least": 2})
    width: int = 500
    flows: int = 20
    flow_width: int = 100
    learning_rate: float = 1e-3
    pretrain_epochs: int = 20
    epochs: int = 20
    halve_every: int = 10
    validation_share: float = 0.3
    batch_size: int = 100
    stride: int = 1
    iterations: int = field(default=10, metadata={"least": 0})
    chains: int = 10
    draws: int = 100
    score_stride: int = 1

    capabilities: ClassVar[Capabilities] = Capabilities(
        localizes=True, segment_level=True, needs_gpu=True
    )
    scaling: ClassVar[Scaling] = Scaling(bounds=(0.0, 1.0), clip=(-3.0, 3.0))
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "cpu": {
            "window": 30,
            "convolutions": 3,
            "width": 64,
            "flows": 5,
            "stride": 5,
            "iterations": 5,
            "chains": 1,
            "draws": 10,
            "score_stride": 5,
        },
    }
    datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "SWaT": {
            "window": 30,
            "convolutions": 3,
            "latent": 2,
            "learning_rate": 5e-4,
            "pretrain_epochs": 10,
            "epochs": 15,
            "halve_every": 5,
            "validation_share": 0.1,
        },
    }

    def _least_rows(self) -> int:
        # One window to learn from and one to validate by.
        return self.window + 1

    def _build(self, variables: int) -> InterFusionNetwork:
        return InterFusionNetwork(
            variables=variables,
            window=self.window,
            convolutions=self.convolutions,
            latent=self.latent,
            width=self.width,
            flows=self.flows,
            flow_width=self.flow_width,
        )

    def _train(self, rows: Rows, report: Report) -> InterFusionNetwork:
        rng = self._rng()
        with self._learning():
            network = self._new_network(rows)
            plan = plan_strided(rows, self.window, self.stride)
            windows = Windows(rows, plan, device=self._where())
            held = max(1, round(len(windows) * self.validation_share))
            border = max(1, len(windows) - held)
            shown, held_back = windows.subset(slice(border)), windows.subset(slice(border, None))
            phases: list[tuple[str, ConvolutionalVAE | InterFusionNetwork, int]] = [
                ("pre-training", network.convolutional, self.pretrain_epochs),
                ("fitting", network, self.epochs),
            ]
            for task, part, epochs in phases:
                self._learn(
                    part,
                    shown=shown,
                    held_back=held_back,
                    epochs=epochs,
                    rng=rng,
                    report=report,
                    task=task,
                )
            self._measure(network.eval(), shown)
        return network

    def _learn(
        self,
        part: ConvolutionalVAE | InterFusionNetwork,
        *,
        shown: Windows,
        held_back: Windows,
        epochs: int,
        rng: np.random.Generator,
        report: Report,
        task: str,
    ) -> None:
        def negative_bound(batch: Tensor) -> Tensor:
            bound: Tensor = part(batch).bound(batch)
            return -bound.mean()

        def loss(batch: Tensor) -> Tensor:
            squares = torch.stack([kernel.square().sum() for kernel in part.kernels()])
            return negative_bound(batch) + 0.5 * _WEIGHT_PENALTY * squares.sum()

        def judge() -> tuple[float]:
            return (mean_loss(part, negative_bound, held_back, batch_size=self.batch_size),)

        step = AdamStep(part.parameters(), loss, rate=self.learning_rate, clip=_LARGEST_GRADIENT)
        best = BestWeights(part, judge)

        def after(epoch: int) -> None:
            best(epoch)
            step.set_rate(self.learning_rate * 0.5 ** (epoch // self.halve_every))

        train(
            step,
            shown,
            epochs=epochs,
            batch_size=self.batch_size,
            rng=rng,
            report=report,
            task=task,
            after_epoch=after,
        )
        best.restore()

    @torch.no_grad()
    def _measure(self, network: InterFusionNetwork, windows: Windows) -> None:
        likely = [
            network(batch).log_likelihood(batch).sum((1, 2))
            for batch in windows.batches(self.batch_size)
        ]
        network.usual.copy_(torch.cat(likely).mean())

    def _hidden_rows(self, batch: Tensor) -> Tensor:
        hidden = torch.zeros_like(batch, dtype=torch.bool)
        hidden[:, -min(self.score_stride, self.window) :] = True
        return hidden

    def _likelihood(self, batch: Tensor) -> Tensor:
        """Log-likelihood of each cell with the last rows hidden from the encoder, (B, T, D)."""
        filled = impute(
            self.network_,
            batch,
            self._hidden_rows(batch),
            iterations=self.iterations,
            chains=self.chains,
        )
        return log_likelihood(self.network_, filled, batch, draws=self.draws)

    def _explanation(self, batch: Tensor) -> Tensor:
        """Log-likelihood of each cell once the cells to blame are replaced, (B, T, D)."""
        return explain(
            self.network_,
            batch,
            self._likelihood(batch),
            self._hidden_rows(batch),
            iterations=self.iterations,
            chains=self.chains,
        )

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        scores: NDArray[Any] = self._evaluate(rows, self._likelihood, report).sum(-1)
        return scores

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        return self._evaluate(rows, self._explanation, report)

    def _evaluate(
        self, rows: Rows, likelihood: Callable[[Tensor], Tensor], report: Report
    ) -> NDArray[Any]:
        def evaluate(batch: Tensor) -> Tensor:
            # Each batch begins with the same noise, so that how long the explanation of one takes
            # does not touch the next.
            with self._scoring():
                return -likelihood(batch)

        plan = plan_strided(rows, self.window, min(self.score_stride, self.window))
        windows = Windows(rows, plan, device=self._where())
        return score_positions(windows, evaluate, batch_size=self.batch_size, report=report)
