"""The page of claims is what the committed results say."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from benchmarks.claims import PAGE, RESULTS, _beats_error, page


def test_the_page_is_what_the_results_say() -> None:
    """Otherwise: python -m benchmarks.claims."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_line_has_one_of_four_verdicts_and_they_are_counted() -> None:
    text = PAGE.read_text(encoding="utf-8")
    verdicts = re.findall(r"^\|[^|]+\|[^|]+\| \*\*([a-z ]+)\*\* \|", text, re.MULTILINE)
    assert set(verdicts) <= {"confirmed", "contradicted", "not shown", "untested"}
    counted = re.search(r"In all: (.+)\.", text)
    assert counted is not None
    for part in counted[1].split(", "):
        count, verdict = part.split(" ", 1)
        assert verdicts.count(verdict) == int(count)


@pytest.mark.parametrize(
    ("las", "error", "entities", "verdict"),
    [
        (0.5, 0.4, 6, "confirmed"),
        (0.3, 0.4, 6, "contradicted"),
        (0.5, 0.4, 5, "not shown"),
        (0.3, 0.4, 5, "not shown"),
    ],
)
def test_the_same_rule_decides_both_ways(
    las: float, error: float, entities: int, verdict: str
) -> None:
    runs: list[dict[str, Any]] = [
        {
            "entity": str(at),
            "seed": 0,
            "localization": {"paper": {"hr@100": las}, "error": {"hr@100": error}},
        }
        for at in range(entities)
    ]
    assert _beats_error("X", runs, "a network", "").verdict == verdict


def test_numbers_are_those_of_the_records() -> None:
    """One line by hand: HR@100 of LAS and of the error on ASD."""
    runs = [
        json.loads(path.read_text())
        for path in (RESULTS / "cpu" / "runs" / "ASD").glob("*/alora-paper-*.json")
    ]
    means = [
        sum(one["localization"][f"{form} / HR@100"]["value"] for one in runs) / len(runs)
        for form in ("LAS", "LAS*")
    ]
    assert f"HR@100 {means[0]:.3f}, error {means[1]:.3f}" in PAGE.read_text(encoding="utf-8")
