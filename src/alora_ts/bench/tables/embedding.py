"""Weights of the standard and the light embedding, counted on the network itself."""

from __future__ import annotations

from math import comb

from alora_ts.bench.published import published
from alora_ts.bench.tables.table import Cell, ResultTable, Row

__all__ = ["embedding"]

_SIZES = (10, 20, 40, 50, 100, 200)
_PAIRS, _WIDTH = 512, 3


def embedding() -> list[ResultTable]:
    """The paper's table of embedding parameters; it needs no runs.

    Examples
    --------
    >>> [cell.value for cell in embedding()[0].rows[0].cells]
    [15360, 15360.0, 90, 90.0, 270]
    """
    import torch

    from alora_ts.network.embedding import DenseEmbedding, Kernel, PairEmbedding

    def count(module: torch.nn.Module) -> int:
        return sum(weight.numel() for weight in module.parameters())

    rows = []
    for size in _SIZES:
        pairs = torch.zeros(min(comb(size, 2), _PAIRS), 2)

        def light(kernel: Kernel, pairs: torch.Tensor = pairs, size: int = size) -> int:
            return count(
                PairEmbedding(
                    pairs, variables=size, kernel=kernel, width=_WIDTH, padding="circular"
                )
            )

        ours = {
            "standard": count(
                DenseEmbedding(variables=size, embedded=_PAIRS, width=_WIDTH, padding="circular")
            ),
            "light": light("average"),
        }
        cells = []
        for name, value in ours.items():
            theirs = published("embedding", "any", str(size), name)
            cells.append(Cell(value=value, digits=0))
            cells.append(Cell() if theirs is None else Cell(value=theirs.value, digits=0))
        rows.append(Row(str(size), (*cells, Cell(value=light("learned"), digits=0))))
    return [
        ResultTable(
            "embedding",
            "Weights of the embedding by the number of variables d",
            (
                "d",
                "standard",
                "standard, published",
                "light",
                "light, published",
                "light, learned lags",
            ),
            tuple(rows),
            (
                "Standard: dense filters of width 3 to 512 series. Light: two weights for each of "
                "at most 512 pairs on a moving average of width 3, which is what the published "
                "counts agree with; with learned lags: 2 · 3 weights for each pair, as Eq. 1 is "
                "written.",
            ),
        )
    ]
