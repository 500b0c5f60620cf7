"""Incidents judged as incidents: what somebody on call would see, exact over all thresholds.

Alarming rows with at most ``gap`` quiet ones between them are one incident. It is *true* when at
least half of its rows lie in an event widened by ``widening`` rows on both sides, else false. An
event is *found* when a true incident overlaps it. Precision is the share of incidents that are
true, recall the share of events that are found. The delay of a found event is how long after its
start the first of these incidents begins, 0 where it was there before.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.errors import AloraError
from alora_ts.metrics.auc import both_classes
from alora_ts.metrics.events import runs
from alora_ts.metrics.inputs import as_binary, as_events, same_length
from alora_ts.metrics.results import BestF1, PrecisionRecall, f1_of

__all__ = [
    "GAP",
    "WIDENING",
    "IncidentCurve",
    "IncidentJudgement",
    "incident_curve",
    "judge_incidents",
    "per_day",
    "said_of_incidents",
]

GAP, WIDENING = 10, 20

SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class IncidentJudgement:
    """What incidents are worth.

    Attributes
    ----------
    incidents, true : int
        How many there are, and how many of them are true.
    events, found : int
        How many events there are, and how many of them are found.
    normal_rows : int
        Rows outside events.
    alarmed_rows : int
        Those of them that lie in an incident.
    delay : float or None
        Mean delay of the found events, in rows; None where none is found.
    gap, widening : int
        What was called one incident, and a true one.
    seconds_per_row : float or None
    """

    incidents: int
    true: int
    events: int
    found: int
    normal_rows: int
    alarmed_rows: int
    delay: float | None
    gap: int
    widening: int
    seconds_per_row: float | None = None

    @property
    def false(self) -> int:
        """False incidents."""
        return self.incidents - self.true

    @property
    def precision(self) -> float:
        """Share of incidents that are true; 0 without any."""
        return self.true / self.incidents if self.incidents else 0.0

    @property
    def recall(self) -> float:
        """Share of events that are found."""
        return self.found / self.events

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return PrecisionRecall(self.precision, self.recall).f1

    @property
    def per_thousand(self) -> float:
        """False incidents in a thousand normal rows."""
        return 1000.0 * self.false / max(self.normal_rows, 1)

    @property
    def per_day(self) -> float | None:
        """False incidents in a normal day; None where the time between rows is not known."""
        return per_day(self.per_thousand, self.seconds_per_row)

    @property
    def normal_share(self) -> float:
        """Share of the normal rows that lie in an incident."""
        return self.alarmed_rows / max(self.normal_rows, 1)

    def __str__(self) -> str:
        """Two sentences for a terminal: the numbers, and what was counted."""
        daily = "" if self.per_day is None else f", {self.per_day:.3g} a day"
        waited = ""
        if self.delay is not None:
            long = f"{self.delay:.1f} rows"
            if self.seconds_per_row is not None:
                long = f"{self.delay * self.seconds_per_row:,.0f} s"
            waited = f", {long} after their start on average"
        return (
            f"{self.found:,} of {self.events:,} events found{waited}, by {self.incidents:,} "
            f"incidents of which {self.false:,} are false ({self.per_thousand:.3g} per 1,000 "
            f"normal rows{daily}); incident F1 {self.f1:.2f}, {self.normal_share:.2%} of the "
            f"normal rows in incidents. {said_of_incidents(self.gap, self.widening)}"
        )


@dataclass(frozen=True)
class IncidentCurve:
    """Incidents at every distinct threshold, highest first.

    Attributes
    ----------
    threshold : ndarray of shape (k,)
        Rows with ``score > threshold[i]`` alarm.
    precision, recall, f1 : ndarray of shape (k,)
    false : ndarray of int, shape (k,)
        False incidents.
    normal_rows : int
    gap, widening : int
        What was called one incident, and a true one.
    """

    threshold: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    false: NDArray[np.int64]
    normal_rows: int
    gap: int
    widening: int

    @property
    def per_thousand(self) -> NDArray[np.float64]:
        """False incidents in a thousand normal rows, (k,)."""
        rates: NDArray[np.float64] = 1000.0 * self.false / max(self.normal_rows, 1)
        return rates

    def best(self) -> BestF1:
        """The best F1 any threshold reaches: an oracle's choice."""
        at = int(np.argmax(self.f1))
        return BestF1(
            float(self.f1[at]),
            float(self.precision[at]),
            float(self.recall[at]),
            float(self.threshold[at]),
            "incident",
        )

    def found_at(self, per_thousand: float) -> float:
        """The most events any threshold finds with at most so many false incidents.

        Parameters
        ----------
        per_thousand : float
            False incidents in a thousand normal rows.
        """
        allowed = 1000.0 * self.false <= per_thousand * self.normal_rows
        return float(self.recall[allowed].max()) if allowed.any() else 0.0

    def front(self) -> IncidentCurve:
        """The thresholds worth choosing: fewer false incidents would find fewer events.

        Of equals the highest threshold. False incidents and events found both rise; where nothing
        can be found, it is empty.

        Examples
        --------
        >>> label = np.repeat([0, 1, 0, 1], [50, 10, 40, 10])
        >>> score = np.repeat([0, 5, 0, 4, 0, 1.0], [50, 10, 20, 1, 19, 10])
        >>> worth = incident_curve(label, score, gap=2, widening=0).front()
        >>> worth.false.tolist(), worth.recall.tolist(), worth.threshold.tolist()
        ([0, 1], [0.5, 1.0], [4.0, 0.0])
        """
        order = np.lexsort((np.arange(len(self.false)), -self.recall, self.false))
        most = np.maximum.accumulate(np.r_[0.0, self.recall[order]])
        kept = order[np.diff(most) > 0]
        return replace(
            self,
            threshold=self.threshold[kept],
            precision=self.precision[kept],
            recall=self.recall[kept],
            f1=self.f1[kept],
            false=self.false[kept],
        )


def per_day(per_thousand: float, seconds_per_row: float | None) -> float | None:
    """False incidents in a normal day; None where the time between rows is not known.

    Examples
    --------
    >>> per_day(0.5, 86.4), per_day(1.0, None)
    (0.5, None)
    """
    if seconds_per_row is None:
        return None
    return per_thousand / 1000.0 * SECONDS_PER_DAY / seconds_per_row


def said_of_incidents(gap: int, widening: int) -> str:
    """What is counted, to be said with every number.

    Examples
    --------
    >>> said_of_incidents(10, 20)
    'Alarms at most 10 rows apart are one incident; it is true if half of it lies in an event or...'
    """
    return (
        f"Alarms at most {gap} rows apart are one incident; it is true if half of it lies in an "
        f"event or within {widening} rows of one."
    )


def judge_incidents(
    label: ArrayLike,
    alarm: ArrayLike,
    *,
    gap: int = GAP,
    widening: int = WIDENING,
    seconds_per_row: float | None = None,
) -> IncidentJudgement:
    """Judge the incidents that alarming rows make.

    Parameters
    ----------
    label, alarm : array_like of shape (n,)
        0 or 1 per row.
    gap : int
        Alarms with at most so many quiet rows between them are one incident.
    widening : int
        So many rows before and after an event count as the event for a true incident.
    seconds_per_row : float, optional
        Time between rows, for false incidents per day.

    Examples
    --------
    >>> label = np.repeat([0, 1, 0, 1], [100, 10, 90, 10])
    >>> alarm = np.repeat([0, 1, 0, 1, 0], [20, 5, 77, 3, 105])
    >>> judged = judge_incidents(label, alarm, widening=5)
    >>> judged.precision, judged.recall, judged.false
    (0.5, 0.5, 1)
    """
    truth, alarms = as_events(label), as_binary(alarm, "alarm")
    same_length(truth, alarms, ("label", "alarm"))
    _whole(gap, "gap")
    starts, ends = runs(alarms)
    if len(starts):
        apart = np.flatnonzero(starts[1:] - ends[:-1] > gap)
        starts, ends = starts[np.r_[0, apart + 1]], ends[np.r_[apart, len(ends) - 1]]
    near = np.concatenate([[0], np.cumsum(_widened(truth, widening))])
    true = 2 * (near[ends] - near[starts]) >= ends - starts
    first, last = runs(truth)
    # The first true incident that ends after an event's start is the first that can overlap it.
    at = np.searchsorted(ends[true], first, side="right")
    begin = np.r_[starts[true], len(truth)][at]
    found = begin < last
    late = np.maximum(begin - first, 0)[found]
    inside = np.zeros(len(truth) + 1, dtype=np.int64)
    np.add.at(inside, starts, 1)
    np.add.at(inside, ends, -1)
    return IncidentJudgement(
        incidents=len(starts),
        true=int(true.sum()),
        events=len(first),
        found=int(found.sum()),
        normal_rows=int((~truth).sum()),
        alarmed_rows=int(((np.cumsum(inside)[:-1] > 0) & ~truth).sum()),
        delay=float(late.mean()) if len(late) else None,
        gap=gap,
        widening=widening,
        seconds_per_row=seconds_per_row,
    )


def incident_curve(
    label: ArrayLike, score: ArrayLike, *, gap: int = GAP, widening: int = WIDENING
) -> IncidentCurve:
    """Incidents at every threshold.

    Rows join in the order of their scores. A row that joins touches at most the incident before
    and the one after it, so all thresholds cost little more than sorting.

    Parameters
    ----------
    label : array_like of shape (n,)
        0 or 1 per row; both must occur.
    score : array_like of shape (n,)
        Finite; higher is more anomalous.
    gap, widening : int
        As for :func:`judge_incidents`.

    Examples
    --------
    >>> label = np.repeat([0, 1, 0], [50, 10, 40])
    >>> score = np.r_[np.zeros(49), 5, np.full(10, 3.0), np.zeros(20), 4, np.zeros(19)]
    >>> found = incident_curve(label, score, gap=2, widening=0)
    >>> found.false.tolist(), found.recall.tolist()
    ([1, 2, 1, 1], [0.0, 0.0, 1.0, 0.0])
    """
    truth, scores = both_classes(label, score)
    _whole(gap, "gap")
    n = len(truth)
    near = np.concatenate([[0], np.cumsum(_widened(truth, widening))]).tolist()
    first, last = runs(truth)
    # The events that rows from s to e - 1 overlap: from after[s] to before[e], half-open.
    after = np.searchsorted(last, np.arange(n), side="right").tolist()
    before = np.searchsorted(first, np.arange(n + 1), side="left").tolist()
    order = np.argsort(-scores, kind="stable")
    distinct = np.flatnonzero(np.diff(scores[order], append=-np.inf)) + 1
    hits = [0] * len(first)
    incidents = true = found = 0

    def count(start: int, end: int, sign: int) -> None:
        """Add an incident, or take one away."""
        nonlocal incidents, true, found
        incidents += sign
        if 2 * (near[end] - near[start]) < end - start:
            return
        true += sign
        for event in range(after[start], before[end]):
            known = hits[event]
            hits[event] = known + sign
            found += (known + sign > 0) - (known > 0)

    begins: list[int] = []
    end_of: dict[int, int] = {}
    totals = np.empty((len(distinct), 3), dtype=np.int64)
    done = 0
    for at, stop in enumerate(distinct.tolist()):
        for row in order[done:stop].tolist():
            place = bisect_right(begins, row)
            start, end = row, row + 1
            if place and row - end_of[begins[place - 1]] <= gap:
                start = begins[place - 1]
                known = end_of[start]
                if row < known:  # a quiet row of an incident alarms too
                    continue
                count(start, known, -1)
            else:
                begins.insert(place, row)
                place += 1
            if place < len(begins) and begins[place] - row - 1 <= gap:
                later = begins.pop(place)
                end = end_of.pop(later)
                count(later, end, -1)
            end_of[start] = end
            count(start, end, 1)
        done = stop
        totals[at] = incidents, true, found
    precision = totals[:, 1] / totals[:, 0]
    recall = totals[:, 2] / len(first)
    levels = scores[order]
    threshold = np.r_[levels[distinct[:-1]], np.nextafter(levels[-1], -np.inf)]
    return IncidentCurve(
        threshold,
        precision,
        recall,
        f1_of(precision, recall),
        totals[:, 0] - totals[:, 1],
        int((~truth).sum()),
        gap,
        widening,
    )


def _widened(truth: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
    """Rows that lie in an event, or at most so many rows from one."""
    _whole(rows, "widening")
    edges = np.zeros(len(truth) + 1, dtype=np.int64)
    starts, ends = runs(truth)
    np.add.at(edges, np.maximum(starts - rows, 0), 1)
    np.add.at(edges, np.minimum(ends + rows, len(truth)), -1)
    widened: NDArray[np.bool_] = np.cumsum(edges)[:-1] > 0
    return widened


def _whole(value: int, name: str) -> None:
    if value < 0:
        raise AloraError(f"{name} must be 0 or more rows, but it is {value}")
