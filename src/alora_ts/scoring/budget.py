"""How many false incidents somebody can bear: "1 per week", "2 per day", "1 per 5000 rows"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from alora_ts.errors import AloraError, nearest

__all__ = ["DEFAULT_BUDGET", "Budget", "parse_budget"]

DEFAULT_BUDGET = "1 per 1000 rows"
"""Measured in docs/quality.md: what training periods of some thousand rows can keep."""

_DAYS = {
    "minute": 1 / 1440,
    "hour": 1 / 24,
    "day": 1.0,
    "week": 7.0,
    "month": 30.0,
    "quarter": 91.0,
    "year": 365.0,
}
_WORDS = {"one": 1.0, "two": 2.0, "three": 3.0, "a": 1.0, "once": 1.0, "twice": 2.0}
_FORM = re.compile(r"([\w.]+)\s*(?:per|/|every|in|an?)\s*(?:([\d.,_]+)\s*)?([a-z]+)")

_MOST, _FEWEST = 50, 10_000_000


@dataclass(frozen=True)
class Budget:
    """So many false incidents in so many rows or days.

    Attributes
    ----------
    text : str
        As it was asked for.
    each : float
        Rows, or days, from one false incident to the next.
    in_days : bool
        Whether ``each`` counts days.
    """

    text: str
    each: float
    in_days: bool

    def rows(self, rows_per_day: float | None) -> float:
        """Rows from one false incident to the next.

        Raises
        ------
        AloraError
            When it is in days and nobody knows how many rows a day has, or when no level could
            keep it.
        """
        rows = self.each
        if self.in_days:
            if rows_per_day is None or rows_per_day <= 0:
                raise AloraError(
                    f"false_alarms={self.text!r} needs timestamps, to know how many rows a day "
                    "has; give a time column, or a budget such as '1 per 5000 rows'"
                )
            rows = self.each * rows_per_day
        if rows < _MOST:
            raise AloraError(
                f"false_alarms={self.text!r} is one false incident in {rows:,.3g} rows: no longer "
                f"an alarm; ask for at most one in {_MOST} rows"
            )
        if rows > _FEWEST:
            raise AloraError(
                f"false_alarms={self.text!r} is one false incident in {rows:,.3g} rows, which no "
                f"training period can show; ask for at least one in {_FEWEST:,} rows"
            )
        return rows


def parse_budget(text: str) -> Budget:
    """Read a budget.

    Parameters
    ----------
    text : str
        "1 per week", "2 per day", "1 per 30 days", "1 per 5000 rows".

    Examples
    --------
    >>> parse_budget("1 per 5,000 rows").rows(None)
    5000.0
    >>> parse_budget("2 per week").rows(1440)
    5040.0
    """
    if not isinstance(text, str):
        raise AloraError(f"false_alarms={text!r} must be text, such as '1 per week'")
    found = _FORM.fullmatch(text.strip().lower())
    if found is None:
        raise AloraError(
            f"false_alarms={text!r} is no budget; write '1 per week', '2 per day' or "
            "'1 per 5000 rows'"
        )
    count, every, unit = found.groups()
    number = _number(count, text)
    stretch = 1.0 if every is None else _number(every, text)
    single = unit.removesuffix("s")
    if single != "row" and single not in _DAYS:
        raise AloraError(
            f"false_alarms={text!r}: unknown unit {unit!r}{nearest(single, ['row', *_DAYS])}"
        )
    if not (number > 0 and stretch > 0):
        raise AloraError(
            f"false_alarms={text!r} leaves no room for a false incident, and without any no "
            "alarm can be raised; ask for a rare one, such as '1 per month'"
        )
    in_days = single != "row"
    return Budget(text, stretch * (_DAYS[single] if in_days else 1.0) / number, in_days)


def _number(word: str, text: str) -> float:
    if word in _WORDS:
        return _WORDS[word]
    try:
        return float(word.replace(",", "").replace("_", ""))
    except ValueError:
        raise AloraError(
            f"false_alarms={text!r}: {word!r} is no number; write '1 per week'"
        ) from None
