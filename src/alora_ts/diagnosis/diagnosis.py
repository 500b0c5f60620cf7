"""A Diagnosis: what happened, when, how bad, and which variables to look at."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Gap, PreparationReport, Table
from alora_ts.diagnosis.incident import Incident, severity_of
from alora_ts.diagnosis.shares import shares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Diagnosis"]

_INTERPRETATIONS = 5


@dataclass(frozen=True)
class Diagnosis:
    """Scores of every row and the incidents among them.

    All arrays have one row for each row of the table that was diagnosed, in its order.

    Attributes
    ----------
    variables : tuple of str
    timestamps : ndarray of shape (N,) or None
    score : ndarray of shape (N,)
        Calibrated: more than 1 alarms.
    raw : ndarray of shape (N,)
        Before calibration; exactly the paper's AS with ``scoring="paper"``.
    rank : ndarray of shape (N,)
        Rank of the attention matrix (Eq. 10).
    error : ndarray of shape (N, d)
        Squared error of each variable, relative to normal unless ``scoring="paper"``.
    localization : ndarray of shape (N, d)
        ALoRa-Loc: who caused it.
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
    """

    variables: tuple[str, ...]
    timestamps: NDArray[Any] | None
    score: NDArray[np.float64]
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

    def __len__(self) -> int:
        return len(self.score)

    def __str__(self) -> str:
        """A few lines for a terminal."""
        if not self.incidents:
            return f"{len(self):,} rows, no incident"
        lines = [f"{len(self):,} rows, {len(self.incidents)} incident(s)"]
        lines += [_describe(incident) for incident in self.incidents]
        return "\n".join(lines)

    @property
    def alarm(self) -> NDArray[np.bool_]:
        """Which rows alarm."""
        return self.score > 1

    def to_frame(self, *, variables: bool = False) -> Any:
        """One row for each row diagnosed, in the kind of table that was given.

        Parameters
        ----------
        variables : bool
            Add the localization score of each variable.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            Columns ``score, is_anomaly, raw, rank, error, warm_up``, beside the caller's times.
        """
        columns: dict[str, NDArray[Any]] = {
            "score": self.score,
            "is_anomaly": self.alarm,
            "raw": self.raw,
            "rank": self.rank,
            "error": self.error.sum(1),
            "warm_up": self.warm_up,
        }
        if variables:
            for number, name in enumerate(self.variables):
                columns[f"localization:{name}"] = self.localization[:, number]
        return self.table.frame(columns)

    def incidents_frame(self) -> Any:
        """One row for each incident and culprit, in the kind of table that was given.

        ``origin`` repeats the incident's likely origin; empty where the model cannot tell.
        """
        rows = [
            (number, incident, place, culprit)
            for number, incident in enumerate(self.incidents, start=1)
            for place, culprit in enumerate(incident.culprits, start=1)
        ]
        columns = {
            "incident": [number for number, *_ in rows],
            "start": [_plain(incident.start_time) for _, incident, *_ in rows],
            "end": [_plain(incident.end_time) for _, incident, *_ in rows],
            "rows": [incident.rows for _, incident, *_ in rows],
            "score": [incident.score for _, incident, *_ in rows],
            "severity": [incident.severity for _, incident, *_ in rows],
            "origin": [
                incident.origin.variable if incident.origin else "" for _, incident, *_ in rows
            ],
            "place": [place for *_, place, _ in rows],
            "variable": [culprit.variable for *_, culprit in rows],
            "share": [culprit.share for *_, culprit in rows],
            "direction": [culprit.direction for *_, culprit in rows],
            "value": [culprit.value for *_, culprit in rows],
            "expected": [culprit.expected for *_, culprit in rows],
        }
        # The table's rows are not the incidents: a bare table of the same kind carries them.
        bare = Table(np.zeros((len(rows), 0)), (), kind=self.table.kind)
        return bare.frame({name: np.array(values) for name, values in columns.items()})

    def to_dict(self) -> dict[str, Any]:
        """In a form JSON can hold, readable by users of Azure's multivariate detector.

        ``results`` has, for each alarming row, ``timestamp, is_anomaly, score, severity`` and
        ``interpretation``, a list of ``variable, contribution_score``.
        """
        stamps = self.timestamps
        results = []
        for row in np.flatnonzero(self.alarm):
            part = shares(self.localization[row])
            leading = np.argsort(-part, kind="stable")[:_INTERPRETATIONS]
            results.append(
                {
                    "timestamp": int(row) if stamps is None else _plain(stamps[row]),
                    "is_anomaly": True,
                    "score": float(self.score[row]),
                    "severity": severity_of(float(self.score[row])),
                    "interpretation": [
                        {"variable": self.variables[at], "contribution_score": float(part[at])}
                        for at in leading
                        if part[at] > 0
                    ],
                }
            )
        return {
            "rows": len(self),
            "alarming_rows": int(self.alarm.sum()),
            "incidents": [_incident_dict(incident) for incident in self.incidents],
            "gaps": [gap.to_dict() for gap in self.gaps],
            "preparation": self.preparation.to_dict(),
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


def _describe(incident: Incident) -> str:
    culprits = ", ".join(
        f"{culprit.variable} {culprit.share:.0%} {culprit.direction}"
        for culprit in incident.culprits[:3]
    )
    return (
        f"{_plain(incident.start_time)} to {_plain(incident.end_time)}: {incident.severity}, "
        f"{incident.score:.1f} times the alarm level; {culprits}"
    )


def _incident_dict(incident: Incident) -> dict[str, Any]:
    return {
        "start": _plain(incident.start_time),
        "end": _plain(incident.end_time),
        "rows": incident.rows,
        "score": incident.score,
        "severity": incident.severity,
        "culprits": [
            {
                "variable": culprit.variable,
                "contribution_score": culprit.share,
                "direction": culprit.direction,
                "value": culprit.value,
                "expected": culprit.expected,
            }
            for culprit in incident.culprits
        ],
        "origin": None
        if incident.origin is None
        else {"variable": incident.origin.variable, "contribution_score": incident.origin.share},
    }


def _plain(moment: Any) -> Any:
    """A timestamp as ISO 8601 text, a number as it is."""
    if isinstance(moment, np.datetime64):
        return str(moment.astype("datetime64[us]")).removesuffix(".000000")
    return moment.item() if isinstance(moment, np.generic) else moment
