"""Tables of benchmarks/origins.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from alora_ts.bench.rootcause import calibration_error, calibration_error_by_chance

_COUNTED = ("rows", "all faults", "faults that alarmed")
_AGAINST = ("error", "error, remembered", "squared input", "squared input, remembered", "paper")


def write_tables(outcomes: list[dict[str, Any]], *, command: str) -> str:
    """All tables as Markdown."""
    systems = {(o["family"], o["system"]) for o in outcomes}
    seeds = {o["seed"] for o in outcomes}
    alarmed = sum(o["hits"]["incident"][2] is not None for o in outcomes)
    parts = [
        "# Origins\n",
        f"{len(systems)} systems × {len(seeds)} fits; {len(outcomes)} judged faults that spread, "
        f"{alarmed} of them alarmed. Made by `{command}`.\n",
        "HR@1: how often the origin ranks first. *Rows*: share of a fault's rows; *all faults*: "
        "one verdict for each fault over all its rows; *faults that alarmed*: over the alarming "
        "rows of the worst incident that touches it, as release 0.1 named the origin of an "
        "incident. Means over faults. *incident* is `Incident.origin` as it is today: of the "
        "fault's rows as they are given, and of the same incident.\n",
        "## All systems\n",
        _overall(outcomes),
        "## By family, all faults\n",
        _by(outcomes, "family"),
        "## By kind of fault, all faults\n",
        _by([o for o in outcomes if o["family"] != "library"], "kind"),
        "The library's kinds:\n",
        _by([o for o in outcomes if o["family"] == "library"], "kind"),
        "## `origin` against others, system by system\n",
        _paired(outcomes),
        "## How much to believe an incident's origin\n",
        _believed(outcomes),
    ]
    return "\n".join(part for part in parts if part)


def _overall(outcomes: list[dict[str, Any]]) -> str:
    lines = [
        [form, *(_mean(outcomes, form, which) for which in range(3))]
        for form in outcomes[0]["hits"]
    ]
    seeds = sorted({o["seed"] for o in outcomes})
    for line in lines:
        each = [[o for o in outcomes if o["seed"] == s and line[0] in o["hits"]] for s in seeds]
        by_seed = [_value(own, line[0], 1) for own in each if own]
        line.append(f"{np.std(by_seed):.3f}" if len(by_seed) > 1 else "one seed")
    return _table(["form", *_COUNTED, "± seeds, all faults"], lines)


def _by(outcomes: list[dict[str, Any]], key: str) -> str:
    if not outcomes:
        return ""
    names = sorted({o[key] for o in outcomes})
    groups = [[o for o in outcomes if o[key] == name] for name in names]
    lines = [[form, *(_mean(g, form, 1) for g in groups)] for form in outcomes[0]["hits"]]
    heads = [f"{name} ({len(group)})" for name, group in zip(names, groups, strict=True)]
    return _table(["form", *heads], lines)


def _paired(outcomes: list[dict[str, Any]]) -> str:
    """Mean difference, its 95 % interval over bootstrapped systems, systems won and lost."""
    systems = sorted({(o["family"], o["system"]) for o in outcomes})
    rng = np.random.default_rng(0)
    lines = []
    for which, counted in enumerate(_COUNTED[:2]):
        for other in _AGAINST:
            gaps = np.array(
                [
                    _value(own, "origin", which) - _value(own, other, which)
                    for own in (
                        [o for o in outcomes if (o["family"], o["system"]) == s] for s in systems
                    )
                ]
            )
            drawn = gaps[rng.integers(len(gaps), size=(10_000, len(gaps)))].mean(1)
            low, high = np.quantile(drawn, [0.025, 0.975])
            won, lost = int((gaps > 0).sum()), int((gaps < 0).sum())
            gap = f"{gaps.mean():+.3f} ({low:+.3f} to {high:+.3f})"
            lines.append([counted, other, gap, f"{won} / {lost}"])
    return _table(["counted", "against", "mean difference (95 %)", "systems won / lost"], lines)


def _believed(outcomes: list[dict[str, Any]]) -> str:
    named = [o for o in outcomes if o["certainty"] is not None]
    lines = []
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 0.99), (0.99, 1.01)):
        group = [o for o in named if low <= o["certainty"] < high]
        said = f"{np.mean([o['certainty'] for o in group]):.3f}" if group else "–"
        right = _mean(group, "incident", 2)
        lines.append([f"{low:.2f} to {min(high, 1):.2f}", str(len(group)), said, right])
    certainty = np.array([o["certainty"] for o in named])
    right_each = np.array([o["hits"]["incident"][2] == 1 for o in named])
    error = calibration_error(certainty, right_each)
    mean, high = calibration_error_by_chance(certainty)
    return _table(["certainty said", "incidents", "mean", "it was the origin"], lines) + (
        f"\nCalibration error in 10 bins: {error:.3f}; exact certainties would show {mean:.3f} in "
        f"the mean, and at most {high:.3f} in 95 of 100 draws.\n"
    )


def _value(outcomes: list[dict[str, Any]], form: str, which: int) -> float:
    return float(np.mean(_hits(outcomes, form, which)))


def _mean(outcomes: list[dict[str, Any]], form: str, which: int) -> str:
    return f"{_value(outcomes, form, which):.3f}" if _hits(outcomes, form, which) else "–"


def _hits(outcomes: list[dict[str, Any]], form: str, which: int) -> list[float]:
    hits = (o["hits"][form][which] for o in outcomes if form in o["hits"])
    return [hit for hit in hits if hit is not None]


def _table(heads: Iterable[str], lines: list[list[str]]) -> str:
    heads = list(heads)
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
