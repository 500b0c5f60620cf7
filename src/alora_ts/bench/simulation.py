"""Appendix E: how an anomaly in one of two series spreads through attention with known weights.

Two independent white series, the first of which is shifted by Δ in rows 200 to 299 of 500, go
through a network without embedding: two layers of one head with given value matrices and a given
output matrix; queries and keys are learned. E₁ⱼ and C₁ⱼ predict by how much the latent and the
reconstructed series j move, in units of Δ.

The paper does not print its means, spreads, Δ nor what the queries and keys are learned on. Here
μ = (0, 0), σ = (1, 1), and Δ = 10 (for the picture; other sizes are measured beside it). The paper
can be read in two ways, and both are measured:

* *windows*: the network looks back over 20 rows, as the method does, and learns from 500 healthy
  rows. Measured on the rows whose whole window lies in the anomaly.
* *whole*: all 500 rows are one window, as T = 500 says literally, and the network learns from the
  series it is then shown. Here attention may also look from anomalous to healthy rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call, stack_module_state

from alora_ts.errors import AloraError
from alora_ts.fast.threads import use_threads
from alora_ts.learning.adam import Adam
from alora_ts.network import ALoRaT, Architecture, contribution_weights
from alora_ts.progress import Progress, Report, Step, reporting

__all__ = [
    "Case",
    "Course",
    "Reading",
    "Simulation",
    "fixed_network",
    "run_simulation",
    "two_series",
]

ROWS, START, END = 500, 200, 300
VALUES = (((1.0, 0.0), (0.0, 1.0)), ((0.2, 0.7), (0.8, 0.3)))
OUTPUT = ((0.1, 0.9), (0.9, 0.1))
WINDOW = 20
SHIFT = 10.0
SHIFTS = (2.0, 5.0, SHIFT, 20.0, 50.0)

_STEPS, _BATCH, _LEARNING_RATE = 100, 32, 0.05
_QUERIES_AND_KEYS = "query_key_value.weight"

Array = NDArray[np.float64]
Reading = Literal["windows", "whole"]


@dataclass(frozen=True)
class Case:
    """One way to read the experiment, over all runs.

    Attributes
    ----------
    reading : {"windows", "whole"}
        See the module's description.
    skip : bool
        With skip connections.
    shift : float
        Δ, in standard deviations.
    weights : ndarray of shape (4,)
        E₁₁, E₁₂, C₁₁, C₁₂.
    moved : ndarray of shape (runs, 4)
        How far the two latent and the two reconstructed series moved, in units of Δ.
    """

    reading: Reading
    skip: bool
    shift: float
    weights: Array
    moved: Array

    @property
    def ratio(self) -> Array:
        """What was measured over what the weights say, (runs, 4)."""
        shares: Array = self.moved / self.weights
        return shares


@dataclass(frozen=True)
class Course:
    """The series, averaged over all runs at Δ = 10, windows of 20 rows.

    Attributes
    ----------
    skip : bool
    rows : ndarray of int, shape (n,)
        Rows with a full window.
    given, latent, reconstructed : ndarray of shape (n, 2)
    """

    skip: bool
    rows: NDArray[np.int64]
    given: Array
    latent: Array
    reconstructed: Array


@dataclass(frozen=True)
class Simulation:
    """What :func:`run_simulation` found.

    Attributes
    ----------
    runs : int
    seed : int
    cases : tuple of Case
    courses : tuple of Course
        Without and with skip connections.
    """

    runs: int
    seed: int
    cases: tuple[Case, ...]
    courses: tuple[Course, ...]

    @property
    def caption(self) -> str:
        """What was found, for below the picture."""
        said = [
            f"Two white series of which the first is shifted by Δ = {SHIFT:g} σ in rows {START} "
            f"to {END - 1}, seen through windows of {WINDOW} rows by attention with given value "
            f"and output matrices, mean of {self.runs} runs. Dotted: the shift that the weights "
            "predict. Last row: measured over predicted shift on rows whose window lies in the "
            "anomaly, mean and standard deviation over runs."
        ]
        for case in self.cases:
            if case.reading == "windows" and case.shift in {SHIFT, SHIFTS[-1]}:
                mean = ", ".join(f"{one:.2f}" for one in case.ratio.mean(0))
                said.append(f"At Δ = {case.shift:g} σ {_skips(case.skip)}: {mean}.")
        return " ".join(said)


def two_series(*, shift: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw the two series, (500, 2); the first is up by ``shift`` in rows 200 to 299.

    Examples
    --------
    >>> drawn = two_series(shift=10.0, rng=np.random.default_rng(0))
    >>> drawn.shape, bool(drawn[200:300, 0].min() > drawn[:200, 0].max())
    ((500, 2), True)
    """
    drawn = rng.standard_normal((ROWS, 2))
    drawn[START:END, 0] += shift
    return drawn.astype(np.float32)


def fixed_network(*, skip: bool, window: int, seed: int = 0) -> ALoRaT:
    """Build the network of appendix E: no embedding, no biases, given values and output.

    Parameters
    ----------
    skip : bool
        With skip connections.
    window : int
        T.
    seed : int
        Of the queries and keys it begins with.

    Returns
    -------
    ALoRaT

    Examples
    --------
    >>> contribution_weights(fixed_network(skip=False, window=20)).latent[0]
    tensor([0.2000, 0.7000])
    >>> contribution_weights(fixed_network(skip=True, window=20)).latent[0]
    tensor([2.4000, 1.4000])
    """
    # A dense embedding of width one with the identity for its weights is no embedding.
    architecture = Architecture(layers=2, heads=1, embedding="dense", kernel_width=1, skip=skip)
    network = ALoRaT(
        torch.tensor([[0, 1], [0, 1]]),
        variables=2,
        window=window,
        architecture=architecture,
        generator=torch.Generator().manual_seed(seed),
    )
    identity = torch.eye(2)
    with torch.no_grad():
        network.embed.weight.copy_(identity[None])
        for layer, value in zip(network.blocks, VALUES, strict=True):
            layer.query_key_value.weight[4:] = torch.tensor(value).T
            layer.query_key_value.bias.zero_()
            layer.project.weight.copy_(identity)
            layer.project.bias.zero_()
        network.decode.weight.copy_(torch.tensor(OUTPUT).T)
        network.decode.bias.zero_()
    return network


def _learn_attention(
    networks: Sequence[ALoRaT], windows: Tensor, rngs: Sequence[np.random.Generator]
) -> None:
    """Learn queries and keys of several networks, each from its own windows (R, B, T, 2).

    Nothing passes from one network to another; they only share each step's overhead, which for
    matrices this small is nearly all of the work.
    """
    weights, _ = stack_module_state(list(networks))
    learned = {name: one for name, one in weights.items() if name.endswith(_QUERIES_AND_KEYS)}
    for name, one in weights.items():
        one.requires_grad_(name in learned)

    def reconstruct(own: dict[str, Tensor], batch: Tensor) -> Tensor:
        encoding = functional_call(networks[0], own, (batch,))
        reconstruction: Tensor = encoding.reconstruction
        return reconstruction

    adam = Adam(list(learned.values()), lr=_LEARNING_RATE)
    each = torch.arange(len(networks))[:, None]
    size = min(_BATCH, windows.shape[1])
    for _ in range(_STEPS):
        drawn = np.stack([rng.integers(0, windows.shape[1], size) for rng in rngs])
        batch = windows[each, torch.from_numpy(drawn)]  # (R, B, T, 2)
        adam.zero_grad()
        errors = (torch.vmap(reconstruct)(weights, batch) - batch).square().mean((1, 2, 3))
        errors.sum().backward()  # type: ignore[no-untyped-call]
        for one in learned.values():
            assert one.grad is not None
            one.grad[:, 4:] = 0.0  # the value matrices
        adam.step()
    with torch.no_grad():
        for at, network in enumerate(networks):
            for name, one in learned.items():
                network.get_parameter(name).copy_(one[at])


@torch.no_grad()
def _follow(network: ALoRaT, windows: Tensor) -> Tensor:
    """Latent and reconstructed series side by side, (B, T, 4)."""
    z = network.embed(windows)
    for layer in network.blocks:
        z, _ = layer(z)
    return torch.cat([z, network.decode(z)], dim=-1)


def _windows(series: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(series).unfold(0, WINDOW, 1).transpose(1, 2).contiguous()


def _weights(network: ALoRaT) -> Array:
    found = contribution_weights(network)
    return torch.cat([found.latent[0], found.reconstruction[0]]).double().numpy()


def _windowed_cases(skip: bool, runs: int, seed: int, report: Report) -> tuple[list[Case], Course]:
    rngs = [np.random.default_rng([seed, run]) for run in range(runs)]
    networks = [
        fixed_network(skip=skip, window=WINDOW, seed=int(rng.integers(2**31))) for rng in rngs
    ]
    healthy = torch.stack([_windows(two_series(shift=0.0, rng=rng)) for rng in rngs])
    _learn_attention(networks, healthy, rngs)
    rows = np.arange(WINDOW - 1, ROWS)
    inside = (rows >= START + WINDOW - 1) & (rows < END)
    outside = (rows < START) | (rows >= END + WINDOW - 1)
    moves, course = np.empty((runs, len(SHIFTS), 4)), np.zeros((len(rows), 6))
    for run, (network, rng) in enumerate(zip(networks, rngs, strict=True)):
        drawn = two_series(shift=0.0, rng=rng)
        for at, shift in enumerate(SHIFTS):
            series = drawn.copy()
            series[START:END, 0] += np.float32(shift)
            followed = _follow(network, _windows(series))[:, -1].double().numpy()
            moves[run, at] = (followed[inside].mean(0) - followed[outside].mean(0)) / shift
            if shift == SHIFT:
                course += np.column_stack([series[WINDOW - 1 :], followed]) / runs
        report(Step(f"windows, {_skips(skip)}", run + 1, runs))
    weights = _weights(networks[0])
    cases = [Case("windows", skip, shift, weights, moves[:, at]) for at, shift in enumerate(SHIFTS)]
    return cases, Course(skip, rows, course[:, :2], course[:, 2:4], course[:, 4:])


def _whole_case(skip: bool, runs: int, seed: int, report: Report) -> Case:
    inside = np.zeros(ROWS, dtype=bool)
    inside[START:END] = True
    moves = np.empty((runs, 4))
    weights = np.empty(4)
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        network = fixed_network(skip=skip, window=ROWS, seed=int(rng.integers(2**31)))
        window = torch.from_numpy(two_series(shift=SHIFT, rng=rng))[None]
        _learn_attention([network], window[None], [rng])
        followed = _follow(network, window)[0].double().numpy()
        moves[run] = (followed[inside].mean(0) - followed[~inside].mean(0)) / SHIFT
        weights = _weights(network)
        report(Step(f"whole, {_skips(skip)}", run + 1, runs))
    return Case("whole", skip, SHIFT, weights, moves)


def _skips(skip: bool) -> str:
    return "with skip" if skip else "without skip"


def run_simulation(
    *, runs: int = 100, seed: int = 0, whole: bool = True, progress: Progress = None
) -> Simulation:
    """Run the experiment of appendix E.

    Parameters
    ----------
    runs : int
        How often, each with new series and new queries and keys.
    seed : int
        Of all random draws.
    whole : bool
        Also read T = 500 literally, which takes nearly all of the time.
    progress : bool, callable or None
        See :mod:`alora_ts.progress`.

    Returns
    -------
    Simulation

    Raises
    ------
    AloraError
        When there are too few runs to have a spread.

    Examples
    --------
    >>> found = run_simulation(runs=2, whole=False, progress=False)
    >>> found.cases[0].weights.round(2).tolist()
    [0.2, 0.7, 0.65, 0.25]
    """
    if runs < 2:
        raise AloraError(f"{runs} runs have no spread; give at least 2")
    cases: list[Case] = []
    courses: list[Course] = []
    with use_threads(1), reporting(progress) as report:
        for skip in (False, True):
            found, course = _windowed_cases(skip, runs, seed, report)
            cases.extend(found)
            courses.append(course)
        if whole:
            cases.extend(_whole_case(skip, runs, seed, report) for skip in (False, True))
    return Simulation(runs, seed, tuple(cases), tuple(courses))
