"""The folded pass in compiled kernels (:mod:`alora_ts.fast.native`), where they are installed.

The same products in the same order as :class:`~alora_ts.fast.forward.FoldedNetwork`, with weights
that are laid out once, intermediate results that stay where they are, and nothing in between. A
pass is a list of calls that is made once for a number of windows and then run as often as there are
windows: for one row of a stream, and for a chunk of a table.
"""

from __future__ import annotations

import math
from functools import cached_property

import torch
from torch import Tensor

from alora_ts.fast.fold import Affine
from alora_ts.fast.forward import FoldedNetwork
from alora_ts.fast.native import Call, Library, Panels, attend, combine, mix, multiply, project
from alora_ts.fast.scratch import Scratch
from alora_ts.fast.worker import LastRow
from alora_ts.network.attention import by_head

__all__ = ["CompiledNetwork", "CompiledWorker"]

_LINE = 16
"""Numbers in a line of the cache."""

_ROWS_AT_A_TIME = 100
"""About how many rows of windows go all the way before the next: few enough for the cache."""

_ROWS_TOGETHER = 1200
"""About how many rows of windows make a pass: enough to share what windows in a row share."""


class CompiledNetwork:
    """A folded network laid out for the kernels.

    Parameters
    ----------
    folded : FoldedNetwork
        On the CPU, in single precision.
    library : Library

    Notes
    -----
    Any number of threads may use it at once.
    """

    def __init__(self, folded: FoldedNetwork, library: Library) -> None:
        self.folded = folded
        self.library = library
        self.narrow = [_Laid(library, layer.query) for layer in folded.narrow]
        self.first = _Laid(library, folded.first)
        self.later = [_Laid(library, layer.joint) for layer in folded.wide[1:]]
        self.mix = [Panels(library, layer.mix) for layer in folded.wide]
        self.decode = _Laid(library, folded.decode)

    @cached_property
    def by_row(self) -> _Laid | None:
        """What windows in a row share, where it pays; made when the first of them come."""
        if self.folded.overlap is None:
            return None
        width = self.library.panel_width()
        return _Laid(self.library, self.folded.overlap.row_weights(rounded_to=width))

    @property
    def variables(self) -> int:
        """How many series there are."""
        return self.decode.panels.shape[1]


class CompiledWorker:
    """Runs a compiled network, as a :class:`~alora_ts.fast.worker.Worker`.

    Parameters
    ----------
    network : CompiledNetwork
    """

    def __init__(self, network: CompiledNetwork) -> None:
        self._network = network
        self._passes: dict[tuple[int, bool], _Pass] = {}

    @property
    def at_once(self) -> int:
        """How many windows go through a pass together."""
        return max(1, _ROWS_TOGETHER // self._network.folded.window)

    def windows(self, windows: Tensor) -> LastRow:
        """Of windows (B, T, d)."""
        if len(windows) <= self.at_once:
            return self._run(windows, len(windows), in_a_row=False)
        several = torch.split(windows, self.at_once)
        parts = [self._run(part, len(part), in_a_row=False) for part in several]
        return LastRow(
            torch.cat([part.expected for part in parts]),
            torch.cat([part.attention for part in parts]),
        )

    def in_a_row(self, rows: Tensor) -> LastRow:
        """Of all windows in rows (B + T − 1, d), each one step after the other."""
        count = len(rows) - self._network.folded.window + 1
        return self._run(rows, count, in_a_row=True)

    def _run(self, values: Tensor, count: int, *, in_a_row: bool) -> LastRow:
        made = self._passes.get((count, in_a_row))
        if made is None:
            if len(self._passes) > 2:  # chunks of a table have two sizes
                self._passes.clear()
            made = self._passes[count, in_a_row] = _Pass(self._network, count, in_a_row=in_a_row)
        return made(values)


class _Pass:
    """The calls for so many windows, and the memory that they share.

    A few windows at a time go all the way, in memory that stays in the cache.
    """

    def __init__(self, network: CompiledNetwork, count: int, *, in_a_row: bool) -> None:
        self._network = network
        self._calls: list[Call] = []
        self._scratch = Scratch()
        steps, d = network.folded.window, network.variables
        self._expected = torch.empty(count, d)
        self._mean = torch.empty(count, steps, steps)
        heads = network.folded.heads
        self._seen = torch.empty(count, 1 + heads, network.decode.panels.shape[0] // (1 + heads))
        projected = None
        if in_a_row:
            self._values = torch.empty(count + steps - 1, d)
            windows = self._values.as_strided((count, steps, d), (d, d, 1))
            projected = self._project()
        else:
            windows = self._values = torch.empty(count, steps, d)
        few = max(1, _ROWS_AT_A_TIME // steps)
        for start in range(0, count, few):
            part = slice(start, min(start + few, count))
            f, attention = self._narrow(windows[part])
            first = self._rows("first", len(f), network.first.panels.shape[1])
            if projected is None or attention is None:
                self._product(f, network.first, first)
            else:
                self._combine(attention, projected[:, start:], first)
            features, query_key = self._wide(f, first)
            self._finish(query_key, features, part)
        # All windows together: for a few the weights are longer than the product.
        self._product(self._seen.view(count, -1), network.decode, self._expected)

    def __call__(self, values: Tensor) -> LastRow:
        self._values.copy_(values)
        for call in self._calls:
            call()
        # The memory serves the next windows; what is transposed is turned by a view.
        return LastRow(self._expected.clone(), self._mean.clone().transpose(1, 2))

    def _narrow(self, windows: Tensor) -> tuple[Tensor, Tensor | None]:
        """The features before the first wide product; the first layer's attention, transposed."""
        folded, library = self._network.folded, self._network.library
        count, steps, d = windows.shape
        width = d * len(folded.neighbours)
        f = self._rows("f", count, width * math.prod(1 + layer.heads for layer in folded.narrow))
        for lag, rows in enumerate(folded.neighbours):
            weights = rows.contiguous().expand(count, 1, -1, -1)
            self._add(mix(library, weights, windows[:, None], f[:, None, :, lag * d :][..., :d]))
        found = None
        for number, (layer, query) in enumerate(
            zip(folded.narrow, self._network.narrow, strict=True)
        ):
            own = f[..., :width]
            left = self._rows(f"left {number}", count, layer.heads * width)
            self._product(own, query, left)
            found = self._room(f"found {number}", count, layer.heads, steps, steps)
            shared = own[:, None].expand(-1, layer.heads, -1, -1)
            self._add(
                attend(
                    library,
                    by_head(left, layer.heads),
                    shared,
                    scale=1.0,
                    causal=folded.causal,
                    value=shared,
                    mixed=by_head(f[..., width : (1 + layer.heads) * width], layer.heads),
                    transposed=found,
                )
            )
            width *= 1 + layer.heads
        return f, found

    def _project(self) -> Tensor | None:
        """What windows in a row share of the first wide product, where they do; see Overlap."""
        network = self._network
        if network.by_row is None:
            return None
        panels, bias = network.by_row.panels, network.by_row.bias
        rows = panels.room_for(network.library, len(self._values))
        self._add(project(network.library, self._values, panels, rows, bias=bias))
        return rows

    def _combine(self, attention: Tensor, projected: Tensor, first: Tensor) -> None:
        """The first wide product of windows that share their rows."""
        library, neighbours = self._network.library, self._network.folded.neighbours[0]
        count, heads, steps, _ = attention.shape
        # How much each step takes of each row: Nᵀ, then (S_h N)ᵀ.
        spread = self._room("spread", count, 1 + heads, steps, steps)
        spread[:, 0] = neighbours.T
        turned = neighbours.T.contiguous().expand(count, heads, -1, -1)
        self._add(mix(library, turned, attention, spread[:, 1:]))
        self._add(combine(library, spread, projected, first))

    def _wide(self, f: Tensor, projected: Tensor) -> tuple[list[Tensor], Tensor]:
        """What the last layer's values are made of, and its queries and keys."""
        network, library, folded = self._network, self._network.library, self._network.folded
        features = [f]
        for number, layer in enumerate(folded.wide):
            query, key, value, carry = torch.split(
                projected, [layer.inner] * 3 + [layer.mix.shape[1]], dim=-1
            )
            mixed = self._rows(f"mixed {number}", len(f), layer.inner)
            self._add(
                attend(
                    library,
                    by_head(query, layer.heads),
                    by_head(key, layer.heads),
                    scale=folded.scale,
                    causal=folded.causal,
                    value=by_head(value, layer.heads),
                    mixed=by_head(mixed, layer.heads),
                )
            )
            self._add(multiply(library, _flat(mixed), network.mix[number], _flat(carry), add=True))
            if number + 1 == len(folded.wide):
                projected, features = carry, [*features, mixed]
            else:
                following = network.later[number]
                projected = self._rows(f"later {number}", len(f), following.panels.shape[1])
                self._product(carry, following, projected)
                features = [carry]
        return features, projected

    def _finish(self, query_key: Tensor, features: list[Tensor], part: slice) -> None:
        """The last layer: the matrices, and what of the features the last row takes."""
        folded, library = self._network.folded, self._network.library
        count, steps, heads = len(query_key), folded.window, folded.heads
        query, key = query_key.chunk(2, dim=-1)
        # The last row itself, then what each head gathers for it.
        rows = self._room("rows", count, 1 + heads, steps)
        rows[:, 0] = 0
        rows[:, 0, -1] = 1
        self._add(
            attend(
                library,
                by_head(query, heads),
                by_head(key, heads),
                scale=folded.scale,
                causal=folded.causal,
                mean_transposed=self._mean[part],
                last=rows[:, 1:],
            )
        )
        seen = torch.split(self._seen[part], [each.shape[-1] for each in features], dim=-1)
        for each, into in zip(features, seen, strict=True):
            self._add(mix(library, rows[:, None], each[:, None], into[:, None]))

    def _product(self, x: Tensor, laid: _Laid, out: Tensor) -> None:
        library = self._network.library
        self._add(multiply(library, _flat(x), laid.panels, _flat(out), bias=laid.bias))

    def _rows(self, name: str, count: int, columns: int) -> Tensor:
        """Room for T rows of each window, an odd number of the cache's lines apart.

        Rows that are a power of two apart would all want the same few places in it.
        """
        lines = -(-columns // _LINE)
        apart = _LINE * (lines + (lines + 1) % 2)
        return self._room(name, count, self._network.folded.window, apart)[..., :columns]

    def _room(self, name: str, *shape: int) -> Tensor:
        return self._scratch.empty(name, *shape, like=self._expected)

    def _add(self, call: Call) -> None:
        self._calls.append(call)


class _Laid:
    """An affine map, its weight laid out."""

    def __init__(self, library: Library, given: Affine) -> None:
        self.panels = Panels(library, given.weight)
        self.bias = given.bias.contiguous()


def _flat(rows: Tensor) -> Tensor:
    """A view of (B, T, n) as (B·T, n)."""
    return rows.view(-1, rows.shape[-1])
