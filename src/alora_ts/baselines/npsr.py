"""NPSR (NeurIPS 2023): point reconstruction, and a nominality that lets its errors spread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from alora_ts.baselines.detector import Presets
from alora_ts.baselines.inputs import Rows, Scaling
from alora_ts.baselines.npsr_network import NpsrNetworks
from alora_ts.baselines.npsr_score import Gate, gates, induced_score, nominality
from alora_ts.baselines.parts.blocks import median_blocks
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import AdamStep, train
from alora_ts.baselines.windowed import Windows, plan_strided, score_positions
from alora_ts.data.windows import segment_starts
from alora_ts.progress import Report, Step

__all__ = ["NPSR"]

_SCORED_AT_ONCE = 256


@dataclass(kw_only=True, eq=False)
class NPSR(TorchDetector[NpsrNetworks]):
    """Squared point error, raised by the errors of neighbours that look nominal.

    Parameters
    ----------
    downsample : int
        Median of so many rows before anything else; their scores are repeated.
    point_window, sequence_window, gap : int
        W of the point model; W0 rows around a gap that the sequence model predicts.
    stride : int
        Rows between training windows.
    head_width, latent : int
        Features of an attention head and of the point model's latent.
    quantile : float
        Which part of the training rows' nominality counts as normal.
    gate : {"soft", "hard", "open"}
        How nominality lets errors pass.
    reach : int
        d, how far errors spread. The authors report the best of 1 … 256 on the test data; one value
        is chosen beforehand here.
    epochs, batch_size, learning_rate
        Training of each network; the last weights are kept.

    Notes
    -----
    The published code looks at the test data for constant channels and for the best epoch, and
    draws new random features while it scores; none of this is done here. The first and last W0/2
    rows of a segment have no prediction and take the score of the nearest row that has.

    Examples
    --------
    >>> waves = np.sin(np.arange(200.0) * [[0.2], [0.3]]).T
    >>> detector = NPSR(point_window=20, sequence_window=20, gap=4, epochs=1)
    >>> detector.fit(waves).score(waves).shape
    (200,)
    """

    downsample: int = 1
    point_window: int = 100
    sequence_window: int = field(default=100, metadata={"least": 2})
    gap: int = 20
    stride: int = 10
    head_width: int = 5
    latent: int = 4
    quantile: float = 0.9985
    gate: Gate = "soft"
    reach: int = 16
    epochs: int = 24
    batch_size: int = 64
    learning_rate: float = 1e-4

    scaling: ClassVar[Scaling] = Scaling(bounds=(-1.0, 1.0), clip=(-4.0, 4.0))
    presets: ClassVar[Presets] = {
        "paper": {},
        "cpu": {"batch_size": 32, "learning_rate": 1e-3, "epochs": 6},
    }
    datasets: ClassVar[Presets] = {
        "SMD": {"downsample": 2, "point_window": 50, "sequence_window": 50, "gap": 6},
        "PSM": {"downsample": 10, "batch_size": 32},
        "MSL": {"sequence_window": 50, "gap": 6},
    }

    def _build(self, variables: int) -> NpsrNetworks:
        return NpsrNetworks(
            variables,
            point_window=self.point_window,
            sequence_window=self._around(),
            gap=self.gap,
            head_width=self.head_width,
            latent=self.latent,
        )

    def _around(self) -> int:
        return self.sequence_window - self.sequence_window % 2

    def _train(self, rows: Rows, report: Report) -> NpsrNetworks:
        networks = self._new_network(rows)
        rows = median_blocks(rows, self.downsample)
        middle = slice(self._around() // 2, self._around() // 2 + self.gap)

        def point_loss(batch: Tensor) -> Tensor:
            return functional.mse_loss(networks.point(batch), batch)

        def sequence_loss(batch: Tensor) -> Tensor:
            return functional.mse_loss(networks.sequence(batch), batch[:, middle])

        length = self._around() + self.gap
        for network, loss, window, task in (
            (networks.point, point_loss, self.point_window, "points"),
            (networks.sequence, sequence_loss, length, "sequences"),
        ):
            train(
                AdamStep(network.parameters(), loss, rate=self.learning_rate),
                Windows(rows, plan_strided(rows, window, self.stride), device=self._where()),
                epochs=self.epochs,
                batch_size=self.batch_size,
                rng=self._rng(),
                report=report,
                task=task,
            )
        networks.eval()
        with torch.no_grad():
            point = self._point_errors(networks, rows, report)
            sequence, known = self._sequence_errors(networks, rows, report)
        if known.any():
            ordered = np.sort(nominality(point[known], sequence[known]))
            at = min(int(len(ordered) * self.quantile), len(ordered) - 1)
            networks.limit.fill_(float(ordered[at]))
        return networks

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        blocks = median_blocks(rows, self.downsample)
        point = self._point_errors(self.network_, blocks, report)
        sequence, known = self._sequence_errors(self.network_, blocks, report)
        scores: NDArray[np.float64] = np.square(point).mean(axis=1)
        limit = float(self.network_.limit)
        starts = segment_starts(len(blocks), blocks.segments)
        for start, stop in zip(starts, np.r_[starts[1:], len(blocks)], strict=True):
            inside = start + np.flatnonzero(known[start:stop])
            if not len(inside):
                continue  # too short for a prediction: the point errors stand alone
            gate = gates(nominality(point[inside], sequence[inside]), limit, self.gate)
            induced = induced_score(scores[inside], gate, self.reach)
            scores[start:stop] = np.pad(
                induced, (inside[0] - start, stop - 1 - inside[-1]), mode="edge"
            )
        return scores[blocks.answers]

    def _point_errors(
        self, networks: NpsrNetworks, rows: Rows, report: Report
    ) -> NDArray[np.float64]:
        """Rebuilt minus given, (N, d)."""
        plan = plan_strided(rows, self.point_window, self.point_window)
        return score_positions(
            Windows(rows, plan, device=self._where()),
            lambda batch: networks.point(batch) - batch,
            batch_size=_SCORED_AT_ONCE,
            report=report,
        )

    def _sequence_errors(
        self, networks: NpsrNetworks, rows: Rows, report: Report
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Predicted minus given, (N, d), and which rows could be predicted."""
        half, gap = self._around() // 2, self.gap
        plan = plan_strided(rows, 2 * half + gap, gap)
        windows = Windows(rows, plan, device=self._where())
        errors = np.zeros(rows.values.shape)
        known = np.zeros(len(rows), bool)
        done = 0
        for batch in windows.batches(_SCORED_AT_ONCE):
            middle = networks.sequence(batch) - batch[:, half : half + gap]
            which = slice(done, done + len(batch))
            targets = plan.ends[which, None] - half - gap + 1 + np.arange(gap)  # (B, gap)
            # Rows before the segment are the padding of a short one. A segment's last window may
            # overlap the one before: rows keep their first prediction.
            fresh = (targets >= plan.starts[which, None]) & ~known[np.maximum(targets, 0)]
            fresh[1:] &= targets[1:] > targets[:-1, -1:]
            errors[targets[fresh]] = middle.double().cpu().numpy()[fresh]
            known[targets[fresh]] = True
            done += len(batch)
            report(Step("predicting", done, len(windows)))
        return errors, known

    def _least_rows(self) -> int:
        return self.downsample * max(self.point_window, self._around() + self.gap)
