"""One very long or very wide series, fitted by several processes that share each batch.

torch's DistributedDataParallel averages the gradients. Every process draws the same batch and takes
its part of it, weighted by the part's size, so the average is the gradient of the whole batch: the
fit is the one a single process would make, up to rounding.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd import Function
from torch.multiprocessing.spawn import start_processes
from torch.nn.parallel import DistributedDataParallel

from alora_ts.data import as_table
from alora_ts.errors import AloraError
from alora_ts.estimator import ALoRa
from alora_ts.fast.threads import use_threads
from alora_ts.fleet.processes import begin_method
from alora_ts.learning.descent import descend
from alora_ts.learning.loss import Loss
from alora_ts.learning.options import Training
from alora_ts.model.fit import fit_model
from alora_ts.network import ALoRaT
from alora_ts.progress import Progress, reporting

__all__ = ["SharedDescent", "fit_long"]


def fit_long(
    estimator: ALoRa,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    processes: int = 2,
    time: str | None = None,
    progress: Progress = None,
) -> Path:
    """Fit one model with several processes and write it.

    Parameters
    ----------
    estimator : ALoRa
        How to fit; it is not changed.
    source : path
        CSV or Parquet, a folder or a glob. Each process reads it.
    output : path
        The model file.
    processes : int
        How many, on this computer. Ignored where the caller is one of several processes already:
        started by ``torchrun``, or in a process group that is set up. Then every one of them must
        make the same call, and the first writes the model.
    time : str, optional
        The time column.
    progress : bool, callable or None
        None shows a bar on a terminal.

    Returns
    -------
    pathlib.Path
        The model file.

    Raises
    ------
    AloraError
        When ``penalty="authors"``, which is not a mean over windows and cannot be shared out.
    """
    if estimator.training.penalty == "authors":
        raise AloraError(
            "penalty='authors' depends on the whole batch at once and cannot be shared between "
            "processes; use penalty='paper'"
        )
    if processes < 1:
        raise AloraError(f"processes={processes} is too small; give at least 1")
    target = Path(output)
    if dist.is_initialized() or "TORCHELASTIC_RUN_ID" in os.environ:
        with _group():
            _fit_together(estimator, source, target, time, progress)
        return target
    with tempfile.TemporaryDirectory(prefix="alora-group-") as folder:
        call = _Call(
            parameters=estimator.plain_params(),
            source=os.fspath(source),
            target=target,
            time=time,
            processes=processes,
            folder=folder,
            progress=progress if isinstance(progress, bool) else None,
        )
        start_processes(  # type: ignore[no-untyped-call]
            _one_of, (call,), nprocs=processes, start_method=begin_method()
        )
    return target


class SharedDescent:
    """Gives the loss of a batch and its gradient, computed by all processes of the group.

    See :data:`alora_ts.learning.descent.Descend`.
    """

    def __init__(self) -> None:
        self._shared: DistributedDataParallel | None = None
        self._network: ALoRaT | None = None

    def __call__(self, network: ALoRaT, windows: Tensor, options: Training) -> Loss:
        """The batch's loss; its gradient is in the network of every process."""
        if self._shared is None or self._network is not network:
            self._network = network
            self._shared = DistributedDataParallel(_Objective(network, options))
        world, mine = dist.get_world_size(), dist.get_rank()
        parts = windows.tensor_split(world)
        # A batch smaller than the group leaves some without a part; they join in with weight 0.
        part = parts[mine] if len(parts[mine]) else windows[:1]
        share = len(parts[mine]) / len(windows)
        total, error, penalty, squares = self._shared(part)
        terms = torch.cat([torch.stack([total, error, penalty]), squares]).detach() * share
        dist.all_reduce(terms)
        if torch.isfinite(terms[0]):
            # The group divides the sum of all gradients by its size.
            (total * share * world).backward()
        return Loss(terms[0], terms[1], terms[2], terms[3:])


class _Objective(nn.Module):
    """The loss as a module, which is what can be shared."""

    def __init__(self, network: ALoRaT, options: Training) -> None:
        super().__init__()
        self.network = network
        self._options = options

    def forward(self, windows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        weights = list(self.network.parameters())
        found: tuple[Tensor, Tensor, Tensor, Tensor] = _Descended.apply(  # type: ignore[no-untyped-call]
            lambda: descend(self.network, windows, self._options), *weights
        )
        return found


class _Descended(Function):
    """A loss whose gradient comes with it; torch receives it in the backward pass."""

    @staticmethod
    def forward(ctx: Any, descend: Callable[[], Loss], *weights: Tensor) -> tuple[Tensor, ...]:
        with torch.enable_grad():
            loss = descend()
        ctx.gradients = [weight.grad for weight in weights]
        for weight in weights:
            weight.grad = None
        return loss.total, loss.error, loss.penalty, loss.squares

    @staticmethod
    def backward(ctx: Any, *grad_terms: Tensor) -> tuple[Tensor | None, ...]:
        grad_total = grad_terms[0]
        return None, *(each if each is None else grad_total * each for each in ctx.gradients)


@dataclass(frozen=True, kw_only=True)
class _Call:
    parameters: dict[str, Any]
    source: str
    target: Path
    time: str | None
    processes: int
    folder: str
    progress: bool | None


def _one_of(rank: int, call: _Call) -> None:
    """One process of a group on this computer, reachable from nowhere else."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    meet = f"file://{call.folder}/group"
    dist.init_process_group("gloo", init_method=meet, rank=rank, world_size=call.processes)
    try:
        with use_threads(1):
            estimator = ALoRa.from_params(call.parameters)
            _fit_together(estimator, call.source, call.target, call.time, call.progress)
    finally:
        dist.destroy_process_group()


@contextmanager
def _group() -> Iterator[None]:
    """The group this process belongs to: one that is there, or that torchrun describes."""
    if dist.is_initialized():
        ours = False
    else:
        dist.init_process_group("gloo")
        ours = True
    try:
        yield
    finally:
        if ours:
            dist.destroy_process_group()


def _fit_together(
    estimator: ALoRa,
    source: str | os.PathLike[str],
    target: Path,
    time: str | None,
    progress: Progress,
) -> None:
    table = as_table(os.fspath(source), time=time, progress=False)
    first = dist.get_rank() == 0
    with reporting(progress if first else False) as report:
        estimator = estimator.clone()
        estimator.model_ = fit_model(
            table,
            validation=None,
            segments=None,
            options=estimator.fit_options(),
            callbacks=(),
            report=report,
            descend=SharedDescent(),
        )
    if first:
        estimator.save(target)
    # Nobody reads the model before it is complete.
    dist.barrier()
