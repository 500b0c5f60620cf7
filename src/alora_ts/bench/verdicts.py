"""Where ALoRa wins, ties and loses, in words made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alora_ts.bench.comparison import Comparison, Standing, compare
from alora_ts.bench.tables.contenders import Arena
from alora_ts.bench.tables.significance import CRITERIA, verdict

__all__ = ["Verdict", "say_all", "verdicts"]


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
        otherwise.
        """
        if self.one_series:
            best = max((one.mean for one in self.rivals), default=None)
            if best is None or best == self.compared.ours.mean:
                return "tie"
            return "win" if self.compared.ours.mean > best else "loss"
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
    """Markdown: first the sum, then a line for each dataset and metric."""
    if not found:
        return ["It has no complete results here, or nothing to compare them with."]
    parts = []
    several = [one for one in found if not one.one_series]
    if several:
        parts += [
            f"{_counted(several)} over several entities. A difference counts when its 95 % "
            f"bootstrap interval (over entities, of the means over seeds) does not cover 0.",
            _sum(
                several,
                win="ahead of every compared method",
                tie="behind none, and level with at least one",
                loss="behind at least one",
            ),
        ]
    single = [one for one in found if one.one_series]
    if single:
        parts += [
            f"{_counted(single)} on a single series, where there is no interval and only the "
            f"numbers can be compared.",
            _sum(single, win="above all", tie="equal to the best", loss="below at least one"),
        ]
    for dataset in dict.fromkeys(one.dataset for one in found):
        parts.append(f"On **{dataset}**:")
        parts.append("\n".join(f"- {_say(one)}" for one in found if one.dataset == dataset))
    return parts


def _counted(found: Sequence[Verdict]) -> str:
    return f"{len(found)} {'comparison' if len(found) == 1 else 'comparisons'} (dataset by metric)"


def _sum(found: Sequence[Verdict], **meaning: str) -> str:
    lines = []
    for word, kind in (("Wins", "win"), ("Ties", "tie"), ("Losses", "loss")):
        those = [one for one in found if one.outcome == kind]
        places = "; ".join(
            f"{dataset} by {', by '.join(one.metric for one in those if one.dataset == dataset)}"
            for dataset in dict.fromkeys(one.dataset for one in those)
        )
        lines.append(
            f"- **{word}: {len(those)}** ({meaning[kind]}){': ' if places else ''}{places}"
        )
    return "\n".join(lines)


def _say(one: Verdict) -> str:
    compared = one.compared
    methods = one.rivals
    higher = sum(other.mean > compared.ours.mean for other in methods)
    said = (
        f"*{one.metric}*: mean {compared.ours.mean:.3f}, place {higher + 1} of "
        f"{len(methods) + 1} methods by the mean"
    )
    if one.one_series:
        above = [other for other in methods if other.mean > compared.ours.mean]
        said += f"; above it: {_named(above)}." if above else "."
    else:
        said += (
            f", average rank {compared.ours.rank:.1f} of {len(compared.others) + 1}. Ahead of "
            f"{len(one.those('ahead'))} of {len(methods)}"
        )
        for words in ("level with", "behind"):
            those = one.those(words.split()[0])
            said += f"; {words} {_named(those)}" if those else ""
        said += "."
    beaten = [
        f"{yardstick.name} ({yardstick.mean:.3f})"
        for yardstick in compared.others
        if yardstick.honest
        and (
            verdict(yardstick) in {"level", "behind"}
            if not one.one_series
            else yardstick.mean >= compared.ours.mean
        )
    ]
    if beaten:
        said += f" **Not ahead of the yardstick {', '.join(beaten)}.**"
    if compared.incomplete:
        said += f" Not compared, for lack of entities: {', '.join(compared.incomplete)}."
    return said


def _named(standings: Sequence[Standing]) -> str:
    return ", ".join(f"{one.name} ({one.mean:.3f})" for one in standings)
