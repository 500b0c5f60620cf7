"""CNN of TSB-AD: how far the next row is from what a convolutional network predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.cnn_network import Forecaster
from alora_ts.baselines.detector import Capabilities, Presets
from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, BestWeights, mean_loss, train
from alora_ts.baselines.windowed import Windows, plan_strided, score_ends
from alora_ts.errors import AloraError
from alora_ts.progress import Report

__all__ = ["CNN"]

_SCORED_AT_ONCE = 256
_SLOWER, _EVERY = 0.75, 5


@dataclass(kw_only=True, eq=False)
class CNN(TorchDetector[Forecaster]):
    """Mean squared error of a prediction one row ahead.

    Parameters
    ----------
    window : int
        Rows that a prediction sees.
    stride : int
        Rows between training windows.
    channels : tuple of int
        Of the convolutions.
    width : int
        Of the hidden dense layer.
    dropout : float
    epochs, batch_size, learning_rate, patience
        Training, stopped early on the last fifth of the training rows. The rate falls by a
        quarter after every fifth epoch.

    Notes
    -----
    Munir et al., "DeepAnT", 2019, in the form and with the defaults of TSB-AD (Liu and
    Paparrizos, NeurIPS 2024). Rows before the first prediction of a segment take its score. Per
    variable the score is the squared error.

    Examples
    --------
    >>> import numpy as np
    >>> waves = np.sin(np.arange(200.0) * [[0.2], [0.3]]).T
    >>> CNN(window=12, epochs=1).fit(waves).score_variables(waves).shape
    (200, 2)
    """

    window: int = 50
    stride: int = 1
    channels: tuple[int, ...] = (32, 40)
    width: int = 40
    dropout: float = 0.25
    epochs: int = 50
    batch_size: int = 128
    learning_rate: float = 8e-4
    patience: int = 3

    capabilities: ClassVar[Capabilities] = Capabilities(localizes=True)
    presets: ClassVar[Presets] = {"paper": {}, "cpu": {"stride": 4, "batch_size": 64}}

    def _build(self, variables: int) -> Forecaster:
        least = Forecaster.least_window(len(self.channels))
        if self.window < least:
            raise AloraError(
                f"CNN: window={self.window} is too short for {len(self.channels)} convolutions; "
                f"take at least {least}"
            )
        return Forecaster(variables, channels=self.channels, width=self.width, dropout=self.dropout)

    def _train(self, rows: Rows, report: Report) -> Forecaster:
        network = self._new_network(rows)
        border = len(rows) - len(rows) // 5
        training, validation = (
            self._windows(part, stride)
            for part, stride in (
                (rows.cut(0, border), self.stride),
                (rows.cut(border, len(rows)), 1),
            )
        )

        def loss(batch: Tensor) -> Tensor:
            return _errors(network, batch).mean()

        best = BestWeights(
            network,
            lambda: (mean_loss(network, loss, validation, batch_size=_SCORED_AT_ONCE),),
            patience=self.patience,
        )
        step = AdamStep(network.parameters(), loss, rate=self.learning_rate)

        def after_epoch(epoch: int) -> bool:
            step.set_rate(self.learning_rate * _SLOWER ** (epoch // _EVERY))
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

    def _windows(self, rows: Rows, stride: int = 1) -> Windows:
        """Windows with the row to predict as their last."""
        return Windows(rows, plan_strided(rows, self.window + 1, stride), device=self._where())

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        score: NDArray[Any] = self._score_variables(rows, report).mean(axis=1)
        return score

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        return score_ends(
            self._windows(rows),
            lambda batch: _errors(self.network_, batch),
            batch_size=_SCORED_AT_ONCE,
            report=report,
        )

    def _least_rows(self) -> int:
        return self.window + 1


def _errors(network: Forecaster, batch: Tensor) -> Tensor:
    """Squared errors of the last row of windows (B, T + 1, d): (B, d)."""
    errors: Tensor = (network(batch[:, :-1]) - batch[:, -1]).square()
    return errors
