"""Whether a model's description fits its tensors, looked at before anything is built from it.

A description is a few bytes and can ask for any amount of memory: a billion layers, a window of a
million rows. Files come from uploads, too, so nothing is allocated on a description's word alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from alora_ts.errors import ArtifactError
from alora_ts.network import ALoRaT
from alora_ts.network.alora_t import pairs_of

if TYPE_CHECKING:
    from torch import Tensor

    from alora_ts.network import Architecture

__all__ = ["refuse_bounds", "refuse_misfit"]

_MOST = {
    "window": 10_000,
    "layers": 64,
    "heads": 4096,
    "kernel_width": 1000,
    "smoothing": 100_000,
    "localization_memory": 100_000,
    "drift_memory": 1_000_000,
}
_LAYER = re.compile(r"layers\.(\d+)\.")


def refuse_bounds(**sizes: Any) -> None:
    """Refuse sizes that no fitted model has.

    Examples
    --------
    >>> refuse_bounds(window=20, layers=3)
    >>> refuse_bounds(layers=10**9)
    Traceback (most recent call last):
    alora_ts.errors.ArtifactError: layers=1000000000 is beyond what a model may have (64)
    """
    for name, size in sizes.items():
        whole = isinstance(size, int) and not isinstance(size, bool)
        if not whole or not 0 <= size <= _MOST[name]:
            raise ArtifactError(
                f"{name}={str(size)[:40]} is beyond what a model may have ({_MOST[name]:,})"
            )


def refuse_misfit(
    tensors: Mapping[str, Tensor], *, variables: int, window: int, architecture: Architecture
) -> None:
    """Refuse a network whose weights are not those of its description.

    Parameters
    ----------
    tensors : mapping of str to Tensor
        The network's own, by name.
    variables, window : int
    architecture : Architecture
    """
    refuse_bounds(
        window=window,
        layers=architecture.layers,
        heads=architecture.heads,
        kernel_width=architecture.kernel_width,
    )
    found = {int(layer[1]) for name in tensors if (layer := _LAYER.match(name))}
    if found != set(range(architecture.layers)):
        raise ArtifactError(
            f"the description has {architecture.layers} layers, the tensors are of {len(found)}"
        )
    pairs = pairs_of(tensors)
    if pairs.numel() and not (int(pairs.min()) >= 0 and int(pairs.max()) < variables):
        raise ArtifactError(f"the pairs name variables beyond the {variables} there are")
    # On this device a network has shapes and no memory.
    with torch.device("meta"):
        network = ALoRaT(pairs, variables=variables, window=window, architecture=architecture)
    wanted = network.state_dict()
    if wanted.keys() != tensors.keys():
        odd = sorted(wanted.keys() ^ tensors.keys())[0]
        raise ArtifactError(f"the tensors are not those of the description: {odd[:60]}")
    for name, tensor in wanted.items():
        if tensor.shape != tensors[name].shape:
            raise ArtifactError(
                f"the tensor {name} has shape {tuple(tensors[name].shape)}, the description "
                f"asks for {tuple(tensor.shape)}"
            )
