"""Where ALoRa wins, ties and loses, in words made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alora_ts.bench.comparison import Comparison, Standing, compare
from alora_ts.bench.tables.contenders import Arena
from alora_ts.bench.tables.significance import CRITERIA, verdict

__all__ = ["Verdict", "say_all", "verdicts"]

_HEAD = (
    "| dataset | metric | entities | mean | place by mean | result | level with | behind | "
    "simple scores not beaten |",
    "|---|---|---:|---:|---:|---|---|---|---|",
)
_FEW = {"win": "ahead", "loss": "behind"}
"""What a win and a loss are where there are too few entities for either."""
_FEWEST = 6
"""Entities below which no difference can be shown: if all agree, a signed-rank test still gives
2 / 2^n > 0.05."""


@dataclass(frozen=True)
class Verdict:
    """One dataset by one metric."""

    dataset: str
    metric: str
    compared: Comparison

    @property
    def one_series(self) -> bool:
        """Whether there is only one entity, so that nothing can be said about chance."""
        return len(self.compared.places) == 1

    @property
    def few(self) -> bool:
        """Whether there are too few entities to show a difference."""
        return len(self.compared.places) < _FEWEST

    @property
    def rivals(self) -> list[Standing]:
        """The compared methods: neither yardsticks nor other variants of ALoRa."""
        return [one for one in self.compared.others if not one.honest and not one.kin]

    def those(self, word: str) -> list[Standing]:
        """The rivals that ALoRa is ahead of, level with or behind."""
        return [one for one in self.rivals if verdict(one) == word]

    @property
    def outcome(self) -> str:
        """Whether ALoRa wins, ties or loses against the compared methods.

        It wins where it is ahead of all of them, loses where it is behind at least one, and ties
        otherwise. With too few entities for either it is only "ahead" or "behind".
        """
        found = self._by_numbers() if self.one_series else self._by_intervals()
        return _FEW.get(found, found) if self.few else found

    def _by_numbers(self) -> str:
        best = max((one.mean for one in self.rivals), default=None)
        if best is None or best == self.compared.ours.mean:
            return "tie"
        return "win" if self.compared.ours.mean > best else "loss"

    def _by_intervals(self) -> str:
        if self.those("behind"):
            return "loss"
        return "tie" if self.those("level") else "win"


def verdicts(arenas: Sequence[Arena], label: str) -> list[Verdict]:
    """Compare one row of ALoRa by every metric on every dataset where that can be done."""
    found = []
    for arena in arenas:
        for metric, read in CRITERIA.items():
            compared = compare([arena], read, label=label)
            if compared is None:
                continue
            one = Verdict(arena.dataset, metric, compared)
            if one.rivals:
                found.append(one)
    return found


def say_all(found: Sequence[Verdict]) -> list[str]:
    """Markdown: first the sum, then a line of a table for each dataset and metric."""
    if not found:
        return ["It has no complete results here, or nothing to compare them with."]
    parts = []
    several = [one for one in found if not one.few]
    if several:
        parts.append(
            f"On {_FEWEST} entities or more: **{_sum(several)}**. A win is ahead of every compared "
            "method, a loss behind at least one, a tie neither. A difference counts when its 95 % "
            "bootstrap interval (over entities, of the means over seeds) does not cover 0; "
            "otherwise two methods are level."
        )
    few = [one for one in found if one.few and not one.one_series]
    if few:
        parts.append(
            f"On two to {_FEWEST - 1} entities: **{_sum(few)}**. *Ahead* is no win and *behind* no "
            "loss: so few entities give an interval without 0 whenever they agree, and no test on "
            f"them can reach 5 % (all of n agreeing gives 2 / 2ⁿ, below it from {_FEWEST} on)."
        )
    single = [one for one in found if one.one_series]
    if single:
        parts.append(
            f"On a single series, where there is no interval and only the numbers can be compared: "
            f"**{_sum(single)}**."
        )
    parts.append("\n".join([*_HEAD, *map(_line, found)]))
    lacking = list(dict.fromkeys(name for one in found for name in one.compared.incomplete))
    if lacking:
        parts.append(f"Not compared everywhere, for lack of entities: {', '.join(lacking)}.")
    return parts


def _sum(found: Sequence[Verdict]) -> str:
    kinds = ("ahead", "tie", "behind") if found[0].few else ("win", "tie", "loss")
    counts = {kind: sum(one.outcome == kind for one in found) for kind in kinds}
    plural = {"win": "wins", "tie": "ties", "loss": "losses"}
    return ", ".join(
        f"{count} {kind if count == 1 else plural.get(kind, kind)}"
        for kind, count in counts.items()
    )


def _line(one: Verdict) -> str:
    ours, methods = one.compared.ours.mean, one.rivals
    if one.one_series:
        level = [other for other in methods if other.mean == ours]
        behind = [other for other in methods if other.mean > ours]
    else:
        level, behind = one.those("level"), one.those("behind")
    unbeaten = [
        other
        for other in one.compared.others
        if other.honest
        and (other.mean >= ours if one.one_series else verdict(other) in {"level", "behind"})
    ]
    place = 1 + sum(other.mean > ours for other in methods)
    cells = (
        one.dataset,
        one.metric,
        str(len(one.compared.places)),
        f"{ours:.3f}",
        f"{place} of {len(methods) + 1}",
        one.outcome,
        *map(_named, (level, behind, unbeaten)),
    )
    return f"| {' | '.join(cells)} |"


def _named(standings: Sequence[Standing]) -> str:
    return ", ".join(f"{one.name} ({one.mean:.3f})" for one in standings) or "–"
