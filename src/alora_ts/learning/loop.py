"""The training loop: Adam, a warm start and a falling rate, early stopping, a guard for NaN."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from alora_ts.errors import TrainingError
from alora_ts.fast.backward import encode
from alora_ts.learning import descent
from alora_ts.learning.adam import Adam
from alora_ts.learning.callbacks import Callback, EpochEnd
from alora_ts.learning.loss import Loss, judge
from alora_ts.learning.options import Training
from alora_ts.learning.sampling import WindowSource, shuffled_forever
from alora_ts.learning.summary import TrainingSummary
from alora_ts.network import ALoRaT
from alora_ts.progress import Report, Step

__all__ = ["train"]

_WARM_UP_STEPS = 30
_VALIDATION_WINDOWS = 512


def train(
    network: ALoRaT,
    training: WindowSource,
    validation: WindowSource | None,
    *,
    options: Training,
    epochs: int,
    epoch_windows: int,
    rng: np.random.Generator,
    variables: Sequence[str],
    report: Report,
    callbacks: Sequence[Callback] = (),
    descend: descent.Descend | None = None,
) -> TrainingSummary:
    """Train a network in place and leave it with the best weights seen.

    Parameters
    ----------
    network : ALoRaT
    training, validation : WindowSource
        Without validation windows the training runs to its end and keeps the last weights.
    options : Training
    epochs : int
        Most epochs; early stopping may end sooner.
    epoch_windows : int
        Windows drawn for an epoch. Windows at stride 1 overlap T-fold, so a random part of them
        says nearly as much as all. Each epoch goes on with the windows not drawn yet.
    rng : numpy.random.Generator
        Draws the windows.
    variables : sequence of str
        Names, for error messages.
    report : callable
        Receives a :class:`~alora_ts.progress.Step` after each step.
    callbacks : sequence of Callback
        Called after each epoch.
    descend : callable or None
        Where the gradient comes from; None computes it here.

    Returns
    -------
    TrainingSummary

    Raises
    ------
    TrainingError
        When the loss is no longer finite.

    Notes
    -----
    An interrupt (Ctrl-C) ends the training; the best weights so far are kept and the summary
    says so.
    """
    descend = descent.descend if descend is None else descend
    steps_per_epoch = max(1, min(epoch_windows, len(training)) // options.batch_size)
    batch = min(options.batch_size, len(training))
    total_steps = steps_per_epoch * epochs
    optimiser = Adam(network.parameters(), lr=options.learning_rate)
    factor = _falling if options.rate == "falling" else _constant
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: factor(step, total_steps))
    order = shuffled_forever(len(training), rng)
    best = _Best(network)
    ends: list[EpochEnd] = []
    stopped: Literal["finished", "early", "interrupted"] = "finished"
    step = 0
    network.train()
    try:
        for epoch in range(1, epochs + 1):
            error = penalty = 0.0
            for _ in range(steps_per_epoch):
                which = np.fromiter(itertools.islice(order, batch), dtype=np.int64)
                windows = training.take(which)
                loss = descend(network, windows, options)
                _guard(loss, windows, variables)
                nn.utils.clip_grad_norm_(network.parameters(), options.gradient_clip)
                optimiser.step()
                schedule.step()
                step += 1
                error += loss.error.item() / steps_per_epoch
                penalty += loss.penalty.item() / steps_per_epoch
                facts = {"error": loss.error.item(), "low-rank": loss.penalty.item()}
                report(Step("fitting", step, total_steps, facts))
            judged = _validate(network, validation, options)
            end = EpochEnd(epoch, error, penalty, judged, network)
            ends.append(end)
            best.consider(network, end)
            asked_to_stop = [callback(end) for callback in callbacks]
            if any(asked_to_stop) or (epoch - best.epoch >= options.patience):
                stopped = "early" if epoch < epochs else "finished"
                break
    except KeyboardInterrupt:
        stopped = "interrupted"
    report(Step("fitting", total_steps, total_steps))
    best.restore(network)
    network.eval()
    return TrainingSummary(
        error=tuple(end.error for end in ends),
        penalty=tuple(end.penalty for end in ends),
        validation=tuple(end.validation for end in ends),
        best_epoch=best.epoch,
        stopped=stopped,
        windows=step * batch,
    )


class _Best:
    """The weights with the lowest validation loss."""

    def __init__(self, network: ALoRaT) -> None:
        self.epoch = 0
        self._loss = math.inf
        self._weights = copy.deepcopy(network.state_dict())

    def consider(self, network: ALoRaT, end: EpochEnd) -> None:
        # Without validation windows the loss is NaN, and the newest weights are the best known.
        if end.validation < self._loss or math.isnan(end.validation):
            self.epoch, self._loss = end.epoch, end.validation
            self._weights = copy.deepcopy(network.state_dict())

    def restore(self, network: ALoRaT) -> None:
        network.load_state_dict(self._weights)


def _constant(_step: int, _total: int) -> float:
    return 1.0


def _falling(step: int, total: int) -> float:
    warm = min(1.0, (step + 1) / min(_WARM_UP_STEPS, max(1, total // 4)))
    return warm * 0.5 * (1 + math.cos(math.pi * step / total))


def _guard(loss: Loss, windows: Tensor, variables: Sequence[str]) -> None:
    if torch.isfinite(loss.total):
        return
    # Attention spreads a NaN over all reconstructed variables; the inputs still tell them apart.
    extreme = windows.abs().amax((0, 1)).nan_to_num(nan=torch.inf)
    extreme[torch.isfinite(loss.squares)] = -1
    worst = int(extreme.argmax())
    raise TrainingError(
        f"training stopped: the loss is no longer finite, first seen in variable "
        f"{variables[worst]!r}. Look for extreme values there, use scaling='robust', or lower "
        "learning_rate"
    )


@torch.no_grad()
def _validate(network: ALoRaT, validation: WindowSource | None, options: Training) -> float:
    if validation is None or len(validation) == 0:
        return math.nan
    network.eval()
    count = min(len(validation), _VALIDATION_WINDOWS)
    which = np.linspace(0, len(validation) - 1, count).round().astype(np.int64)
    parts = np.array_split(which, math.ceil(count / 64))
    losses = []
    for part in parts:
        windows = validation.take(part)
        encoding = encode(network, windows, per_head=options.per_head)
        losses.append(judge(encoding, windows, options).total.item())
    network.train()
    return float(np.average(losses, weights=[len(part) for part in parts]))
