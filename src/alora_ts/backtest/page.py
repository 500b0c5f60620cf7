"""The part of a report that only a backtest has."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from alora_ts.data.report import tell_moment
from alora_ts.markup import boxed, html_table
from alora_ts.metrics.measures import BEST, GIVEN
from alora_ts.report.moments import number
from alora_ts.report.notebook import incident_list, timeline

if TYPE_CHECKING:
    from alora_ts.backtest.result import Backtest

__all__ = ["backtest_html", "backtest_section"]

_ROUNDS = 10


def backtest_section(found: Backtest) -> str:
    """The rates in a sentence, who led the incidents, and a table of the rounds, as HTML."""
    leaders = ", ".join(f"{escape(name)} ({count})" for name, count in found.leaders()[:10])
    led = f"<p>Incidents by their first culprit: {leaders}.</p>" if leaders else ""
    rows = "".join(
        f"<tr><td>{place}</td><td>{escape(moment(one.fitted_at))}</td>"
        f'<td class="n">{one.train_end - one.train_start:,}</td><td class="n">{one.rows:,}</td>'
        f'<td class="n">{one.alarming_rows:,}</td><td class="n">{one.incidents:,}</td>'
        f'<td class="n">{number(one.highest)}×</td></tr>'
        for place, one in enumerate(found.rounds, start=1)
    )
    heads = "".join(
        f'<th scope="col"{" class=n" if right else ""}>{name}</th>'
        for name, right in (
            ("Fit", False),
            ("In service from", False),
            ("Learned from rows", True),
            ("Scored rows", True),
            ("Alarming rows", True),
            ("Incidents", True),
            ("Highest", True),
        )
    )
    return (
        f"<p>{escape(str(found))}.</p>{_worth(found)}{led}"
        "<p>Each row was scored by a model fitted on earlier rows only. Relations, data "
        "preparation and model card below are those of the last fit.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Fits"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _worth(found: Backtest) -> str:
    """What the labels say of the incidents, in a paragraph."""
    evaluation = found.evaluation()
    if evaluation is None:
        return ""
    given, best = (evaluation[choice, "incident F1"] for choice in (GIVEN, BEST))
    label = escape(str(found.diagnosis.table.label_name))
    return (
        f"<p>By the label {label} the incident F1 is {given.value or 0:.2f}. With as many rows in "
        f"alarm, random scores reach {given.random or 0:.2f} and an alarm that never ends "
        f"{given.always or 0:.2f}; with the best level, which only the labels can choose, these "
        f"scores reach {best.value or 0:.2f}.</p>"
    )


def moment(time: object) -> str:
    """A time as people write it.

    Examples
    --------
    >>> import numpy as np
    >>> moment(np.datetime64("2026-01-09T10:20:00.000000")), moment(7)
    ('2026-01-09 10:20:00', '7')
    """
    return str(time).removesuffix(".000000").replace("T", " ")


def backtest_html(found: Backtest) -> str:
    """The rates, the models in service, and the diagnosis of all rows."""
    rows = [
        [
            tell_moment(one.fitted_at),
            f"{one.train_end - one.train_start:,}",
            f"{one.rows:,}",
            f"{one.alarming_rows:,}",
            f"{one.incidents:,}",
        ]
        for one in found.rounds[:_ROUNDS]
    ]
    heads = ["in service from", "learned from rows", "scored", "alarming", "incidents"]
    rest = len(found.rounds) - _ROUNDS
    more = f"<p>and {rest:,} more fits</p>" if rest > 0 else ""
    return boxed(
        f"<p><b>Backtest</b> {escape(str(found))}</p>",
        timeline(found.diagnosis),
        html_table(heads, rows, numbers=(1, 2, 3, 4)),
        more,
        incident_list(found.incidents),
    )
