"""DAEMON (ICDE 2021): an adversarial autoencoder over the series' saliency."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.daemon_network import DaemonNetworks
from alora_ts.baselines.daemon_training import AdversarialStep
from alora_ts.baselines.detector import Capabilities, Presets
from alora_ts.baselines.inputs import Rows, Scaling
from alora_ts.baselines.parts.spectral import spectral_residual
from alora_ts.baselines.ranges import Range, fit_range
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.baselines.training import BestWeights, mean_loss, train
from alora_ts.baselines.windowed import Windows, plan_strided, score_ends
from alora_ts.data.windows import segment_starts
from alora_ts.errors import AloraError
from alora_ts.progress import Report

__all__ = ["DAEMON"]

_SCORED_AT_ONCE = 256
_BOUNDS = (-1.0, 2.0)  # the decoder ends in a sigmoid: beyond this all is equally wrong


@dataclass(kw_only=True, eq=False)
class DAEMON(TorchDetector[DaemonNetworks]):
    """Absolute reconstruction error at the window's last row, summed over the variables.

    Parameters
    ----------
    window : int
        T, a power of two of at least 8.
    stride : int
        Rows between training windows.
    base, latent : int
        Channels of the first layer; size of the latent, a power of two of at least 8.
    spectral : bool
        Work on the spectral residual of each segment instead of its rows. A row's score then
        depends on the whole segment, later rows included.
    window_weight, latent_weight : float
        How much matching the discriminators' features counts in the generator's loss.
    draws : int
        Latents drawn for a score, whose errors are averaged; 0 takes the latent's mean.
    path_steps : int
        Points on the path of the integrated gradients that localize.
    attribution : {"signed", "absolute"}
        Rank variables by what they add to the error, or by the size of it.
    epochs, batch_size, patience, learning_rate, discriminator_rate
        Training, stopped early on the last 30 % of the training rows.

    Notes
    -----
    The published code scales the test data by their own range; here the training range holds. The
    residual is taken of rows scaled to [0, 1], because it is blind to scale but not to offset. No
    ranking code is published for the attributions, and their published sign puts causes last; the
    sign here puts them first.

    Examples
    --------
    >>> waves = np.sin(np.arange(200.0) * [[0.2], [0.3]]).T
    >>> detector = DAEMON(window=16, base=4, latent=8, epochs=1, path_steps=4)
    >>> detector.fit(waves).score_variables(waves[:20]).shape
    (20, 2)
    """

    window: int = field(default=128, metadata={"least": 8})
    stride: int = 1
    base: int = 32
    latent: int = field(default=128, metadata={"least": 8})
    spectral: bool = True
    window_weight: float = 1.0
    latent_weight: float = 1.0
    draws: int = field(default=1, metadata={"least": 0})
    path_steps: int = field(default=50, metadata={"least": 2})
    attribution: Literal["signed", "absolute"] = "signed"
    epochs: int = 20
    batch_size: int = 50
    patience: int = 3
    learning_rate: float = 1e-3
    discriminator_rate: float = 3e-4

    capabilities: ClassVar[Capabilities] = Capabilities(localizes=True, whole_segments=True)
    scaling: ClassVar[Scaling] = Scaling(bounds=(0.0, 1.0))
    presets: ClassVar[Presets] = {
        "paper": {},
        "official": {"path_steps": 2000},
        "cpu": {
            "window": 32,
            "stride": 4,
            "base": 16,
            "latent": 32,
            "draws": 0,
            "path_steps": 8,
            "epochs": 15,
        },
    }
    datasets: ClassVar[Presets] = {"SMAP": {"window_weight": 0.1}, "SWaT": {"stride": 10}}

    def _build(self, variables: int) -> DaemonNetworks:
        for name in ("window", "latent"):
            value = getattr(self, name)
            if value & (value - 1):
                raise AloraError(f"DAEMON: {name}={value} must be a power of two")
        return DaemonNetworks(variables, window=self.window, base=self.base, latent=self.latent)

    def _train(self, rows: Rows, report: Report) -> DaemonNetworks:
        networks = self._new_network(rows)
        salient = self._saliency(rows)
        learned = fit_range(salient)
        networks.offset.copy_(torch.from_numpy(learned.offset))
        networks.factor.copy_(torch.from_numpy(learned.factor))
        rows = self._scaled(networks, rows, salient)
        border = len(rows) - int(0.3 * len(rows))
        training, validation = (
            Windows(part, plan_strided(part, self.window, self.stride), device=self._where())
            for part in (rows.cut(0, border), rows.cut(border, len(rows)))
        )

        def error(batch: Tensor) -> Tensor:
            given = batch.transpose(1, 2)
            apart: Tensor = (networks.generator(given).reconstruction - given).abs().mean()
            return apart

        best = BestWeights(
            networks.generator,
            lambda: (mean_loss(networks.generator, error, validation, batch_size=_SCORED_AT_ONCE),),
            patience=self.patience,
        )
        step = AdversarialStep(
            networks,
            rate=self.learning_rate,
            discriminator_rate=self.discriminator_rate,
            window_weight=self.window_weight,
            latent_weight=self.latent_weight,
        )
        train(
            step,
            training,
            epochs=self.epochs,
            batch_size=self.batch_size,
            rng=self._rng(),
            report=report,
            after_epoch=best,
        )
        best.restore()
        return networks

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        generator = self.network_.generator

        def evaluate(batch: Tensor) -> Tensor:
            given = batch.transpose(1, 2)
            total = torch.zeros(len(batch), device=batch.device)
            for _ in range(max(1, self.draws)):
                rebuilt = generator(given, noise=self.draws > 0).reconstruction
                total += (rebuilt - given)[..., -1].abs().sum(1)
            return total / max(1, self.draws)

        windows = self._scoring_windows(rows)
        return score_ends(windows, evaluate, batch_size=_SCORED_AT_ONCE, report=report)

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        windows = self._scoring_windows(rows)
        at_once = max(1, _SCORED_AT_ONCE // self.path_steps)
        return score_ends(windows, self._attribute, batch_size=at_once, report=report)

    def _attribute(self, batch: Tensor) -> Tensor:
        """Integrate the error's gradient on the way from windows to their rebuilt form, (B, d)."""
        generator = self.network_.generator
        given = batch.transpose(1, 2)  # (B, d, T)
        rebuilt = generator(given, noise=False).reconstruction
        places = torch.linspace(0.0, 1.0, self.path_steps, device=batch.device)[:, None, None]
        path = given[:, None] + places * (rebuilt - given)[:, None]  # (B, steps, d, T)
        with torch.enable_grad():
            points = path.flatten(0, 1).requires_grad_()
            error = (generator(points, noise=False).reconstruction - points).abs().sum()
            (slope,) = torch.autograd.grad(error, points)
        mean_slope = slope.unflatten(0, path.shape[:2])[..., -1].mean(1)  # (B, d)
        shares: Tensor = mean_slope * (given - rebuilt)[..., -1]
        total = shares.abs().sum(1, keepdim=True).clamp_min(torch.finfo(shares.dtype).tiny)
        shares = shares / total
        return shares.abs() if self.attribution == "absolute" else shares

    def _scoring_windows(self, rows: Rows) -> Windows:
        scaled = self._scaled(self.network_, rows, self._saliency(rows))
        return Windows(scaled, plan_strided(scaled, self.window), device=self._where())

    def _saliency(self, rows: Rows) -> NDArray[Any]:
        if not self.spectral:
            return rows.values
        starts = segment_starts(len(rows), rows.segments)[1:]
        parts = np.split(rows.values, starts)
        return np.concatenate([spectral_residual(part) for part in parts])

    def _scaled(self, networks: DaemonNetworks, rows: Rows, salient: NDArray[Any]) -> Rows:
        offset, factor = (part.cpu().numpy() for part in (networks.offset, networks.factor))
        return replace(rows, values=Range(offset, factor, _BOUNDS).apply(salient))

    def _least_rows(self) -> int:
        return self.window
