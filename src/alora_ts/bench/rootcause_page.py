"""Root causes: the verdicts as a page of Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alora_ts.bench.affected import Affected, affected_table
from alora_ts.bench.rootcause import (
    METHODS,
    YARDSTICKS,
    Verdict,
    accuracy,
    calibration_error,
    calibration_error_by_chance,
)

__all__ = ["rootcause_page", "system_table"]

_HOW = """What was chosen on what: the confidence of the scale (99.5 %) on the Sock Shop and 30
simulated shops, the half weight of movement on the Sock Shop; the factor of certainty on the Sock
Shop, 48 simulated systems of four other families and those simulated shops. How movement is
measured and which rows tell were decided with all 36 recorded cases in view, among some dozens of
variants whose results differed by one or two cases: their tables show what the rules can do, not
what they will do elsewhere. That surprises join the order of culprits, and that a signal within its
range needs 1 % of the evidence to be named, was decided with simulated systems in view, some of
those below among them. How much it weighs to be the first to leave normal was chosen on sixteen
other simulated systems.

Sock Shop files begin in the middle of a fault, hours after the normal rows. An issue of PetShop has
five rows and follows the last 100 normal ones; the node where it was noticed is not asked for.
Yardsticks are told which rows to look at. *Culprits* are those of the worst incident that ALoRa
found by itself, with default settings; *stretch given* tells it the rows, too. *Localization* is
the sum over the same rows of the scores by row, which rank what is affected."""

_EXACT = """A few cases miss the certainty by chance: beside the error stands what certainties that
are exact would show on as many cases, in the mean and at most in 95 of 100 draws."""

_AFFECTED = """Another question: these labels name all that a fault reached. HR@100 of the
localization by row, mean over entities."""

_FIRST, _LAST = (*METHODS, *YARDSTICKS), "random"
_ORIGIN = METHODS[2]


def system_table(verdicts: Sequence[Verdict]) -> str:
    r"""One system: a row for each method, the cause's and its group's places.

    Examples
    --------
    >>> print(system_table([Verdict("shop", "a", "mean |z|", 0.0, None)]).splitlines()[2])
    | mean \|z\| | 1.00 | 1.00 | 1.00 | – | – | – | 0 |
    """
    lines = [
        "| method | AC@1 | AC@3 | Avg@5 | group AC@1 | group AC@3 | group Avg@5 | innocents |",
        f"|{'---|' * 8}",
    ]
    compared = dict.fromkeys(one.method for one in verdicts)
    others = [name for name in compared if name not in _FIRST and name != _LAST]
    for method in (*_FIRST, *others, _LAST):
        own = [one for one in verdicts if one.method == method]
        if not own:
            continue
        name = method.replace("|", "\\|")
        cells = [*_cells([one.place for one in own]), *_cells([one.group_place for one in own])]
        innocents = "–" if method == "random" else str(sum(one.innocents for one in own))
        lines.append(f"| {name} | {' | '.join(cells)} | {innocents} |")
    return "\n".join(lines)


def rootcause_page(
    verdicts: Sequence[Verdict], *, command: str, affected: Sequence[Affected] = ()
) -> str:
    """The whole page: a table for each system, how far to believe certainties, affected sets."""
    parts = [
        "# Root causes",
        "How often the cause of a known fault is named. AC@k: the share of cases with the cause "
        "among the first k; Avg@5: the mean of AC@1 to AC@5. *Group*: the service or node. "
        "*Innocents*: signals among the first three of all cases, the cause apart, that never "
        "went further beyond all normal rows than two of their standard deviations.",
        f"```sh\n{command}\n```",
        _HOW,
    ]
    systems = dict.fromkeys(one.system for one in verdicts)
    for system in systems:
        own = [one for one in verdicts if one.system == system]
        cases = len({one.case for one in own})
        parts += [f"## {system} ({cases} cases)", system_table(own)]
    parts += ["## Certainty of the origin", _EXACT, _certainty_table(verdicts)]
    if affected:
        parts += ["## Affected sets", _AFFECTED, affected_table(affected)]
    return "\n\n".join(parts) + "\n"


def _cells(places: list[float | None]) -> list[str]:
    known = [place for place in places if place is not None]
    if not known:
        return ["–"] * 3
    return [f"{value:.2f}" for value in accuracy(known).values()]


def _certainty_table(verdicts: Sequence[Verdict]) -> str:
    lines = [
        "| system | origins named | mean certainty | right | calibration error, 10 bins | "
        "of exact certainties, mean (95 %) | 5 bins |",
        f"|{'---|' * 7}",
    ]
    for system in dict.fromkeys(one.system for one in verdicts):
        named = [
            one
            for one in verdicts
            if one.system == system and one.method == _ORIGIN and one.certainty
        ]
        if not named:
            continue
        places = [one.group_place if one.place is None else one.place for one in named]
        right = np.array([place == 0 for place in places])
        certainty = np.array([one.certainty for one in named], dtype=np.float64)
        chance, high = calibration_error_by_chance(certainty)
        errors = [calibration_error(certainty, right, bins=bins) for bins in (10, 5)]
        lines.append(
            f"| {system} | {len(named)} | {certainty.mean():.2f} | {right.mean():.2f} | "
            f"{errors[0]:.2f} | {chance:.2f} ({high:.2f}) | {errors[1]:.2f} |"
        )
    return "\n".join(lines)
