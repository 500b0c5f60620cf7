"""The training loop that the torch methods share.

:func:`train` draws batches of windows and calls a *step* with each; :class:`AdamStep` is the usual
one. :class:`BestWeights`, called after each epoch, keeps the best weights and stops early.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from alora_ts.baselines.windowed import Windows
from alora_ts.errors import TrainingError
from alora_ts.learning.adam import Adam
from alora_ts.progress import Report, Step

__all__ = [
    "AdamStep",
    "BestWeights",
    "Loss",
    "Seen",
    "count_windows",
    "counting",
    "guard",
    "mean_loss",
    "train",
]

Loss = Callable[[Tensor], Tensor]
"""From a batch of windows (B, T, d) to a scalar."""


@dataclass
class Seen:
    """How many windows were learned from, repetitions included."""

    windows: int = 0


_counter: ContextVar[Seen | None] = ContextVar("seen", default=None)


@contextmanager
def counting() -> Iterator[Seen]:
    """Count what is learned from inside, whatever loops and phases a method has.

    Examples
    --------
    >>> with counting() as seen:
    ...     count_windows(32)
    ...     count_windows(8)
    >>> seen.windows
    40
    """
    seen = Seen()
    token = _counter.set(seen)
    try:
        yield seen
    finally:
        _counter.reset(token)


def count_windows(count: int) -> None:
    """Note a batch; :func:`train` does, and so must every other loop."""
    seen = _counter.get()
    if seen is not None:
        seen.windows += count


def train(
    step: Callable[[Tensor], Mapping[str, float]],
    windows: Windows,
    *,
    epochs: int,
    batch_size: int,
    rng: np.random.Generator,
    report: Report,
    task: str = "fitting",
    after_epoch: Callable[[int], bool | None] | None = None,
) -> int:
    """Show all windows in random order, once an epoch.

    Parameters
    ----------
    step : callable
        Learns from a batch (B, T, d) and gives numbers to show.
    windows : Windows
        The training windows.
    epochs, batch_size : int
        How often, and how many at a time; the last batch of an epoch may be smaller.
    rng : numpy.random.Generator
        Draws the order.
    report : callable
        Receives progress.
    task : str
        What the progress is called.
    after_epoch : callable, optional
        Called with the number of the epoch, from 1; returning True ends the training.

    Returns
    -------
    int
        How many epochs were run.
    """
    per_epoch = math.ceil(len(windows) / batch_size)
    total = epochs * per_epoch
    done = 0
    for epoch in range(1, epochs + 1):
        order = rng.permutation(len(windows))
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            facts = step(windows.take(batch))
            count_windows(len(batch))
            done += 1
            report(Step(task, done, total, dict(facts)))
        if after_epoch is not None and after_epoch(epoch):
            report(Step(task, total, total))
            return epoch
    return epochs


def guard(loss: Tensor) -> float:
    """Return a loss as a number, or stop when it is not finite.

    Raises
    ------
    TrainingError
        When the loss is not finite.

    Examples
    --------
    >>> guard(torch.tensor(2.0))
    2.0
    """
    value = float(loss.detach())
    if not math.isfinite(value):
        raise TrainingError(
            "training stopped: the loss is no longer finite; lower learning_rate, or look for "
            "extreme values in the training data"
        )
    return value


class AdamStep:
    """One step of Adam on a loss.

    Parameters
    ----------
    parameters : iterable of Tensor
        What is learned.
    loss : callable
        From a batch to a scalar.
    rate : float
        The learning rate; ``set_rate`` changes it.
    decay : float
        Weight decay.
    clip : float, optional
        Largest gradient norm of each tensor.

    Examples
    --------
    >>> weight = nn.Parameter(torch.tensor(1.0))
    >>> step = AdamStep([weight], lambda batch: (weight - batch).square().mean(), rate=0.1)
    >>> step(torch.zeros(3))["loss"]
    1.0
    >>> round(weight.item(), 3)
    0.9
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        loss: Loss,
        *,
        rate: float,
        decay: float = 0.0,
        clip: float | None = None,
    ) -> None:
        self._parameters = list(parameters)
        self._loss = loss
        self._clip = clip
        self._optimiser = Adam(self._parameters, lr=rate, weight_decay=decay)

    def __call__(self, batch: Tensor) -> dict[str, float]:
        """Learn from a batch."""
        loss = self._loss(batch)
        value = guard(loss)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._clip is not None:
            for parameter in self._parameters:
                if parameter.grad is not None:
                    nn.utils.clip_grad_norm_(parameter, self._clip)
        self._optimiser.step()
        return {"loss": value}

    def set_rate(self, rate: float) -> None:
        """Change the learning rate."""
        for group in self._optimiser.param_groups:
            group["lr"] = rate


class BestWeights:
    """Keeps the weights that score best; called after each epoch.

    Parameters
    ----------
    network : nn.Module
        The network in training.
    judge : callable
        Gives one or several numbers, lower is better; an epoch is better than the best so far
        when *all* of them are lower.
    patience : int, optional
        After how many epochs in a row without a better one to stop; by default never.

    Examples
    --------
    >>> network = nn.Linear(1, 1)
    >>> judgements = iter([(2.0,), (1.0,), (3.0,)])
    >>> best = BestWeights(network, lambda: next(judgements), patience=1)
    >>> [best(epoch) for epoch in (1, 2, 3)], best.epoch
    ([False, False, True], 2)
    >>> best.restore()
    """

    def __init__(
        self,
        network: nn.Module,
        judge: Callable[[], tuple[float, ...]],
        *,
        patience: int | None = None,
    ) -> None:
        self.epoch = 0
        self._network = network
        self._judge = judge
        self._patience = patience
        self._best: tuple[float, ...] | None = None
        self._weights = copy.deepcopy(network.state_dict())

    def __call__(self, epoch: int) -> bool:
        """Judge the weights; say whether to stop."""
        judged = self._judge()
        if self._best is None or all(
            new < old for new, old in zip(judged, self._best, strict=True)
        ):
            self.epoch, self._best = epoch, judged
            self._weights = copy.deepcopy(self._network.state_dict())
        return self._patience is not None and epoch - self.epoch >= self._patience

    def restore(self) -> None:
        """Give the network its best weights back."""
        self._network.load_state_dict(self._weights)


@torch.no_grad()
def mean_loss(network: nn.Module, loss: Loss, windows: Windows, *, batch_size: int) -> float:
    """Average a loss over windows, with the network in evaluation mode.

    Examples
    --------
    >>> from alora_ts.baselines.inputs import InputReader, Scaling
    >>> from alora_ts.baselines.windowed import plan_strided
    >>> rows = InputReader(Scaling()).fit(np.arange(8.0))
    >>> windows = Windows(rows, plan_strided(rows, 2, 2))
    >>> power = lambda batch: batch.square().mean()
    >>> round(mean_loss(nn.Identity(), power, windows, batch_size=3), 6)
    1.0
    """
    before = network.training
    network.eval()
    total = 0.0
    for batch in windows.batches(batch_size):
        total += float(loss(batch)) * len(batch)
    network.train(before)
    return total / len(windows)
