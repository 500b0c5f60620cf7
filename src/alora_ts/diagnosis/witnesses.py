"""Which witness gave the evidence for an incident.

A default score hears four: the network (error × rank), the surprise of one row after those before
it, a signal that is far out of its range (:mod:`alora_ts.scoring.bounds`), and the novelty of
longer stretches (:mod:`alora_ts.scoring.novelty`). The logarithm of how far a score lies above that
of usual rows is the sum of their parts. A witness's share is its part at the peak of an incident,
those that spoke against it left out. The network has the largest in most incidents, because it has
the largest weight; what the others added may still be what lifted a score above the alarm level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis.alarms import LEVELS
from alora_ts.scoring.bounds import Bounds
from alora_ts.scoring.novelty import weigh
from alora_ts.scoring.rules import ScoreRule

__all__ = ["Heard", "Witness", "Witnesses"]

_SURPRISE = 1 / 3
"""The exponent of a surprise in a joint score, see :class:`~alora_ts.scoring.rules.ScoreRule`."""

_TINY = 1e-12


@dataclass(frozen=True)
class Witness:
    """One witness's part in an incident.

    Attributes
    ----------
    name : {"network", "surprise", "range", "novelty"}
    share : float
        Of the evidence at the peak; those of all witnesses sum to 1.
    text : str
        What it saw, in words.
    decisive : bool
        Whether the peak would not be above the alarm level, had this witness seen what is usual.
    """

    name: Literal["network", "surprise", "range", "novelty"]
    share: float
    text: str
    decisive: bool


@dataclass(frozen=True, eq=False)
class Heard:
    """What was heard of each row, as far as rows before it were needed for that.

    Attributes
    ----------
    raw : ndarray of shape (n,)
        Raw scores before novelty and before what is usual was taken off.
    lift : ndarray of shape (n,)
        By how much novelty raised them, 1 for not at all.
    """

    raw: NDArray[np.float64]
    lift: NDArray[np.float64]

    def part(self, rows: slice | NDArray[np.intp]) -> Heard:
        """Of some rows."""
        return Heard(self.raw[rows], self.lift[rows])


@dataclass(frozen=True, eq=False)
class Witnesses:
    """What a model's witnesses say of normal rows.

    Attributes
    ----------
    rule : ScoreRule
    usual : float
        Median raw score of normal rows.
    level : float
        The raw score that alarms.
    surprise_size : ndarray of shape (d,) or None
        The unit of the surprises that incidents are explained by.
    stretches : (int, int) or None
        Rows of the shortest and the longest stretch that novelty looks at; None without it.
    bounds : Bounds or None
        Beyond which a signal alarms by itself; None where none does.
    """

    rule: ScoreRule
    usual: float
    level: float
    surprise_size: NDArray[np.float64] | None
    stretches: tuple[int, int] | None
    bounds: Bounds | None = None

    def hear(
        self,
        raw: NDArray[np.float64],
        drift: NDArray[np.float64],
        shift: NDArray[np.float64],
        novelty: NDArray[np.float64],
    ) -> Heard:
        """What is to be remembered of rows, from what a stream or a table says of them.

        A lasting novelty counts as usual and is not in a score. What is left of it follows from
        the score itself, where it is high enough to alarm; in a storm, where scores are lowered
        once more, this is the least that it can have been.
        """
        most = np.array([weigh(one) for one in novelty.tolist()])
        least = 1.0 / drift + shift * self.level / np.maximum(raw, _TINY)
        return Heard(raw, np.clip(least, 1.0, most))

    def speak(
        self,
        raw: float,
        lift: float,
        surprise: NDArray[np.floating],
        *,
        score: float,
        row: NDArray[np.floating],
    ) -> tuple[Witness, ...]:
        """Share the evidence of one row out, the strongest witness first.

        Parameters
        ----------
        raw, lift : float
            See :class:`Heard`.
        surprise : ndarray of shape (d,)
            One-step surprises of the row, in units of their normal size.
        score : float
            Its calibrated score.
        row : ndarray of shape (d,)
            Its values, scaled.
        """
        own = raw
        if self.bounds is not None:
            # Of this row alone, so the most that the range can have added.
            added = self.level * float(np.nan_to_num(self.bounds.each(row)).max())
            own = max(raw - added, min(raw, self.usual))
        found = {
            "network": math.log(max(own, _TINY) / self.usual),
            "range": math.log(max(raw, _TINY) / max(own, _TINY)),
            "novelty": math.log(lift),
        }
        if self.rule.scoring == "joint" and self.surprise_size is not None:
            seen = float(self.rule.surprise((surprise * self.surprise_size)[None])[0])
            # Normal rows have a mean of 1 in every variable, each with its weight.
            part = _SURPRISE * math.log(max(seen, _TINY) / float(self.rule.weight.sum()))
            found["surprise"] = part
            found["network"] -= part
        return _shared(found, self.stretches, score)


def _shared(
    found: dict[str, float], stretches: tuple[int, int] | None, score: float
) -> tuple[Witness, ...]:
    shortest, longest = stretches or (0, 0)
    rows = f"{shortest} to {longest}" if longest > shortest else f"{longest}"
    texts = {
        "network": "values that the network did not expect together",
        "surprise": "a step that the rows just before did not announce",
        "range": "a signal that stays far beyond everything in training",
        "novelty": f"unlike any stretch of training over the last {rows} rows",
    }
    total = sum(max(part, 0.0) for part in found.values())
    if total <= 0:
        return ()
    spoke = [
        # What is usual is taken off afterwards: without a part a score falls by no less than it.
        Witness(
            name,  # type: ignore[arg-type]
            found[name] / total,
            text,
            score * math.exp(-found[name]) <= LEVELS.opening,
        )
        for name, text in texts.items()
        if found.get(name, 0.0) > 0
    ]
    return tuple(sorted(spoke, key=lambda one: -one.share))
