"""Speed as ratios: ours against the plain implementation, in the same run on the same machine.

The plain implementation is the network's own forward pass over all rows of every window, with one
full SVD for each layer's attention matrices (in training, differentiated by torch). Runs alternate
and medians are taken, so that other work on the machine touches both sides alike.
"""

from __future__ import annotations

import copy
import itertools
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.bench.surroundings import processor_name
from alora_ts.fast import kernels_for
from alora_ts.fast.threads import use_threads
from alora_ts.learning import Training
from alora_ts.learning.descent import descend
from alora_ts.network import ALoRaT
from alora_ts.progress import Report, Step

__all__ = ["CASES", "Case", "Comparison", "compare_speed", "describe_machine", "wavy_rows"]

_BATCH = Training.batch_size
_STEPS = 5
"""Training steps at a stretch."""

_FIT_ROWS = 23_700
"""As many as an SMD machine has."""

_BLOCK = 200
"""Rows pushed into a stream at a stretch."""


@dataclass(frozen=True)
class Case:
    """A size of model: window T, variables d, pairs K."""

    window: int
    variables: int
    pairs: int

    def __str__(self) -> str:
        return f"T={self.window} d={self.variables} K={self.pairs}"


CASES = (Case(20, 38, 128), Case(100, 25, 128))
"""The default network, with its window and with a long one."""


@dataclass(frozen=True)
class Comparison:
    """One line of the table.

    Attributes
    ----------
    work : str
        What was done, in words.
    case : Case
    ours, plain : float
        Milliseconds for one window, row, step or fit, in wall time.
    ours_processor, plain_processor : float
        The same in CPU time of all threads, which other work on the machine disturbs less.
    slowest : float
        99th percentile of ours in wall time, where single calls were timed; else NaN.
    """

    work: str
    case: Case
    ours: float
    plain: float
    ours_processor: float
    plain_processor: float
    slowest: float = float("nan")

    @property
    def ratio(self) -> float:
        """How many times faster than the plain implementation, in wall time."""
        return self.plain / self.ours

    @property
    def processor_ratio(self) -> float:
        """How many times less CPU time than the plain implementation."""
        return self.plain_processor / self.ours_processor


def wavy_rows(count: int, variables: int) -> NDArray[np.float32]:
    """Related signals: mixtures of a few waves, with noise.

    Examples
    --------
    >>> wavy_rows(5, 3).shape
    (5, 3)
    """
    rng = np.random.default_rng(0)
    periods = np.array([23.0, 61.0, 127.0, 400.0])
    waves = np.sin(2 * np.pi * np.arange(count)[:, None] / periods)
    rows = waves @ rng.normal(size=(4, variables)) + 0.1 * rng.normal(size=(count, variables))
    narrow: NDArray[np.float32] = rows.astype(np.float32)
    return narrow


def compare_speed(
    cases: Sequence[Case] = CASES,
    *,
    repetitions: int = 5,
    fit_rows: int = _FIT_ROWS,
    report: Report,
) -> list[Comparison]:
    """Time batch scoring, streaming, a training step and a fit against the plain implementation.

    Parameters
    ----------
    cases : sequence of Case
    repetitions : int
        Runs of each side, alternating.
    fit_rows : int
        Rows of the table that is fitted, with the first case's sizes.
    report : callable
        Receives the progress.

    Returns
    -------
    list of Comparison
    """
    found = []
    total = 3 * len(cases) + 1
    for number, case in enumerate(cases):
        model = fitted(case)
        for place, compare in enumerate((_batch, _stream, _training)):
            report(Step("measuring", 3 * number + place, total))
            found.append(compare(case, model, repetitions))
    report(Step("measuring", total - 1, total))
    found.append(_fit(cases[0], found[2], fit_rows))
    report(Step("measuring", total, total))
    return found


def fitted(case: Case) -> ALoRa:
    """A model of this size after a short training, so that its attention is of the usual kind."""
    rows = wavy_rows(case.window + 500, case.variables)
    model = ALoRa(window=case.window, pairs=case.pairs, epochs=1, epoch_windows=4 * _BATCH)
    return model.fit(rows, progress=False)


def _batch(case: Case, model: ALoRa, repetitions: int) -> Comparison:
    windows = max(128, 40_960 // case.window)
    rows = wavy_rows(windows + case.window - 1, case.variables)
    network = model.model_.network
    values = torch.from_numpy(rows).unfold(0, case.window, 1).transpose(1, 2).contiguous()

    def plain() -> None:
        for start in range(0, windows, 128):
            _plain_pass(network, values[start : start + 128])

    times = _alternate(lambda: model.score(rows, progress=False), plain, repetitions)
    return Comparison("scoring, a window", case, *(1e3 * each / windows for each in times))


def _stream(case: Case, model: ALoRa, repetitions: int) -> Comparison:
    rows = wavy_rows(case.window + (repetitions + 1) * _BLOCK, case.variables)
    stream = model.stream()
    for row in rows[: case.window]:
        stream.push(row)
    following = iter(rows[case.window :])
    network = model.model_.network
    window = torch.from_numpy(rows[None, : case.window])
    clock: list[float] = []

    # A stream runs alone for long stretches, so blocks of rows alternate: row by row each side
    # would find the CPU's caches full of the other's weights.
    def push() -> None:
        for row in itertools.islice(following, _BLOCK):
            start = time.perf_counter()
            stream.push(row)
            clock.append(time.perf_counter() - start)

    def plain() -> None:
        for _ in range(_BLOCK):
            _plain_pass(network, window)

    with use_threads(1):
        times = _alternate(push, plain, repetitions)
    slowest = 1e3 * float(np.quantile(clock, 0.99))
    ours, other, own, others = (1e3 * block / _BLOCK for block in times)
    return Comparison("streaming, a row (one thread)", case, ours, other, own, others, slowest)


def _training(case: Case, model: ALoRa, repetitions: int) -> Comparison:
    rows = wavy_rows(case.window + 300, case.variables)
    network = copy.deepcopy(model.model_.network)
    windows = torch.stack([torch.from_numpy(rows[at : at + case.window]) for at in range(_BATCH)])
    options = model.training

    # Steps follow one another in training, so a few alternate with as many of the plain ones.
    def ours() -> None:
        for _ in range(_STEPS):
            descend(network, windows, options)

    def plain() -> None:
        for _ in range(_STEPS):
            network.zero_grad()
            encoding = network(windows)
            tails = [torch.linalg.svdvals(matrices)[:, 1:] for matrices in encoding.attention]
            penalty = torch.stack([(tail / (tail + 1)).sum(-1).mean() for tail in tails]).sum()
            error = (encoding.reconstruction - windows).square().mean()
            (error + options.low_rank_weight * penalty).backward()

    times = _alternate(ours, plain, repetitions)
    seen = _STEPS * _BATCH
    return Comparison("training, a window", case, *(1e3 * each / seen for each in times))


def _fit(case: Case, step: Comparison, rows: int) -> Comparison:
    """A whole fit with the defaults, against as many epochs of plain steps over every window.

    The plain side is a number of steps times the time of one: it would take minutes.
    """
    table = wavy_rows(rows, case.variables)
    clock, processor = time.perf_counter(), time.process_time()
    model = ALoRa(window=case.window, pairs=case.pairs).fit(table, progress=False)
    ours = 1e3 * (time.perf_counter() - clock), 1e3 * (time.process_time() - processor)
    windows = model.epochs * round((1 - model.training.validation_share) * rows)
    work = f"a fit of {rows:,} rows (plain: {model.epochs} epochs, every window)"
    return Comparison(
        work, case, ours[0], windows * step.plain, ours[1], windows * step.plain_processor
    )


@torch.no_grad()
def _plain_pass(network: ALoRaT, windows: torch.Tensor) -> None:
    for matrices in network(windows).attention:
        torch.linalg.svdvals(matrices)


def _alternate(
    ours: Callable[[], object], plain: Callable[[], object], repetitions: int
) -> tuple[float, float, float, float]:
    """Median seconds: ours and plain in wall time, ours and plain in CPU time."""
    seconds = np.empty((repetitions, 2, 2))
    ours(), plain()
    for row in seconds:
        for side, work in enumerate((ours, plain)):
            clock, processor = time.perf_counter(), time.process_time()
            work()
            row[:, side] = time.perf_counter() - clock, time.process_time() - processor
    (clock_ours, clock_plain), (own, other) = np.median(seconds, axis=0)
    return float(clock_ours), float(clock_plain), float(own), float(other)


def describe_machine() -> str:
    """The machine, what it can do, and the versions, on one line.

    Examples
    --------
    >>> "GFLOP/s" in describe_machine()
    True
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    threads = torch.get_num_threads()
    with use_threads(1):
        alone = _product_rate()
    return (
        f"{processor_name()}, {os.cpu_count()} cores, {threads} thread(s) for "
        f"torch {torch.__version__}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, {_kernels()}, load average {load:.1f} when measured; a large "
        f"product ran at {_product_rate():.0f} GFLOP/s, with one thread at {alone:.0f}"
    )


def _kernels() -> str:
    """Which compiled kernels are in use."""
    kernels = kernels_for(torch.empty(0))
    return "no compiled kernels" if kernels is None else f"kernels for {kernels.instructions}"


def _product_rate() -> float:
    """Billions of operations a second in a product of large matrices, the median of several."""
    side = 1024
    matrix, into = torch.randn(side, side), torch.empty(side, side)
    seconds = []
    for _ in range(15):
        start = time.perf_counter()
        torch.mm(matrix, matrix, out=into)
        seconds.append(time.perf_counter() - start)
    return float(2e-9 * side**3 / np.median(seconds))
