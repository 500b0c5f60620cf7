"""How often the cause of a known fault is named: `alora-ts bench rootcause`.

Compared methods are fitted on the normal rows too, and rank variables by their scores summed over
the rows under the fault.

Every method ranks the variables of a case; counted is the place of the true cause, and where
variables belong to groups (services, nodes) the place of the true group. AC@k is the share of
cases with the cause among the first k, Avg@5 the mean of AC@1 to AC@5. Systems are never pooled.

Yardsticks see the normal rows and exactly the rows under the fault. ALoRa is fitted on the normal
rows with its default settings and diagnoses what follows them; what counts is the worst incident
that touches the fault, as a user would see it. "stretch given" tells it which rows to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.baselines import Detector, find, get, names
from alora_ts.data.structure import rank_groups
from alora_ts.datasets.rootcause import RootCauseCase
from alora_ts.diagnosis import Incident
from alora_ts.errors import AloraError
from alora_ts.estimator import ALoRa
from alora_ts.progress import Report, Step

__all__ = [
    "METHODS",
    "YARDSTICKS",
    "Verdict",
    "accuracy",
    "calibration_error",
    "calibration_error_by_chance",
    "judge_cases",
    "localizing",
    "refuse_silent",
]

Array = NDArray[np.float64]

_DRAWS = 100
_CHANCES = 500
_TRIVIAL = ("random", "always-alarm")
_FOREVER = 10**6
_SMALL = 1e-12
_WINDOWS = 2
_LEAD = 100
"""Normal rows shown before a fault of fewer than two windows."""

METHODS = (
    "ALoRa, culprits",
    "ALoRa, culprits, stretch given",
    "ALoRa, origin",
    "ALoRa, localization",
)


@dataclass(frozen=True)
class Verdict:
    """The place of the cause in one ranking of one case.

    Attributes
    ----------
    system, case, method : str
    place : float or None
        Of the cause among the variables, from 0; a large number where it was not named; None
        where only its group is known.
    group_place : float or None
        Of its group; None where groups are single variables.
    certainty : float or None
        How certain the method was of the first, where it says so.
    innocents : int
        How many of the first three, the cause apart, never went further beyond all normal rows
        than two of their standard deviations.
    """

    system: str
    case: str
    method: str
    place: float | None
    group_place: float | None
    certainty: float | None = None
    innocents: int = 0

    def to_dict(self) -> dict[str, Any]:
        """In a form JSON can hold."""
        return asdict(self)


def mean_deviation(normal: Array, under: Array) -> Array:
    """Mean distance from the normal mean, in normal standard deviations."""
    return _in_units(np.abs(under - normal.mean(0)).mean(0), normal.std(0))


def floored_deviation(normal: Array, under: Array) -> Array:
    """The same in units of at least 1 % of the mean, which depends on where zero lies."""
    centre, spread = normal.mean(0), normal.std(0)
    scale = np.maximum(spread, 0.01 * np.abs(centre))
    return _in_units(np.abs(under - centre).mean(0), scale)


def robust_deviation(normal: Array, under: Array) -> Array:
    """BARO's score: the largest distance from the median, in interquartile ranges."""
    low, middle, high = np.quantile(normal, [0.25, 0.5, 0.75], axis=0)
    return _in_units(np.abs(under - middle).max(0), high - low)


def largest_deviation(normal: Array, under: Array) -> Array:
    """The largest input: the largest distance from the mean, in standard deviations."""
    return _in_units(np.abs(under - normal.mean(0)).max(0), normal.std(0))


def _in_units(distance: Array, unit: Array) -> Array:
    """A signal that never moved has no unit and comes last: that is best for the yardsticks."""
    known = unit > _SMALL
    return np.where(known, distance / np.where(known, unit, 1.0), 0.0)


YARDSTICKS: dict[str, Callable[[Array, Array], Array]] = {
    "mean |z|": mean_deviation,
    "mean |z|, floor 1 % of the mean": floored_deviation,
    "robust deviation (BARO)": robust_deviation,
    "largest |z|": largest_deviation,
}


def localizing() -> tuple[str, ...]:
    """The compared methods that say which variables and run on two cores.

    Examples
    --------
    >>> localizing()[:3]
    ('norm', 'cnn', 'omnianomaly')
    """
    told = ((name, find(name).capabilities) for name in names())
    able = (name for name, can in told if can.localizes and not can.needs_gpu)
    return tuple(name for name in able if name not in _TRIVIAL)


def refuse_silent(methods: Iterable[str]) -> None:
    """Refuse methods that do not exist or do not say which variables."""
    for name in methods:
        if not find(name).capabilities.localizes:
            raise AloraError(
                f"{name!r} does not say which variables; those that do: {', '.join(localizing())}"
            )


def judge_cases(
    cases: Iterable[RootCauseCase],
    *,
    total: int,
    report: Report,
    parameters: Mapping[str, Any] | None = None,
    methods: Sequence[str] = (),
) -> Iterator[Verdict]:
    """Let every method rank every case.

    Parameters
    ----------
    cases : iterable of RootCauseCase
        Cases with the same normal rows next to each other are fitted once.
    total : int
        How many there are.
    report : callable
        Receives the progress.
    parameters : mapping, optional
        Other settings of ALoRa.
    methods : sequence of str
        Compared methods that localize, each with its ``cpu`` preset.

    Yields
    ------
    Verdict
    """
    key, model = b"", ALoRa()
    others: dict[str, Detector] = {}
    for number, case in enumerate(cases):
        report(Step("ranking causes", number, total))
        normal, under = _filled(case.normal, case.anomalous)
        stretch = under[case.start : case.end]
        for name, score in YARDSTICKS.items():
            ranked = _by_score(score(normal, stretch), case)
            yield _verdict(case, name, ranked, normal=normal, under=stretch)
        yield from _random(case)
        if (now := normal.tobytes()) != key:
            key, model = now, ALoRa(**(parameters or {})).fit(normal, progress=False)
            others = {name: get(name, "cpu").fit(normal, progress=False) for name in methods}
        rows, start, end = _shown(case, model.window, normal, under)
        yield from _alora(case, model, (rows, start, end), normal, under)
        for name, other in others.items():
            summed = other.score_variables(rows, progress=False)[start:end].sum(0)
            yield _verdict(case, name, _by_score(summed, case), normal=normal, under=stretch)
    report(Step("ranking causes", total, total))


def _shown(case: RootCauseCase, window: int, normal: Array, under: Array) -> tuple[Array, int, int]:
    """The rows a model is shown, and which of them are under the fault."""
    # Few rows follow the normal ones; enough of them stand for themselves, as a file would.
    alone = len(under) >= _WINDOWS * window
    rows = under if alone else np.concatenate([normal[-_LEAD:], under])
    start = len(rows) - len(under) + case.start
    return rows, start, start + case.end - case.start


def _alora(
    case: RootCauseCase,
    model: ALoRa,
    shown: tuple[Array, int, int],
    normal: Array,
    under: Array,
) -> Iterator[Verdict]:
    rows, start, end = shown
    found = model.diagnose(rows, progress=False)
    stretch = under[case.start : case.end]
    names = dict(zip(found.variables, case.variables, strict=True))
    touched = [one for one in found.incidents if one.end > start and one.start < end]
    worst = max(touched, key=lambda one: one.score, default=None)
    given = model.explain(rows, start, end)

    def said(method: str, ranked: list[str], certainty: float | None = None) -> Verdict:
        own = [names[name] for name in ranked]
        return _verdict(case, method, own, certainty, normal=normal, under=stretch)

    yield said(METHODS[0], _culprits(worst))
    yield said(METHODS[1], _culprits(given))
    if worst is not None and worst.origin is not None:
        yield said(METHODS[2], [worst.origin.variable], worst.origin.certainty)
    else:
        yield said(METHODS[2], [], 0.0)
    summed = found.localization[start:end].sum(0)
    order = np.argsort(-summed, kind="stable")
    yield said(METHODS[3], [found.variables[at] for at in order])


def _culprits(incident: Incident | None) -> list[str]:
    return [] if incident is None else [one.variable for one in incident.culprits]


def _filled(normal: Array, under: Array) -> tuple[Array, Array]:
    """Missing cells hold the last value; before there is one, the usual."""
    rows = np.concatenate([normal, under])
    rows[0] = np.where(np.isnan(rows[0]), np.nanmedian(normal, axis=0), rows[0])
    known = np.where(np.isnan(rows), 0, np.arange(len(rows))[:, None])
    held = np.maximum.accumulate(known, axis=0)
    whole = np.take_along_axis(rows, held, axis=0)
    return whole[: len(normal)], whole[len(normal) :]


def _by_score(scores: Array, case: RootCauseCase) -> list[str]:
    order = np.argsort(-scores, kind="stable")
    return [case.variables[at] for at in order]


def _verdict(
    case: RootCauseCase,
    method: str,
    ranked: list[str],
    certainty: float | None = None,
    *,
    normal: Array,
    under: Array,
) -> Verdict:
    place, group_place = _places(case, ranked)
    beyond = np.maximum(under.max(0) - normal.max(0), normal.min(0) - under.min(0))
    stayed = beyond <= 2 * normal.std(0)
    places = {name: at for at, name in enumerate(case.variables)}
    innocents = sum(bool(stayed[places[name]]) for name in ranked[:3] if name != case.cause)
    return Verdict(
        case.system, case.name, method, place, group_place, certainty, innocents=innocents
    )


def _places(case: RootCauseCase, ranked: list[str]) -> tuple[float | None, float | None]:
    group_of = dict(zip(case.variables, case.groups, strict=True))
    asked = [name for name in ranked if group_of[name] != case.symptom]
    place = None
    if case.cause is not None:
        place = float(asked.index(case.cause)) if case.cause in asked else float(_FOREVER)
    if case.groups == case.variables:
        return place, None
    groups = rank_groups(asked, group_of)
    return place, float(groups.index(case.group)) if case.group in groups else float(_FOREVER)


def _random(case: RootCauseCase) -> Iterator[Verdict]:
    """Several draws: each is a verdict of its own, and accuracies are means over them."""
    rng = np.random.default_rng(0)
    for _ in range(_DRAWS):
        ranked = [case.variables[at] for at in rng.permutation(len(case.variables))]
        yield Verdict(case.system, case.name, "random", *_places(case, ranked))


def accuracy(places: Iterable[float], most: int = 5) -> dict[str, float]:
    """AC@1, AC@3 and Avg@5 of the places of causes, from 0.

    Examples
    --------
    >>> accuracy([0, 0, 2, 9])
    {'AC@1': 0.5, 'AC@3': 0.75, 'Avg@5': 0.65}
    """
    found = np.fromiter(places, np.float64)
    by_k = [float((found < k).mean()) for k in range(1, most + 1)]
    return {"AC@1": by_k[0], "AC@3": by_k[2], "Avg@5": round(float(np.mean(by_k)), 10)}


def calibration_error(certainty: Array, right: NDArray[np.bool_], *, bins: int = 10) -> float:
    """Expected calibration error: how far certainties are from the share that was right.

    Examples
    --------
    >>> calibration_error(np.array([0.9] * 10), np.array([True] * 9 + [False]))
    0.0
    """
    place = np.minimum((certainty * bins).astype(int), bins - 1)
    error = 0.0
    for one in np.unique(place):
        inside = place == one
        error += abs(certainty[inside].mean() - right[inside].mean()) * inside.mean()
    return round(float(error), 10)


def calibration_error_by_chance(certainty: Array, *, bins: int = 10) -> tuple[float, float]:
    """The calibration error that exact certainties would show on as many cases.

    Few cases fall into a bin, so that the share that is right differs from the certainty by
    chance alone.

    Returns
    -------
    mean, high : float
        Over 500 draws; 95 % of them stay below ``high``.

    Examples
    --------
    >>> calibration_error_by_chance(np.ones(7))
    (0.0, 0.0)
    """
    rng = np.random.default_rng(0)
    drawn = [
        calibration_error(certainty, rng.random(len(certainty)) < certainty, bins=bins)
        for _ in range(_CHANCES)
    ]
    return float(np.mean(drawn)), float(np.quantile(drawn, 0.95))
