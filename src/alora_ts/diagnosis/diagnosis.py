"""A Diagnosis: what happened, when, how bad, and which variables to look at."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Gap, PreparationReport, Table
from alora_ts.data.report import tell_moment
from alora_ts.data.structure import Edges, group_names, keep_known, read_edges, tell_unknown
from alora_ts.diagnosis.explanation import Judge
from alora_ts.diagnosis.fields import Fact, describe, facts, incidents_frame, plain_moment
from alora_ts.diagnosis.incident import Incident, severity_of
from alora_ts.diagnosis.repeats import WITHIN, Recurring, find_repeats
from alora_ts.diagnosis.severity import by_severity, count_severities
from alora_ts.diagnosis.structure import Structure
from alora_ts.errors import DataError
from alora_ts.metrics import Evaluation, IncidentJudgement, evaluate, judge_incidents
from alora_ts.metrics.incidents import GAP

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Diagnosis"]

_INTERPRETATIONS = 5


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Scores of every row and the incidents among them.

    All arrays have one row for each row of the table that was diagnosed, in its order.

    Attributes
    ----------
    variables : tuple of str
    timestamps : ndarray of shape (N,) or None
    score : ndarray of shape (N,)
        Calibrated: in times of the alarm level.
    alarm : ndarray of bool, shape (N,)
        Which rows alarm, see :mod:`alora_ts.diagnosis.alarms`.
    raw : ndarray of shape (N,)
        Before calibration; exactly the paper's AS with ``scoring="paper"``.
    rank : ndarray of shape (N,)
        Rank of the attention matrix (Eq. 10).
    error : ndarray of shape (N, d)
        Squared error of each variable, relative to normal unless ``scoring="paper"``.
    localization : ndarray of shape (N, d)
        How much each variable is affected, or another form of ``localization=``.
    values, expected : ndarray of shape (N, d)
        Observed (gaps filled) and expected, in the variables' own units.
    warm_up : ndarray of bool, shape (N,)
        Rows without a full window behind them.
    incidents : tuple of Incident
        In order of time.
    contributions : ndarray of shape (d, d)
        C (Eq. 12): row i, how strongly input i enters each reconstruction.
    gaps : tuple of Gap
        Stretches without data.
    preparation : PreparationReport
        What was done to the table before scoring.
    model : dict
        The model card: training period, window, calibration, limits.
    table : Table
        What was diagnosed, for :meth:`to_frame`.
    health : tuple of str
        What should make a reader doubt the result, see :mod:`alora_ts.model.health`.
    judge : Judge or None
        What the model knows that explains incidents.
    structure : Structure
        What the user knows of the system, see :meth:`with_structure`.
    course : ndarray of shape (N, d) or None
        What of the values repeats each day or week and is usual then; None where nothing does.
    """

    variables: tuple[str, ...]
    timestamps: NDArray[Any] | None
    score: NDArray[np.float64]
    alarm: NDArray[np.bool_]
    raw: NDArray[np.float64]
    rank: NDArray[np.int16]
    error: NDArray[np.float32]
    localization: NDArray[np.float32]
    values: NDArray[np.float32]
    expected: NDArray[np.float32]
    warm_up: NDArray[np.bool_]
    incidents: tuple[Incident, ...]
    contributions: NDArray[np.float64]
    gaps: tuple[Gap, ...]
    preparation: PreparationReport
    model: Mapping[str, Any]
    table: Table
    health: tuple[str, ...] = ()
    judge: Judge | None = field(default=None, repr=False)
    structure: Structure = field(default_factory=Structure)
    course: NDArray[np.float32] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        said = count_severities(self.incidents) if self.judged else "nothing could be judged"
        return f"<Diagnosis of {len(self):,} rows, {len(self.variables)} signals: {said}>"

    def __str__(self) -> str:
        """A few lines for a terminal, the worst incident first."""
        said = count_severities(self.incidents) if self.judged else "none could be judged"
        lines = [f"{len(self):,} rows, {said}"]
        groups = {group.worst.start: group for group in self.recurring()}
        worst = by_severity([group.worst for group in groups.values()])
        lines += [_describe(groups[one.start]) for one in worst]
        return "\n".join([*lines, *(f"note: {line}" for line in self.health)])

    def _repr_html_(self) -> str:
        from alora_ts.report.notebook import diagnosis_html

        return diagnosis_html(self)

    @property
    def judged(self) -> int:
        """How many rows have a full window behind them; the others never alarm."""
        return int((~self.warm_up).sum())

    @property
    def labels(self) -> NDArray[np.bool_] | None:
        """Which rows the caller marked as anomalous; None where there was no label."""
        return self.table.label

    @property
    def labelled(self) -> bool:
        """Whether there are labels to judge by: they mark some rows and not all."""
        return self.labels is not None and 0 < int(self.labels.sum()) < len(self)

    def judgement(self) -> IncidentJudgement:
        """What the incidents are worth against the labels.

        Raises
        ------
        DataError
            When the rows have no labels, or these mark no row.
        """
        return judge_incidents(self._labels(), self._inside(), **self._judged_by())

    def evaluate(self, *, incidents_only: bool = False) -> Evaluation:
        """What scores and incidents are worth against the labels, chance beside every number.

        Parameters
        ----------
        incidents_only : bool
            Whether to leave out what counts rows, which takes most of the time.

        Raises
        ------
        DataError
            When the rows have no labels, or these mark no row or all.
        """
        return evaluate(
            self._labels(),
            self.score,
            alarm=self._inside(),
            incidents_only=incidents_only,
            **self._judged_by(),
        )

    def _labels(self) -> NDArray[np.bool_]:
        if self.labels is None:
            raise DataError("there is no label to judge by; name the column with label= (--label)")
        return self.labels

    def _inside(self) -> NDArray[np.bool_]:
        """Which rows lie in an incident."""
        inside = np.zeros(len(self), dtype=bool)
        for one in self.incidents:
            inside[one.start : one.end] = True
        return inside

    def _judged_by(self) -> dict[str, Any]:
        dated = self.timestamps is not None and self.timestamps.dtype.kind == "M"
        step = self.model.get("step_seconds") if dated else None
        return {"gap": self.model.get("incident_gap", GAP), "seconds_per_row": step or None}

    def recurring(self, *, within: int = WITHIN) -> tuple[Recurring, ...]:
        """Incidents of the same pattern put together, see :mod:`alora_ts.diagnosis.repeats`."""
        return find_repeats(self.incidents, within=within)

    def with_structure(
        self,
        *,
        groups: str | Mapping[str, str] | None = None,
        influences: Edges | str | os.PathLike[str] | None = None,
    ) -> Diagnosis:
        """The same diagnosis, told with groups of signals and known influences.

        Parameters
        ----------
        groups : str or mapping, optional
            ``"prefix before _"`` or a mapping from variables to groups, see
            :func:`alora_ts.data.structure.group_names`.
        influences : path or tuple of (str, str), optional
            A CSV file of influences (:func:`alora_ts.data.structure.read_edges`) between
            variables or groups, or the influences themselves, from cause to effect. Those of
            names that are neither are left out, and ``health`` says so.

        Returns
        -------
        Diagnosis

        Raises
        ------
        DataError
            When a rule matches nothing or no influence is between known names.
        """
        names = set(self.variables)
        if groups is not None:
            names |= set(group_names(self.variables, groups))
        where, health = "influences", self.health
        if isinstance(influences, str | os.PathLike):
            where, influences = str(influences), read_edges(influences)
        if influences is not None:
            influences, unknown = keep_known(influences, names, where=where)
            health += (tell_unknown(unknown, names),) if unknown else ()
        return replace(self, structure=Structure(groups, influences), health=health)

    def facts(self, incident: Incident) -> list[Fact]:
        """What to tell people about an incident, beside its culprits."""
        told = facts(describe(incident))
        return told + self.structure.facts(incident, self.variables)

    def implied(self, incident: Incident, start: int, end: int) -> NDArray[np.float64]:
        """What each signal would have been at some rows, judging by those that behaved.

        Unlike :attr:`expected`, this is not bent by the signals that misbehave.

        Parameters
        ----------
        incident : Incident
            Which signals to leave out of the judgement.
        start, end : int
            Rows, the last not included.

        Returns
        -------
        ndarray of shape (end − start, d)
        """
        if self.judge is None:
            return self.expected[start:end].astype(np.float64)
        aside = np.isin(self.variables, incident.aside)
        rest, course = self.acyclic(slice(start, end))
        return self.judge.expected(rest, aside) + course

    def acyclic(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64] | float]:
        """The values of some rows less what repeats, and that."""
        values = self.values[rows].astype(np.float64)
        if self.course is None:
            return values, 0.0
        course = self.course[rows].astype(np.float64)
        return values - course, course

    def columns(self, *, variables: bool = False) -> dict[str, NDArray[Any]]:
        """The columns of :meth:`to_frame`, without the caller's times."""
        columns: dict[str, NDArray[Any]] = {
            "score": self.score,
            "is_anomaly": self.alarm,
            "raw": self.raw,
            "rank": self.rank,
            "error": self.error.sum(1),
            "warm_up": self.warm_up,
        }
        if self.table.label is not None and self.table.label_name is not None:
            columns.setdefault(self.table.label_name, self.table.label)
        if variables:
            for number, name in enumerate(self.variables):
                columns[f"localization:{name}"] = self.localization[:, number]
        return columns

    def to_frame(self, *, variables: bool = False) -> Any:
        """One row for each row diagnosed, in the kind of table that was given.

        Parameters
        ----------
        variables : bool
            Add the localization score of each variable.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            Columns ``score, is_anomaly, raw, rank, error, warm_up``, beside the caller's times and
            labels.
        """
        return self.table.frame(self.columns(variables=variables))

    def incidents_frame(self) -> Any:
        """One row for each incident and culprit, in the kind of table that was given.

        ``origin`` repeats the incident's likely origin; empty where the model cannot tell.
        """
        return incidents_frame(self.incidents, kind=self.table.kind)

    def to_dict(self) -> dict[str, Any]:
        """In a form JSON can hold, readable by users of Azure's multivariate detector.

        ``results`` has, for each alarming row, ``timestamp, is_anomaly, score, severity`` and
        ``interpretation``, a list of ``variable, contribution_score``: the culprits of its
        incident, so that rows and incidents tell one story.
        """
        stamps = self.timestamps
        results = []
        of_row = {
            row: incident.culprits
            for incident in self.incidents
            for row in range(incident.start, incident.end)
        }
        for row in np.flatnonzero(self.alarm).tolist():
            # Incidents may be too short or too harmless to be listed; their rows still alarm.
            culprits = of_row.get(row, ())
            results.append(
                {
                    "timestamp": int(row) if stamps is None else plain_moment(stamps[row]),
                    "is_anomaly": True,
                    "score": float(self.score[row]),
                    "severity": severity_of(float(self.score[row])),
                    "interpretation": [
                        {"variable": one.variable, "contribution_score": one.share}
                        for one in culprits[:_INTERPRETATIONS]
                    ],
                }
            )
        return {
            "rows": len(self),
            "judged_rows": self.judged,
            "alarming_rows": int(self.alarm.sum()),
            "incidents": [_as_azure(describe(incident)) for incident in self.incidents],
            "gaps": [gap.to_dict() for gap in self.gaps],
            "preparation": self.preparation.to_dict(),
            "health": list(self.health),
            "model": dict(self.model),
            "results": results,
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """:meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=indent)

    def plot(self, *, incident: int | None = None) -> Figure:
        """A figure of the score, the incidents and the culprits' signals (needs matplotlib).

        Parameters
        ----------
        incident : int, optional
            Zoom in on this incident, counted from 0.
        """
        from alora_ts.report.plot import plot_diagnosis

        return plot_diagnosis(self, incident=incident)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write a self-contained HTML page that opens offline."""
        from alora_ts.report.html import render_report

        return render_report(self, path, title=title)


def _describe(group: Recurring) -> str:
    """The worst of a pattern, and how often it came."""
    incident = group.worst
    last = group.incidents[-1]
    again = f"; {group.count} times until {tell_moment(last.end_time)}" if group.count > 1 else ""
    culprits = ", ".join(
        f"{culprit.variable} {culprit.share:.0%} {culprit.direction}"
        for culprit in incident.culprits[:3]
    )
    return (
        f"{tell_moment(incident.start_time)} to {tell_moment(incident.end_time)}: "
        f"{'the system has changed, ' if incident.changed else ''}{incident.severity}, "
        f"{incident.score:.1f} times the alarm level"
        f"{'' if incident.returns is None else f' (normally {incident.returns})'}; "
        f"{culprits}{again}"
    )


def _as_azure(described: dict[str, Any]) -> dict[str, Any]:
    """Shares by the name that users of Azure's service know."""

    def renamed(part: dict[str, Any]) -> dict[str, Any]:
        return {("contribution_score" if name == "share" else name): part[name] for name in part}

    origin = described["origin"]
    return described | {
        "culprits": [renamed(culprit) for culprit in described["culprits"]],
        "origin": None if origin is None else renamed(origin),
    }
