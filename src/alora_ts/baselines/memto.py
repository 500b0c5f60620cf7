"""MEMTO (NeurIPS 2023): normal patterns in a memory, anomalies far from it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2
from torch import Tensor

from alora_ts.baselines.detector import Capabilities, Presets
from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.memto_network import MemtoNetwork
from alora_ts.baselines.parameters import check_multiple
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, BestWeights, mean_loss, train
from alora_ts.baselines.windowed import Windows, log_product, plan_strided, score_positions
from alora_ts.progress import Report

__all__ = ["MEMTO"]

_SCORED_AT_ONCE = 64


@dataclass(kw_only=True, eq=False)
class MEMTO(TorchDetector[MemtoNetwork]):
    """Reconstruction error, weighted by the distance of a query from its memory item.

    Parameters
    ----------
    window : int
        T; scoring windows do not overlap, the last one of a segment ends at its last row.
    stride : int
        Rows between training windows.
    width, heads, layers : int
        Size of the transformer.
    items : int
        Size of the memory.
    entropy_weight : float
        Of the entropy of the memory's weights in the loss.
    temperature : float
        Of the softmax over the window's distances.
    epochs, batch_size, patience
        Training of each of the two phases, stopped early on a random fifth of the windows.
    learning_rate, second_learning_rate : float
        Of the first phase, which only serves to place the memory, and of the second.
    train_gate, persist_memory : bool
        See :class:`~alora_ts.baselines.memto_network.GatedMemory`; the published code ran on four
        devices, where the memory did not persist.

    Notes
    -----
    Per variable the score is the squared error, without the weight of the row: ALoRa's paper
    compares MEMTO's reconstruction errors. The temperature makes the weights nearly one-hot, so
    that about one row of a window gets all of the score. The product of weight and error is given
    as its logarithm: it would underflow to 0 for most rows, and no level can be set on zeros.

    Examples
    --------
    >>> waves = np.sin(np.arange(200.0) * [[0.2], [0.3]]).T
    >>> detector = MEMTO(window=20, width=8, heads=2, layers=1, stride=20, epochs=1, items=4)
    >>> detector.fit(waves).score_variables(waves).shape
    (200, 2)
    """

    window: int = 100
    stride: int = 100
    width: int = 512
    heads: int = 8
    layers: int = 3
    items: int = 10
    entropy_weight: float = 0.01
    temperature: float = 0.1
    epochs: int = 100
    batch_size: int = 256
    patience: int = 10
    learning_rate: float = 1e-4
    second_learning_rate: float = 5e-5
    train_gate: bool = False
    persist_memory: bool = True

    capabilities: ClassVar[Capabilities] = Capabilities(localizes=True)
    presets: ClassVar[Presets] = {
        "paper": {},
        "official": {"persist_memory": False},
        "cpu": {
            "stride": 20,
            "width": 64,
            "heads": 4,
            "batch_size": 32,
            "epochs": 10,
            "patience": 3,
            "learning_rate": 1e-3,
            "second_learning_rate": 1e-3,
        },
    }

    def _build(self, variables: int) -> MemtoNetwork:
        check_multiple(self, "width", "heads")
        return MemtoNetwork(
            variables,
            window=self.window,
            width=self.width,
            heads=self.heads,
            layers=self.layers,
            items=self.items,
            train_gate=self.train_gate,
            persist=self.persist_memory,
        )

    def _train(self, rows: Rows, report: Report) -> MemtoNetwork:
        rng = self._rng()
        windows = Windows(rows, plan_strided(rows, self.window, self.stride), device=self._where())
        training, validation = _hold_back(windows, rng)
        first = self._new_network(rows)
        phase = partial(
            self._phase, training=training, validation=validation, rng=rng, report=report
        )
        phase(first, rate=self.learning_rate, task="placing")
        # The second network starts from random weights: only the memory's items remain.
        network = self._new_network(rows)
        network.memory.reset(self._cluster(first.eval(), training, rng))
        phase(network, rate=self.second_learning_rate, task="fitting")
        return network

    def _phase(
        self,
        network: MemtoNetwork,
        *,
        training: Windows,
        validation: Windows,
        rate: float,
        rng: np.random.Generator,
        report: Report,
        task: str,
    ) -> None:
        def loss(batch: Tensor) -> Tensor:
            recall = network(batch)
            error = (recall.reconstruction - batch).square().mean()
            total: Tensor = error + self.entropy_weight * recall.entropy()
            return total

        best = BestWeights(
            network,
            lambda: (mean_loss(network, loss, validation, batch_size=_SCORED_AT_ONCE),),
            patience=self.patience,
        )
        train(
            AdamStep(network.parameters(), loss, rate=rate),
            training,
            epochs=self.epochs,
            batch_size=self.batch_size,
            rng=rng,
            report=report,
            task=task,
            after_epoch=best,
        )
        # As published, the weights are the best epoch's but the memory is the last batch's.
        last = network.memory.current.clone()
        best.restore()
        network.memory.current.copy_(last)

    @torch.no_grad()
    def _cluster(
        self, network: MemtoNetwork, training: Windows, rng: np.random.Generator
    ) -> Tensor:
        """Centres of the queries that the first tenth of the training windows makes."""
        count = max(math.ceil(len(training) / 10), math.ceil(self.items / self.window))
        batches = training.subset(slice(0, count)).batches(_SCORED_AT_ONCE)
        queries = np.concatenate(
            [network.encoder(batch).features.flatten(0, 1).cpu().numpy() for batch in batches]
        )
        chosen = rng.choice(len(queries), self.items, replace=len(queries) < self.items)
        with warnings.catch_warnings():
            # Equal queries leave a cluster empty; its centre then stays where it began.
            warnings.simplefilter("ignore", UserWarning)
            centres, _ = kmeans2(queries, queries[chosen], minit="matrix", iter=50)
        return torch.from_numpy(centres)

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        def evaluate(batch: Tensor) -> Tensor:
            recall = self.network_(batch)
            far = self.network_.distance(recall.queries)  # (B, T)
            error = (recall.reconstruction - batch).square().mean(-1)
            return log_product((far / self.temperature).log_softmax(-1), error)

        return score_positions(
            self._tiles(rows), evaluate, batch_size=_SCORED_AT_ONCE, report=report
        )

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        def evaluate(batch: Tensor) -> Tensor:
            squares: Tensor = (self.network_(batch).reconstruction - batch).square()
            return squares

        return score_positions(
            self._tiles(rows), evaluate, batch_size=_SCORED_AT_ONCE, report=report
        )

    def _tiles(self, rows: Rows) -> Windows:
        return Windows(rows, plan_strided(rows, self.window, self.window), device=self._where())

    def _never_used(self, variables: int) -> int:
        # Two convolutions of kernel 1 (to half the width, to the variables) and a batch norm.
        between = (2 * self.width + 1) * self.width + 2 * self.width
        return between + (self.width + 1) * variables

    def _least_rows(self) -> int:
        return self.window


def _hold_back(windows: Windows, rng: np.random.Generator) -> tuple[Windows, Windows]:
    """Split off a random block of a fifth of the windows, and the windows that share its rows."""
    count = max(1, len(windows) // 5)
    first = int(rng.integers(0, len(windows) - count + 1))
    held = np.arange(first, first + count)
    plan = windows.plan
    apart = (plan.ends < plan.starts[first]) | (plan.starts > plan.ends[held[-1]])
    kept = np.flatnonzero(apart)
    # With hardly more rows than a window nothing is left: then the same windows do both.
    return windows.subset(kept if len(kept) else held), windows.subset(held)
