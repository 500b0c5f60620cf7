"""How many weights a network learns, against the number of variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.bench.figures.style import BLUE, GREY, HOT, INK, PAGE, styled
from alora_ts.bench.figures.workshop import Workshop
from alora_ts.network import ALoRaT, Architecture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Parameters", "count_weights", "draw", "measure"]

_VARIABLES = (4, 6, 8, 10, 15, 20, 25, 30, 33, 38, 40, 51, 55, 64, 78, 100, 150, 200)
_WIDTH = 512
_PUBLISHED_ALL = {25: 1.1e6, 38: 3.2e6, 51: 3.2e6, 55: 3.2e6, 78: 3.2e6}
_PUBLISHED_EMBEDDING = {
    "dense": {10: 15360, 20: 30720, 40: 61440, 50: 76800, 100: 153600, 200: 307200},
    "pairs": {10: 90, 20: 380, 40: 1024, 50: 1024, 100: 1024, 200: 1024},
}


@dataclass(frozen=True)
class Parameters:
    """Learned weights of the paper's network (3 layers, 8 heads).

    Attributes
    ----------
    variables : ndarray of int, shape (n,)
        d.
    total, embedding : dict of str to ndarray of int, shape (n,)
        For "pairs" (LightMTS-Embed, at most 512 pairs) and "dense" (512 wide).
    """

    variables: NDArray[np.int64]
    total: dict[str, NDArray[np.int64]]
    embedding: dict[str, NDArray[np.int64]]

    @property
    def caption(self) -> str:
        """What was found."""
        pairs = dict(zip(self.variables.tolist(), self.total["pairs"].tolist(), strict=True))
        dense = dict(zip(self.variables.tolist(), self.total["dense"].tolist(), strict=True))
        return (
            "Learned weights of the network against the number of variables d (3 layers, 8 heads; "
            "crosses: as the paper prints them). The paper calls the number constant; it is nearly "
            f"so from d = 33 on, where more than 512 pairs exist: {pairs[38]:,} at d = 38 and "
            f"{pairs[200]:,} at d = 200, the rest being the decoder. Below that it grows with the "
            f"number of pairs. A dense embedding needs {dense[38]:,} and {dense[200]:,}; the "
            "attention layers outweigh both embeddings."
        )


def count_weights(variables: int, *, embedding: str) -> tuple[int, int]:
    """Count all learned weights, and those of the embedding.

    Examples
    --------
    >>> count_weights(38, embedding="pairs")
    (3172390, 1024)
    """
    width = _WIDTH if embedding == "dense" else min(_WIDTH, comb(variables, 2))
    kind: Literal["dense", "pairs"] = "dense" if embedding == "dense" else "pairs"
    shape = replace(Architecture.paper(), embedding=kind)
    # Nothing is allocated there: only the shapes matter.
    with torch.device("meta"):
        pairs = torch.zeros(width, 2, dtype=torch.long)
        network = ALoRaT(pairs, variables=variables, window=20, architecture=shape)
    return (
        sum(weight.numel() for weight in network.parameters()),
        sum(weight.numel() for weight in network.embed.parameters()),
    )


def measure(workshop: Workshop) -> Parameters:
    """Count the weights of networks for 4 to 200 variables; needs no data."""
    del workshop
    counted = {
        kind: np.array([count_weights(d, embedding=kind) for d in _VARIABLES])
        for kind in ("pairs", "dense")
    }
    return Parameters(
        np.array(_VARIABLES),
        {kind: both[:, 0] for kind, both in counted.items()},
        {kind: both[:, 1] for kind, both in counted.items()},
    )


@styled
def draw(material: Parameters) -> Figure:
    """Draw all weights, and those of the embedding, against d."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE, 2.4))
    whole, part = figure.subplots(1, 2)
    looks = {"dense": (HOT, "dense embedding"), "pairs": (BLUE, "LightMTS-Embed, K = 512")}
    for kind, (colour, name) in looks.items():
        whole.plot(material.variables, material.total[kind] / 1e6, color=colour, label=name)
        part.plot(material.variables, material.embedding[kind], color=colour, label=name)
        printed = _PUBLISHED_EMBEDDING[kind]
        part.plot(list(printed), list(printed.values()), "x", color=INK, markersize=5)
    whole.plot(
        list(_PUBLISHED_ALL),
        [value / 1e6 for value in _PUBLISHED_ALL.values()],
        "x",
        color=INK,
        markersize=5,
        label="printed in the paper",
    )
    whole.axvline(33, color=GREY, linestyle=":", linewidth=0.8)
    whole.text(35, 0.15, "d = 33: more than\n512 pairs", color=GREY, fontsize=7, va="bottom")
    whole.set(title="all weights, millions", xlabel="variables d", ylim=(0, None), xlim=(0, 204))
    whole.legend(loc="lower right")
    part.set(title="weights of the embedding", xlabel="variables d", yscale="log", xlim=(0, 204))
    return figure
