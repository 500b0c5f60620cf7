"""All metrics in one call, each beside what a random score and an endless alarm reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import AloraError
from alora_ts.markup import boxed, html_table
from alora_ts.metrics.auc import both_classes
from alora_ts.metrics.curves import best_f1
from alora_ts.metrics.events import runs
from alora_ts.metrics.incidents import GAP, WIDENING, said_of_incidents
from alora_ts.metrics.inputs import as_binary, same_length
from alora_ts.metrics.localization import Segments, localization
from alora_ts.metrics.measures import Value, measured

__all__ = ["COLUMNS", "Evaluation", "Measure", "evaluate"]

COLUMNS = ("value", "precision", "recall", "random", "always", "above chance")
"""What :meth:`Measure.cells` gives."""

WHICH = "localization"
PERCENTS = (100, 150)  # those of the paper

Key = tuple[str, str]


@dataclass(frozen=True)
class Measure:
    """One line of an evaluation.

    Attributes
    ----------
    choice : str
        "best threshold" (chosen with the labels: an oracle's; incidents have a best one of their
        own), "given threshold" (without them, or the given alarms), "all thresholds" (none is
        chosen), or "localization".
    name : str
        What is measured.
    value : float or None
        Of the score; None for a delay when no event was caught.
    precision, recall : float or None
        Behind an F1.
    random : float or None
        The mean of random scores. Their F1 is at their own best threshold, or at the given one
        that of as many alarms as the score raises; so are their delays and false alarms.
    random_std : float or None
        The standard deviation of these random scores' values: with few events chance matters. 0
        where the chance level is exact.
    always : float or None
        Of an alarm that never ends (of equal scores, where no threshold is chosen).
    above_chance : float or None
        (value − chance) / (1 − chance), where chance is the higher of ``random`` and ``always``:
        0 is no better than chance, 1 is perfect. None where more is not better, or where chance
        is already perfect.
    """

    choice: str
    name: str
    value: float | None
    precision: float | None
    recall: float | None
    random: float | None
    random_std: float | None
    always: float | None
    above_chance: float | None

    def cells(self) -> list[str]:
        """Value, precision, recall, random, always and above chance, as text for a table."""
        random = _cell(self.random) + (f" ±{_cell(self.random_std)}" if self.random_std else "")
        return [
            _cell(self.value),
            "" if self.precision is None else _cell(self.precision),
            "" if self.recall is None else _cell(self.recall),
            random,
            _cell(self.always),
            "" if self.above_chance is None else f"{self.above_chance:+.3f}",
        ]


def _cell(value: float | None) -> str:
    if value is None:
        return "–"
    if abs(value) < 10:
        return f"{value:.3f}"
    return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What a score is worth.

    Attributes
    ----------
    measures : tuple of Measure
        All lines.
    rows, events : int
        How long the data are and how many events they have.
    anomalous : float
        Share of anomalous rows.
    best_threshold : float
        Where the affiliation F1 is best.
    threshold : float or None
        The given one.
    gap, widening : int
        What was called one incident, and a true one.
    seconds_per_row : float or None
    """

    measures: tuple[Measure, ...]
    rows: int
    events: int
    anomalous: float
    best_threshold: float
    threshold: float | None
    gap: int
    widening: int
    seconds_per_row: float | None

    def __repr__(self) -> str:
        return f"<Evaluation: {self}>"

    def __str__(self) -> str:
        """One line: what was evaluated."""
        return (
            f"{self.rows:,} rows, {self.events:,} events, {self.anomalous:.1%} of the rows "
            f"anomalous; best threshold (affiliation F1) {self.best_threshold:.6g}"
        )

    @property
    def said_of_incidents(self) -> str:
        """What was called an incident, and a true one."""
        return said_of_incidents(self.gap, self.widening)

    def _repr_html_(self) -> str:
        rows = [[one.choice, one.name, *one.cells()] for one in self.measures]
        said = f"<p><b>Evaluation</b> {escape(str(self))}. {escape(self.said_of_incidents)}</p>"
        return boxed(said, html_table(["", "", *COLUMNS], rows, numbers=range(2, 8)))

    def __getitem__(self, key: tuple[str, str]) -> Measure:
        """The line with this choice and name."""
        for measure in self.measures:
            if (measure.choice, measure.name) == key:
                return measure
        known = sorted({f"{measure.choice} / {measure.name}" for measure in self.measures})
        raise AloraError(f"no measure {' / '.join(key)!r}; known: {', '.join(known)}")


def evaluate(
    label: ArrayLike,
    score: ArrayLike,
    *,
    threshold: float | None = None,
    alarm: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    variable_scores: ArrayLike | None = None,
    segments: Segments | None = None,
    window: int = 100,
    seconds_per_row: float | None = None,
    repeats: int = 10,
    seed: int = 0,
    i_know_it_misleads: bool = False,
    gap: int = GAP,
    widening: int = WIDENING,
    incidents_only: bool = False,
    on_step: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Evaluate a score by every metric, with chance levels beside each number.

    Parameters
    ----------
    label : array_like of shape (n,)
        0 or 1 per row; both must occur.
    score : array_like of shape (n,)
        Finite; higher is more anomalous.
    threshold : float, optional
        A threshold chosen *without* the labels: rows with ``score > threshold`` are alarms. Adds
        the values that operation would see.
    alarm : array_like of shape (n,), optional
        In its place alarms, 0 or 1 per row, that follow from no one threshold.
    truth, variable_scores : array_like of shape (n, d), optional
        Which variables are affected, and the score of each: adds localization.
    segments : list of (start, end), optional
        The segments of :func:`~alora_ts.metrics.ips`; by default the runs of affected rows.
    window : int
        The window of VUS and range-AUC.
    seconds_per_row : float, optional
        Time between rows: delays come in seconds and false alarms per day.
    repeats, seed : int
        How many random scores are averaged, and how they are drawn.
    i_know_it_misleads : bool
        Whether to add point-adjusted F1; see :func:`~alora_ts.metrics.point_adjusted`.
    gap, widening : int
        What one incident is and which are true, see :mod:`alora_ts.metrics.incidents`.
    incidents_only : bool
        Whether to leave out what counts rows, which takes most of the time.
    on_step : callable, optional
        Called with (done, total) as the work proceeds.

    Returns
    -------
    Evaluation

    Raises
    ------
    DataError
        When the arrays are unusable or only one class occurs.
    AloraError
        When only one of ``truth`` and ``variable_scores`` is given, both of ``threshold`` and
        ``alarm`` are, or ``repeats`` is below 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label = np.repeat([0, 1, 0], [400, 40, 160])
    >>> found = evaluate(label, rng.normal(size=600) + 2 * label, window=10)
    >>> line = found["best threshold", "affiliation F1"]
    >>> round(line.value, 2), round(line.random, 2), round(line.always, 2)
    (1.0, 0.78, 0.67)
    """
    marked, scores = both_classes(label, score)
    if (truth is None) != (variable_scores is None):
        raise AloraError("localization needs both truth and variable_scores; give both or neither")
    if repeats < 1:
        raise AloraError(f"repeats must be at least 1, but it is {repeats}")
    if threshold is not None and not np.isfinite(threshold):
        raise AloraError(f"threshold must be finite, but it is {threshold}")
    if threshold is not None and alarm is not None:
        raise AloraError("give a threshold or alarms, not both")
    # First what is quick and may be refused, then the long part.
    which = []
    if truth is not None and variable_scores is not None:
        same_length(marked, np.asarray(truth), ("label", "truth"))
        which = _localized(truth, variable_scores, segments)
    alarms = None if threshold is None else scores > threshold
    if alarm is not None:
        alarms = as_binary(alarm, "alarm")
        same_length(marked, alarms, ("label", "alarm"))
    best = best_f1(marked, scores).threshold
    done = 0

    def measure(
        scores: NDArray[np.float64], best: float, alarms: NDArray[np.bool_] | None
    ) -> dict[Key, Value]:
        nonlocal done
        found = measured(
            marked,
            scores,
            best=best,
            alarm=alarms,
            window=window,
            seconds_per_row=seconds_per_row,
            i_know_it_misleads=i_know_it_misleads,
            gap=gap,
            widening=widening,
            incidents_only=incidents_only,
        )
        done += 1
        if on_step is not None:
            on_step(done, repeats + 2)
        return found

    ours = measure(scores, best, alarms)
    endless = None if alarms is None else np.ones(marked.size, dtype=bool)
    always = measure(np.zeros(marked.size), -1.0, endless)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(repeats):
        chance = rng.random(marked.size)
        # As many alarms as the score raises.
        as_many = None if alarms is None else chance > _level_for(chance, int(alarms.sum()))
        level = _level_for(chance, int((scores > best).sum()))
        drawn.append(measure(chance, level, as_many))

    lines = [
        _line(key, value, [one[key].value for one in drawn], always[key].value)
        for key, value in ours.items()
    ]
    return Evaluation(
        measures=(*lines, *which),
        rows=marked.size,
        events=runs(marked)[0].size,
        anomalous=float(marked.mean()),
        best_threshold=best,
        threshold=None if threshold is None else float(threshold),
        gap=gap,
        widening=widening,
        seconds_per_row=seconds_per_row,
    )


def _level_for(score: NDArray[np.float64], count: int) -> float:
    """The threshold above which ``count`` of distinct scores from 0 to 1 lie."""
    return float(np.sort(score)[::-1][count]) if count < score.size else -1.0


def _line(key: Key, ours: Value, random: list[float | None], always: float | None) -> Measure:
    known = [value for value in random if value is not None]
    level = float(np.mean(known)) if known else None
    spread = float(np.std(known)) if known else None
    above = None
    if ours.more_is_better and ours.value is not None and level is not None and always is not None:
        above = _above(ours.value, max(level, always))
    return Measure(*key, ours.value, ours.precision, ours.recall, level, spread, always, above)


def _above(value: float, chance: float) -> float | None:
    return (value - chance) / (1.0 - chance) if chance < 1.0 else None


def _localized(
    truth: ArrayLike, variable_scores: ArrayLike, segments: Segments | None
) -> list[Measure]:
    lines = []
    for percent in PERCENTS:
        found = localization(truth, variable_scores, segments, percent)
        for name, value, chance in (
            ("HR", found.hit_rate, found.hit_rate_chance),
            ("NDCG", found.ndcg, found.ndcg_chance),
            ("IPS", found.ips, found.ips_chance),
            ("segment NDCG", found.segment_ndcg, found.segment_ndcg_chance),
        ):
            # Equal scores for all variables are one tie, and that is worth chance exactly.
            above = _above(value, chance)
            lines.append(
                Measure(WHICH, f"{name}@{percent}", value, None, None, chance, 0.0, chance, above)
            )
    return lines
