"""What a backtest found: rounds, alarms, rates and the variables that kept coming up."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis import Diagnosis, Incident
from alora_ts.metrics import Evaluation

__all__ = ["Backtest", "Round"]


@dataclass(frozen=True)
class Round:
    """One model's term: fitted on rows [train_start, train_end), scoring up to score_end.

    Attributes
    ----------
    train_start, train_end, score_end : int
        Rows of the whole history.
    fitted_at, until : object
        Time (or row number) of the first and the last row it scored.
    threshold : float
        The raw score at which it alarms.
    alarming_rows, incidents : int
        Incidents count where they begin.
    highest : float
        Its highest score.
    """

    train_start: int
    train_end: int
    score_end: int
    fitted_at: Any
    until: Any
    threshold: float
    alarming_rows: int
    incidents: int
    highest: float

    @property
    def rows(self) -> int:
        """How many rows it scored."""
        return self.score_end - self.train_end


@dataclass(frozen=True, repr=False)
class Backtest:
    """What would have alarmed, had the models been in service.

    Attributes
    ----------
    diagnosis : Diagnosis
        Of all replayed rows, each scored by the model that was in service then; its rows count
        from the first replayed one. Rows without a full window behind them never alarm, as in a
        stream.
    rounds : tuple of Round
    days : float or None
        Time the replayed rows cover, pauses not counted; None without dates.
    """

    diagnosis: Diagnosis
    rounds: tuple[Round, ...]
    days: float | None

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """What an operator would have been called for."""
        return self.diagnosis.incidents

    @property
    def alarming_rows(self) -> int:
        """How many rows would have alarmed."""
        return int(self.diagnosis.alarm.sum())

    @property
    def alarming_rows_per_day(self) -> float | None:
        """How many rows would have alarmed on a day; None without dates."""
        return None if self.days is None else self.alarming_rows / self.days

    @property
    def incidents_per_day(self) -> float | None:
        """How often an operator would have been called on a day; None without dates."""
        return None if self.days is None else len(self.incidents) / self.days

    @property
    def round_of(self) -> NDArray[np.int64]:
        """The round that scored each replayed row, counted from 1."""
        return np.repeat(np.arange(1, len(self.rounds) + 1), [one.rows for one in self.rounds])

    def leaders(self) -> tuple[tuple[str, int], ...]:
        """Variables that led incidents, and how many; most first, ties by name."""
        counted = Counter(incident.culprits[0].variable for incident in self.incidents)
        return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def evaluation(self) -> Evaluation | None:
        """What the incidents would have been worth, by the labels; None without any.

        Beside them stand the best level of the same scores, a random score and an endless alarm.
        """
        return self.diagnosis.evaluate(incidents_only=True) if self.diagnosis.labelled else None

    def __repr__(self) -> str:
        return f"<Backtest: {self}>"

    def _repr_html_(self) -> str:
        from alora_ts.backtest.page import backtest_html

        return backtest_html(self)

    def __str__(self) -> str:
        """One sentence for a terminal."""
        said = (
            f"{len(self.diagnosis):,} rows replayed with {len(self.rounds)} fit(s): "
            f"{self.alarming_rows:,} alarming row(s) in {len(self.incidents)} incident(s)"
        )
        if self.days is None or self.incidents_per_day is None:
            return said
        return (
            f"{said}, {_rate(self.incidents_per_day)} incident(s) and "
            f"{_rate(self.alarming_rows / self.days)} alarming row(s) a day over "
            f"{_rate(self.days)} day(s)"
        )

    def to_frame(self) -> Any:
        """One row for each row replayed: :meth:`Diagnosis.to_frame` and the ``round``."""
        columns = {"round": self.round_of, **self.diagnosis.columns()}
        return self.diagnosis.table.frame(columns)

    def to_dict(self) -> dict[str, Any]:
        """In a form JSON can hold: the rates, what they are worth, the rounds, the diagnosis."""
        evaluation = self.evaluation()
        return {
            "rows": len(self.diagnosis),
            "days": self.days,
            "alarming_rows": self.alarming_rows,
            "alarming_rows_per_day": self.alarming_rows_per_day,
            "incidents": len(self.incidents),
            "incidents_per_day": self.incidents_per_day,
            "leading_culprits": [
                {"variable": name, "incidents": count} for name, count in self.leaders()
            ],
            "evaluation": None if evaluation is None else dataclasses.asdict(evaluation),
            "rounds": [_round_dict(one) for one in self.rounds],
            "diagnosis": self.diagnosis.to_dict(),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """:meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=indent)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write a self-contained HTML page: the rates and rounds, then the report of all rows."""
        from alora_ts.backtest.page import backtest_section
        from alora_ts.report.html import render_report

        return render_report(
            self.diagnosis,
            path,
            title=title or "What would have alarmed",
            extra={"Backtest": backtest_section(self)},
        )


def _rate(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _round_dict(one: Round) -> dict[str, Any]:
    plain = dataclasses.asdict(one)
    for name in ("fitted_at", "until"):
        if isinstance(plain[name], np.datetime64):
            plain[name] = str(plain[name]).removesuffix(".000000")
        elif isinstance(plain[name], np.generic):
            plain[name] = plain[name].item()
    return plain
