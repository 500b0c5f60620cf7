"""The gradient of some batches as the processes of a group compute it together."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from alora_ts.fleet.long_fit import SharedDescent
from alora_ts.learning.options import Training
from alora_ts.network import ALoRaT, Architecture

# Even, odd, and smaller than the group.
BATCHES = [
    torch.from_numpy(np.random.default_rng(7).normal(size=(size, 6, 4)).astype(np.float32))
    for size in (8, 5, 1)
]


def network_and_options() -> tuple[ALoRaT, Training]:
    """The same network in every process."""
    torch.manual_seed(0)
    pairs = torch.combinations(torch.arange(4))
    architecture = Architecture(layers=2, heads=2)
    return ALoRaT(pairs, variables=4, window=6, architecture=architecture), Training()


def gradients_of(rank: int, processes: int, folder: str) -> None:
    """Write the loss and the gradient of every batch."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/group", rank=rank, world_size=processes
    )
    network, options = network_and_options()
    share = SharedDescent()
    for number, batch in enumerate(BATCHES):
        network.zero_grad(set_to_none=True)
        loss = share(network, batch, options)
        found = {
            name: parameter.grad.numpy()
            for name, parameter in network.named_parameters()
            if parameter.grad is not None
        }
        np.savez(Path(folder) / f"{number}-{rank}.npz", loss=loss.total.numpy(), **found)
    dist.destroy_process_group()
