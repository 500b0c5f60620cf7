"""AERCA (2025): which variable received an input from outside that its past does not explain.

A nonlinear autoregression predicts each row from the ones before; what is left over is the
exogenous input, whose unusual entries name the root causes. It ranks variables and does not say
when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.aerca_loss import Divergence, aerca_loss
from alora_ts.baselines.aerca_network import AercaNetwork
from alora_ts.baselines.detector import Capabilities
from alora_ts.baselines.inputs import Rows, Scaling
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, BestWeights, count_windows
from alora_ts.data.windows import segment_starts
from alora_ts.errors import DataError
from alora_ts.progress import Report, Step

__all__ = ["AERCA"]

_VALIDATION_SHARE = 0.2
_LEAST_SPREAD = 1e-8
# Coefficients are p² numbers for each row; this many at a time keep scoring within 80 MB.
_COEFFICIENTS_AT_ONCE = 20_000_000

Stretch = tuple[int, int]
"""First row and the row after the last."""


@dataclass(kw_only=True, eq=False)
class AERCA(TorchDetector[AercaNetwork]):
    """Root cause analysis from exogenous inputs (Han et al., ICLR 2025).

    Parameters
    ----------
    order : int
        K, how many past rows predict a row.
    width, hidden : int
        Width and number of hidden layers of each coefficient net.
    chunk_rows : int
        The series is cut into chunks of so many rows, one training step each.
    divergence : {"correct", "official"}
        How the exogenous inputs are drawn to N(0, I); see
        :func:`~alora_ts.baselines.aerca_loss.gaussian_divergence`.
    two_sided : bool
        Score by the size of a deviation. False ranks only upward deviations high, as published.
    learning_rate : float
    epochs : int
        At most so many.
    patience : int
        Epochs without a better validation loss after which training stops.

    Examples
    --------
    >>> AERCA().parameter_count(38)
    13462332
    """

    order: int = 1
    width: int = 1000
    hidden: int = 4
    chunk_rows: int = 10_000
    divergence: Divergence = "correct"
    two_sided: bool = True
    learning_rate: float = 1e-6
    epochs: int = 5000
    patience: int = 20

    capabilities: ClassVar[Capabilities] = Capabilities(detects=False, localizes=True)
    scaling: ClassVar[Scaling] = Scaling(bounds=(0.0, 1.0))
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "official": {"divergence": "official", "two_sided": False},
        "cpu": {
            "width": 128,
            "hidden": 2,
            "learning_rate": 1e-4,
            "epochs": 200,
            "chunk_rows": 1000,
        },
    }
    datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "MSDS": {},
        "SWaT": {"hidden": 8, "chunk_rows": 1000},
    }

    def _least_rows(self) -> int:
        return 2 * self._least_stretch()

    def _least_stretch(self) -> int:
        # The first 2K rows are not rebuilt, and a covariance needs two exogenous inputs.
        return 2 * self.order + 2

    def _build(self, variables: int) -> AercaNetwork:
        return AercaNetwork(
            variables=variables, order=self.order, width=self.width, hidden=self.hidden
        )

    def _train(self, rows: Rows, report: Report) -> AercaNetwork:
        rng = self._rng()
        shown, held_back = self._split(rows, rng)
        series = torch.from_numpy(rows.values)

        def take(stretch: Stretch) -> Tensor:
            return series[slice(*stretch)].to(self._where())

        with self._learning():
            network = self._new_network(rows)

            def loss(chunk: Tensor) -> Tensor:
                return aerca_loss(network(chunk), chunk, divergence=self.divergence)

            def judge() -> tuple[float]:
                with torch.no_grad():
                    return (float(np.mean([float(loss(take(one))) for one in held_back])),)

            step = AdamStep(network.parameters(), loss, rate=self.learning_rate)
            best = BestWeights(network, judge, patience=self.patience)
            for epoch in range(1, self.epochs + 1):
                facts: dict[str, float] = {}
                for index in rng.permutation(len(shown)):
                    facts = step(take(shown[index]))
                    count_windows(1)
                report(Step("fitting", epoch, self.epochs, facts))
                if best(epoch):
                    break
            report(Step("fitting", self.epochs, self.epochs))
            best.restore()
            self._measure(network, [take(one) for one in held_back])
        return network

    def _split(self, rows: Rows, rng: np.random.Generator) -> tuple[list[Stretch], list[Stretch]]:
        """Cut the rows into chunks and hold a fifth of them back; a single one is cut in time."""
        chunks = self._chunks(rows)
        if len(chunks) > 1:
            held = max(1, round(len(chunks) * _VALIDATION_SHARE))
            order = rng.permutation(len(chunks))
            return [chunks[i] for i in order[held:]], [chunks[i] for i in order[:held]]
        start, stop = chunks[0]
        least = self._least_stretch()
        border = stop - max(least, round((stop - start) * _VALIDATION_SHARE))
        if border - start < least:
            raise DataError(
                f"the longest unbroken stretch of training rows has {stop - start} rows; AERCA "
                f"needs at least {2 * least} with order={self.order}"
            )
        return [(start, border)], [(border, stop)]

    def _chunks(self, rows: Rows) -> list[Stretch]:
        """Whole chunks of every segment; a segment shorter than a chunk is one."""
        starts = segment_starts(len(rows), rows.segments)
        chunks: list[Stretch] = []
        for start, stop in zip(starts, np.r_[starts[1:], len(rows)], strict=True):
            size = min(self.chunk_rows, int(stop - start))
            if size >= self._least_stretch():
                firsts = range(int(start), int(stop) - size + 1, size)
                chunks += [(first, first + size) for first in firsts]
        if not chunks:
            raise DataError(
                f"no unbroken stretch of training rows, cut into chunks of at most "
                f"{self.chunk_rows}, has the {self._least_stretch()} rows that AERCA needs with "
                f"order={self.order}; give longer segments or raise chunk_rows"
            )
        return chunks

    @torch.no_grad()
    def _measure(self, network: AercaNetwork, chunks: list[Tensor]) -> None:
        exogenous = torch.cat([network.exogenous(chunk) for chunk in chunks])
        network.median.copy_(exogenous.quantile(0.5, dim=0))
        network.spread.copy_(exogenous.std(0).clamp_min(_LEAST_SPREAD))

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        variables = rows.values.shape[1]
        block = max(1, _COEFFICIENTS_AT_ONCE // (variables**2 * self.order))
        scores = np.zeros(rows.values.shape)
        starts = segment_starts(len(rows), rows.segments)
        with self._scoring():
            for start, stop in zip(starts, np.r_[starts[1:], len(rows)], strict=True):
                first = int(start) + self.order
                for begin in range(first, int(stop), block):
                    end = min(begin + block, int(stop))
                    past = torch.from_numpy(rows.values[begin - self.order : end])
                    scores[begin:end] = self._deviations(past.to(self._where()))
                    report(Step("scoring", end, len(rows)))
                # A segment's first rows have no past; they share the first score there is.
                scores[start:first] = scores[first] if first < stop else 0.0
        report(Step("scoring", len(rows), len(rows)))
        return scores

    def _deviations(self, rows: Tensor) -> NDArray[Any]:
        """Standardised actual minus predicted of all but the first K rows."""
        network = self.network_
        deviations = -(network.exogenous(rows) - network.median) / network.spread
        values: NDArray[Any] = deviations.cpu().numpy()
        return np.abs(values) if self.two_sided else values
