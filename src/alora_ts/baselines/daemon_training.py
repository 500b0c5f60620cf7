"""One step of DAEMON's training: two discriminators, then the generator that must match them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from alora_ts.baselines.daemon_network import DaemonNetworks, initialise
from alora_ts.baselines.training import guard
from alora_ts.learning.adam import Adam

__all__ = ["AdversarialStep"]

# A discriminator that is this sure teaches nothing any more and is reset.
_TOO_SURE = 5e-6


class AdversarialStep:
    """Learns from a batch of windows (B, T, d).

    Parameters
    ----------
    networks : DaemonNetworks
        In training.
    rate, discriminator_rate : float
        Adam's learning rates.
    window_weight, latent_weight : float
        How much matching the discriminators' features counts beside the reconstruction.
    """

    def __init__(
        self,
        networks: DaemonNetworks,
        *,
        rate: float,
        discriminator_rate: float,
        window_weight: float,
        latent_weight: float,
    ) -> None:
        self._networks = networks
        self._window_weight = window_weight
        self._latent_weight = latent_weight
        self._generator = Adam(networks.generator.parameters(), lr=rate)
        self._of_windows = Adam(networks.of_windows.parameters(), lr=discriminator_rate)
        self._of_latents = Adam(networks.of_latents.parameters(), lr=discriminator_rate)

    def __call__(self, batch: Tensor) -> dict[str, float]:
        """Take one step with each of the three networks."""
        nets = self._networks
        given = batch.transpose(1, 2)  # (B, d, T)
        with torch.no_grad():
            rebuilt = nets.generator(given).reconstruction
        self._teach(nets.of_windows, self._of_windows, nets.of_windows.loss(given, rebuilt))
        with torch.no_grad():
            latent = nets.generator(given).latent.transpose(1, 2)  # (B, 1, latent)
        drawn = torch.randn_like(latent)
        self._teach(nets.of_latents, self._of_latents, nets.of_latents.loss(drawn, latent))
        made = nets.generator(given)
        error = (made.reconstruction - given).abs().mean()
        alike = _apart(nets.of_windows.trunk, made.reconstruction, given)
        latent_now = made.latent.transpose(1, 2)
        alike_latent = _apart(nets.of_latents.trunk, latent_now, torch.randn_like(latent_now))
        loss = error + self._window_weight * alike + self._latent_weight * alike_latent
        guard(loss)
        _descend(self._generator, loss)
        return {"error": float(error.detach())}

    @staticmethod
    def _teach(network: nn.Module, optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
        _descend(optimiser, loss)
        if guard(loss) < _TOO_SURE:
            initialise(network)


def _apart(trunk: nn.Module, made: Tensor, given: Tensor) -> Tensor:
    return functional.mse_loss(trunk(made), trunk(given))


def _descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
