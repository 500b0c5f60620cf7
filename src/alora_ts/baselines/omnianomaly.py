"""OmniAnomaly (2019): how unlikely a row is to a recurrent variational autoencoder.

Stochastic latent vectors that depend on each other over time, made more than Gaussian by a planar
flow, describe a window; a row that cannot be rebuilt from them is improbable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from alora_ts.baselines.detector import Capabilities
from alora_ts.baselines.inputs import Rows, Scaling
from alora_ts.baselines.omnianomaly_network import (
    OmniAnomalyNetwork,
    OmniOutput,
    random_walk_log_prob,
)
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, BestWeights, mean_loss, train
from alora_ts.baselines.windowed import Windows, plan_strided, score_positions
from alora_ts.progress import Report

__all__ = ["OmniAnomaly"]

_VALIDATION_SHARE = 0.3
_LARGEST_GRADIENT = 10.0
_TRUNCATION = 2.0


@dataclass(kw_only=True, eq=False)
class OmniAnomaly(TorchDetector[OmniAnomalyNetwork]):
    """Stochastic recurrent network for multivariate series (Su et al., KDD 2019).

    Parameters
    ----------
    window : int
        T. A row is scored as the last of its window.
    latent : int
        Length of the latent vector of a step.
    width : int
        Width of the recurrent and linear layers.
    flows : int
        Number of planar layers.
    variant : {"elbo", "official"}
        "elbo" trains all weights on the whole bound, as the paper has it. "official" does what
        the published program does: the encoder keeps its random weights, the prior is missing
        from the loss, and all windows of a batch share one noise, truncated at two standard
        deviations.
    learning_rate : float
    epochs, batch_size : int
        All epochs are run; the weights with the best validation loss are kept. The last 30 % of
        the training windows validate.
    stride : int
        Rows between the ends of training windows.

    Notes
    -----
    Scores come from one posterior sample, drawn by the seed.

    Examples
    --------
    >>> OmniAnomaly().parameter_count(38)
    2610740
    """

    window: int = 100
    latent: int = 3
    width: int = 500
    flows: int = 20
    variant: Literal["elbo", "official"] = "elbo"
    learning_rate: float = 1e-3
    epochs: int = 10
    batch_size: int = 50
    stride: int = 1

    capabilities: ClassVar[Capabilities] = Capabilities(localizes=True)
    scaling: ClassVar[Scaling] = Scaling(bounds=(0.0, 1.0))
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "official": {"variant": "official"},
        "cpu": {"width": 128, "stride": 10},
    }

    def _least_rows(self) -> int:
        # One window to learn from and one to validate by.
        return self.window + 1

    def _build(self, variables: int) -> OmniAnomalyNetwork:
        return OmniAnomalyNetwork(
            variables=variables, latent=self.latent, width=self.width, flows=self.flows
        )

    def _train(self, rows: Rows, report: Report) -> OmniAnomalyNetwork:
        with self._learning():
            network = self._new_network(rows)
            if self.variant == "official":
                network.encoder.requires_grad_(requires_grad=False)
            plan = plan_strided(rows, self.window, self.stride)
            windows = Windows(rows, plan, device=self._where())
            border = len(windows) - max(1, round(len(windows) * _VALIDATION_SHARE))
            held_back = windows.subset(slice(border, None))

            def loss(batch: Tensor) -> Tensor:
                return self._loss(self._pass(network, batch), batch)

            def judge() -> tuple[float]:
                return (mean_loss(network, loss, held_back, batch_size=self.batch_size),)

            learned = [p for p in network.parameters() if p.requires_grad]
            best = BestWeights(network, judge)
            train(
                AdamStep(learned, loss, rate=self.learning_rate, clip=_LARGEST_GRADIENT),
                windows.subset(slice(border)),
                epochs=self.epochs,
                batch_size=self.batch_size,
                rng=self._rng(),
                report=report,
                after_epoch=best,
            )
            best.restore()
        return network

    def _pass(self, network: OmniAnomalyNetwork, batch: Tensor) -> OmniOutput:
        """Send a batch through with the variant's kind of noise."""
        count, steps, _ = batch.shape
        if self.variant == "official":
            noise = torch.empty(1, steps, self.latent, device=batch.device)
            nn.init.trunc_normal_(noise, a=-_TRUNCATION, b=_TRUNCATION)
            noise = noise.expand(count, -1, -1)
        else:
            noise = torch.randn(count, steps, self.latent, device=batch.device)
        output: OmniOutput = network(batch, noise)
        return output

    def _loss(self, output: OmniOutput, batch: Tensor) -> Tensor:
        bound = output.log_likelihood(batch).sum(-1) - output.log_posterior  # (B, T)
        if self.variant == "elbo":
            bound = bound + random_walk_log_prob(output.z)
        return -bound.mean()

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        summed: NDArray[Any] = self._unlikelihood(rows, report).sum(-1)
        return summed

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        return self._unlikelihood(rows, report)

    def _unlikelihood(self, rows: Rows, report: Report) -> NDArray[Any]:
        """Negative log-likelihood of each cell, (M, d)."""

        def evaluate(batch: Tensor) -> Tensor:
            return -self._pass(self.network_, batch).log_likelihood(batch)

        windows = Windows(rows, plan_strided(rows, self.window), device=self._where())
        with self._scoring():
            return score_positions(windows, evaluate, batch_size=self.batch_size, report=report)
