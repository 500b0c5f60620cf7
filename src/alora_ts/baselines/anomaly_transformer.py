"""Anomaly Transformer (ICLR 2022): anomalies attend to their neighbours only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.anomaly_transformer_network import AnomalyTransformerNetwork, Associations
from alora_ts.baselines.detector import Presets
from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.parameters import check_multiple
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, BestWeights, Loss, mean_loss, train
from alora_ts.baselines.windowed import Windows, log_product, plan_strided, score_positions
from alora_ts.progress import Report

__all__ = ["AnomalyTransformer"]

_SCORED_AT_ONCE = 64


@dataclass(kw_only=True, eq=False)
class AnomalyTransformer(TorchDetector[AnomalyTransformerNetwork]):
    """Reconstruction error, weighted by how alike attention and a local prior are.

    Parameters
    ----------
    window : int
        T; scoring windows do not overlap, the last one of a segment ends at its last row.
    stride : int
        Rows between training windows.
    width, heads, layers : int
        Size of the transformer.
    discrepancy_weight : float
        k, the weight of the divergences in the loss.
    temperature : float
        How sharply the divergence turns into weights over the window.
    epochs, batch_size, learning_rate, patience
        Training. The rate halves after each epoch from the second on; training stops when for
        ``patience`` epochs not both losses on the last fifth of the training rows improve.

    Notes
    -----
    The published code chooses its epoch on the test data; here the end of the training rows serves.
    The weights of a window sum to 1, so that only the place *inside* a window and the error count.
    The score is the logarithm of weight times error: the product itself underflows to 0 for most
    rows, and no level can be set on zeros.

    Examples
    --------
    >>> import numpy as np
    >>> waves = np.sin(np.arange(200.0) * [[0.2], [0.3]]).T
    >>> detector = AnomalyTransformer(window=20, width=8, heads=2, layers=1, stride=20, epochs=1)
    >>> detector.fit(waves).score(waves).shape
    (200,)
    """

    window: int = 100
    stride: int = 1
    width: int = 512
    heads: int = 8
    layers: int = 3
    discrepancy_weight: float = 3.0
    temperature: float = 50.0
    epochs: int = 3
    batch_size: int = 256
    learning_rate: float = 1e-4
    patience: int = 3

    presets: ClassVar[Presets] = {
        "paper": {},
        "cpu": {
            "stride": 10,
            "width": 64,
            "heads": 4,
            "batch_size": 32,
            "epochs": 8,
            "learning_rate": 1e-3,
        },
    }
    datasets: ClassVar[Presets] = {"SMD": {"stride": 100, "epochs": 10}}

    def _build(self, variables: int) -> AnomalyTransformerNetwork:
        check_multiple(self, "width", "heads")
        return AnomalyTransformerNetwork(
            variables,
            window=self.window,
            width=self.width,
            heads=self.heads,
            layers=self.layers,
        )

    def _train(self, rows: Rows, report: Report) -> AnomalyTransformerNetwork:
        network = self._new_network(rows)
        border = len(rows) - len(rows) // 5
        training, validation = (
            Windows(part, plan_strided(part, self.window, self.stride), device=self._where())
            for part in (rows.cut(0, border), rows.cut(border, len(rows)))
        )
        weight = self.discrepancy_weight

        def error(batch: Tensor, passed: Associations) -> Tensor:
            return (passed.reconstruction - batch).square().mean()

        def loss(batch: Tensor) -> Tensor:
            passed = network(batch)
            series, prior = passed.losses()
            # Two losses, error − k·series and error + k·prior, whose gradients are added.
            total: Tensor = 2.0 * error(batch, passed) - weight * series + weight * prior
            return total

        def average(loss: Loss) -> float:
            return mean_loss(network, loss, validation, batch_size=_SCORED_AT_ONCE)

        def judge() -> tuple[float, float]:
            error_now = average(lambda batch: error(batch, network(batch)))
            apart = weight * average(lambda batch: network(batch).losses()[0])
            return error_now - apart, error_now + apart

        best = BestWeights(network, judge, patience=self.patience)
        step = AdamStep(network.parameters(), loss, rate=self.learning_rate)

        def after_epoch(epoch: int) -> bool:
            step.set_rate(self.learning_rate * 0.5 ** (epoch - 1))
            return best(epoch)

        train(
            step,
            training,
            epochs=self.epochs,
            batch_size=self.batch_size,
            rng=self._rng(),
            report=report,
            after_epoch=after_epoch,
        )
        best.restore()
        return network

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        def evaluate(batch: Tensor) -> Tensor:
            passed = self.network_(batch)
            weights = (-self.temperature * passed.discrepancy()).log_softmax(-1)  # (B, T)
            error = (passed.reconstruction - batch).square().mean(-1)
            return log_product(weights, error)

        windows = Windows(rows, plan_strided(rows, self.window, self.window), device=self._where())
        return score_positions(windows, evaluate, batch_size=_SCORED_AT_ONCE, report=report)

    def _never_used(self, variables: int) -> int:
        del variables
        return self.layers * 2 * self.width  # a normalisation inside each attention

    def _least_rows(self) -> int:
        return self.window
