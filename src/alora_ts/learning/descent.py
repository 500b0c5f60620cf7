"""The gradient of a batch, computed in parts side by side.

A batch is always cut into the same parts, whatever the number of threads, and each part is
computed by one thread from beginning to end. So the cores never wait for each other inside a
product, LAPACK's batched calls use all of them, and a fit gives the same weights with one thread as
with two. What depends on the weights alone (:class:`~alora_ts.fast.folds.Folds`) is computed
once, that of the first layer beside that of the last; the gradients of the weights come from the
rows of all parts, several weights at once.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from alora_ts.fast.batch import BatchRows, FoldedPart
from alora_ts.fast.folds import Folds, fold
from alora_ts.fast.gradients import weight_gradients
from alora_ts.fast.scratch import Scratch
from alora_ts.fast.threads import side_by_side, use_threads
from alora_ts.learning.loss import Loss, judge, weighted_mean
from alora_ts.learning.options import Training
from alora_ts.network import ALoRaT

__all__ = ["Descend", "Descent"]

Descend = Callable[[ALoRaT, Tensor, Training], Loss]
"""Gives the loss of a batch of windows (B, T, d) and leaves its gradient in the network, in place
of the one that was there."""

_PART_ROWS = 320
"""The fewest steps of all windows of a part: products of fewer rows run less well."""

_MOST_PARTS = 4
"""Long windows make enough rows for more, so that a third and a fourth core have work too."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Batch:
    """A batch to be computed, and how."""

    network: ALoRaT
    windows: Tensor
    options: Training
    parts: list[slice]
    threads: int

    def share(self, part: slice) -> float:
        """Of all windows, as a fraction."""
        return float(part.stop - part.start) / len(self.windows)

    def side_by_side(self, run: Callable[[int], _Result]) -> list[_Result]:
        """What a function gives for the number of each part."""
        return side_by_side(run, range(len(self.parts)), threads=self.threads)

    def loss(self, by_part: Sequence[Loss]) -> Loss:
        """Of the whole batch."""
        return weighted_mean(by_part, [self.share(part) for part in self.parts])


class Descent:
    """Computes gradients in this process, and keeps its memory from step to step.

    Notes
    -----
    The gradients left in a network are in that memory too: the next call writes over them.

    Examples
    --------
    >>> from alora_ts.network import Architecture
    >>> _ = torch.manual_seed(0)
    >>> pairs = torch.combinations(torch.arange(4)).repeat(8, 1)
    >>> network = ALoRaT(pairs, variables=4, window=6, architecture=Architecture(heads=2))
    >>> loss = Descent()(network, torch.randn(3, 6, 4), Training())
    >>> loss.squares.shape, network.decode.weight.grad.shape
    (torch.Size([4]), torch.Size([4, 48]))
    """

    def __init__(self) -> None:
        self._rows = Scratch()
        self._of_layers: defaultdict[tuple[int, int], Scratch] = defaultdict(Scratch)
        self._of_weights: defaultdict[int, Scratch] = defaultdict(Scratch)
        self._of_folds: defaultdict[str, Scratch] = defaultdict(Scratch)

    def __call__(self, network: ALoRaT, windows: Tensor, options: Training) -> Loss:
        """Evaluate Eq. 8 on a batch and its gradient.

        Parameters
        ----------
        network : ALoRaT
        windows : Tensor of shape (B, T, d)
        options : Training

        Returns
        -------
        Loss
            Where it is not finite, the network is left without a gradient.
        """
        before = [parameter.grad for parameter in network.parameters()]
        network.zero_grad()
        # The authors' penalty spares the batch's first window, so it needs the batch whole.
        parts = _parts(windows, whole=options.penalty == "authors")
        batch = _Batch(network, windows, options, parts, torch.get_num_threads())
        with use_threads(1):
            folds = fold(network, self._of_folds, threads=batch.threads)
            loss = _descend_plainly(batch) if folds is None else self._descend(batch, folds)
        # The old gradient goes only now that the new one is there: its memory then stays with the
        # process for the next step, and need not come from the system page by page.
        before.clear()
        return loss

    def _descend(self, batch: _Batch, folds: Folds) -> Loss:
        steps, layers = batch.windows.shape[1], batch.network.architecture.layers
        rows = BatchRows.room(folds, len(batch.windows) * steps, self._rows)

        def run(number: int) -> Loss:
            part = batch.parts[number]
            windows = batch.windows[part]
            folded = FoldedPart(
                batch.network,
                folds,
                windows,
                rows.part(slice(part.start * steps, part.stop * steps)),
                [self._of_layers[number, layer] for layer in range(layers)],
            )
            encoding = folded.forward(per_head=batch.options.per_head)
            shown = encoding.attention if encoding.heads is None else encoding.heads
            found = [each.requires_grad_() for each in (encoding.reconstruction, *shown)]
            loss = judge(encoding, windows, batch.options)
            if torch.isfinite(loss.total):
                of_found = torch.autograd.grad(batch.share(part) * loss.total, found)
                folded.backward(of_found[0], of_found[1:])
            return loss

        loss = batch.loss(batch.side_by_side(run))
        if torch.isfinite(loss.total):
            work = weight_gradients(folds, rows)
            side_by_side(
                lambda number: work[number](self._of_weights[number]),
                range(len(work)),
                threads=batch.threads,
            )
        return loss


def _descend_plainly(batch: _Batch) -> Loss:
    """For networks that cannot be folded: torch's own gradients, summed over the parts."""
    weights = list(batch.network.parameters())

    def run(number: int) -> tuple[Loss, tuple[Tensor | None, ...]]:
        part = batch.parts[number]
        windows = batch.windows[part]
        encoding = batch.network(windows, per_head=batch.options.per_head)
        loss = judge(encoding, windows, batch.options)
        if not torch.isfinite(loss.total):
            return loss, ()
        scaled = batch.share(part) * loss.total
        return loss, torch.autograd.grad(scaled, weights, allow_unused=True)

    losses, gradients = zip(*batch.side_by_side(run), strict=True)
    loss = batch.loss(losses)
    if torch.isfinite(loss.total):
        for weight, *by_part in zip(weights, *gradients, strict=True):
            used = [each for each in by_part if each is not None]
            weight.grad = torch.stack(used).sum(0) if used else None
    return loss


def _parts(windows: Tensor, *, whole: bool) -> list[slice]:
    """Which windows make a part."""
    count, steps, _ = windows.shape
    # A GPU has no use for parts.
    parts = 1 if whole or windows.is_cuda else count * steps // _PART_ROWS
    parts = max(1, min(parts, _MOST_PARTS, count))
    ends = [count * number // parts for number in range(parts + 1)]
    return [slice(*each) for each in itertools.pairwise(ends)]
