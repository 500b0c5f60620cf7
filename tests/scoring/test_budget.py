from __future__ import annotations

import pytest

from alora_ts.errors import AloraError
from alora_ts.scoring.budget import parse_budget


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1 per week", 7 * 1440),
        ("one per day", 1440),
        ("2 per day", 720),
        ("1 per 30 days", 30 * 1440),
        ("1 per 5000 rows", 5000),
        ("1 per 5,000 rows", 5000),
        (" 3 / 600 Rows ", 200),
        ("twice a month", 15 * 1440),
        ("0.5 per day", 2880),
    ],
)
def test_budgets_in_words(text: str, rows: float) -> None:
    assert parse_budget(text).rows(1440.0) == pytest.approx(rows)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("often", "is no budget"),
        ("", "is no budget"),
        ("1 per fortnight", "unknown unit 'fortnight'"),
        ("1 per wek", "did you mean 'week'"),
        ("0 per day", "leaves no room"),
        ("many per day", "'many' is no number"),
        ("-1 per day", "is no budget"),
        ("1 per 0 rows", "leaves no room"),
    ],
)
def test_what_is_no_budget_is_refused(text: str, said: str) -> None:
    with pytest.raises(AloraError, match=said):
        parse_budget(text)


def test_a_number_is_no_budget() -> None:
    with pytest.raises(AloraError, match="must be text"):
        parse_budget(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 per 3 rows", "no longer an alarm"),
        ("10 per minute", "no longer an alarm"),
        ("1 per 100000000 rows", "no training period can show"),
        ("1 per 100 years", "no training period can show"),
    ],
)
def test_absurd_budgets_are_refused(text: str, said: str) -> None:
    with pytest.raises(AloraError, match=said):
        parse_budget(text).rows(1440.0)


def test_days_need_timestamps() -> None:
    with pytest.raises(AloraError, match="needs timestamps"):
        parse_budget("1 per week").rows(None)
