"""Root causes: the verdicts as a page of Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alora_ts.bench.rootcause import METHODS, YARDSTICKS, Verdict, accuracy, calibration_error

__all__ = ["rootcause_page", "system_table"]

_ORDER = (*METHODS, *YARDSTICKS, "random")
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
    for method in _ORDER:
        own = [one for one in verdicts if one.method == method]
        if not own:
            continue
        name = method.replace("|", "\\|")
        cells = [*_cells([one.place for one in own]), *_cells([one.group_place for one in own])]
        innocents = "–" if method == "random" else str(sum(one.innocents for one in own))
        lines.append(f"| {name} | {' | '.join(cells)} | {innocents} |")
    return "\n".join(lines)


def rootcause_page(verdicts: Sequence[Verdict], *, command: str) -> str:
    """The whole page: a table for each system, then how far to believe certainties."""
    parts = [
        "# Root causes",
        "How often the cause of a known fault is named. AC@k: the share of cases with the cause "
        "among the first k; Avg@5: the mean of AC@1 to AC@5. *Group*: the service or node. "
        "*Innocents*: signals among the first three of all cases that never went further beyond "
        "all normal rows than two of their standard deviations.",
        f"```sh\n{command}\n```",
    ]
    systems = dict.fromkeys(one.system for one in verdicts)
    for system in systems:
        own = [one for one in verdicts if one.system == system]
        cases = len({one.case for one in own})
        parts += [f"## {system} ({cases} cases)", system_table(own)]
    parts += ["## Certainty of the origin", _certainty_table(verdicts)]
    return "\n\n".join(parts) + "\n"


def _cells(places: list[float | None]) -> list[str]:
    known = [place for place in places if place is not None]
    if not known:
        return ["–"] * 3
    return [f"{value:.2f}" for value in accuracy(known).values()]


def _certainty_table(verdicts: Sequence[Verdict]) -> str:
    lines = [
        "| system | origins named | mean certainty | right | calibration error, 10 bins | 5 bins |",
        f"|{'---|' * 6}",
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
        errors = [calibration_error(certainty, right, bins=bins) for bins in (10, 5)]
        lines.append(
            f"| {system} | {len(named)} | {certainty.mean():.2f} | {right.mean():.2f} | "
            f"{errors[0]:.2f} | {errors[1]:.2f} |"
        )
    return "\n".join(lines)
