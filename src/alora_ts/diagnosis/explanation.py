"""Why an incident is one: which signals deviate, what they should have been, where it began.

*Who deviates.* The culprits are the fewest signals with which set aside everything else looks
normal. A signal outside its usual range is set aside: nothing is concluded from it. From the rest
follows what every signal would have been (:meth:`~alora_ts.diagnosis.usual.Usual.implied`); one
that differs from that although it stays within its range is set aside as well, and so on until no
more are found. So a signal that behaves is not blamed because its expectation was bent by others
that do not.

*How strongly.* With m the mean over the incident of how far a signal is from what it would have
been, and s its standard deviation over the calmer half of the incident, both in deviations and not
limited by what the network may see, the evidence is

    e = log(1 + m) + ½ log(1 + s):

it is elsewhere, and it moves as it never did. A gauge that only stands elsewhere since the model
was fitted says less than a signal that also behaves differently.

*Where it began.* What a fault merely reached still follows from the rows before, the origin does
not. Where the relations between signals are known, the divergence D of one-step surprises
(:mod:`alora_ts.diagnosis.origins`) joins in, the mean over the windows that end in the incident's
rows, and a signal weighs e / 2 + log(1 + D); one that was surely away before any other culprit was
(:mod:`alora_ts.diagnosis.onset`) weighs 1 more. The heaviest is a culprit even if it stayed within
its range, as one that got stuck does. Where relations are not known, a signal weighs e. Culprits
are in order of weight, and the origin is the first of them. Its certainty is the softmax of 1.5
times the weights of the culprits and of one signal that behaves, which stands for whatever else it
may have been: how many signals behave says nothing about those that do not. docs/rootcause.md says
on which data the factor was chosen, and how certainties do on others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from alora_ts.data.scaling import Standardiser, within
from alora_ts.diagnosis.origins import Mechanisms
from alora_ts.diagnosis.shares import shares
from alora_ts.diagnosis.usual import Usual
from alora_ts.diagnosis.witnesses import Witnesses

__all__ = ["Explanation", "Judge"]

Array = NDArray[np.float64]

_SUSPECT = 1.5
"""Mean deviation, in scales, at which a signal is set aside from the start (0.8 is normal)."""

_BEYOND = 3.0
"""Root mean square, in scales, of a deviation from what the others imply that is not normal."""

_OUTSIDE = 2.0
"""Standard deviations beyond everything seen in training at which a signal has left its range."""

_MOVED_AT_ALL = 0.05  # scaled units, for a signal that never moved: 0.05 % of its level
_NORMAL = float(np.log1p(0.8) + 0.5 * np.log1p(1.0))
"""Evidence of a signal that behaves: a normal distribution has the mean deviation 0.8."""

_SURELY = 3.0
"""Deviations at which a signal is surely away: what a row says begins there."""

_FAINT = 0.1
"""Rows that say less than so much of the strongest do not explain an incident."""

_SEEN = 0.01
"""Share of the evidence below which a signal that stayed within its range is not named."""

_CHANCE = 3.0
"""Where no row says more than this in all, what rows say is chance: then all rows explain."""

_FIRST = 1.0
"""What a culprit weighs more that left normal before all others."""

_ROUNDS = 10
_ROUNDING = 1e-9
_SHARPNESS = 1.5
"""Factor of weights in certainties."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What an incident's rows say of each signal.

    Attributes
    ----------
    culprits : ndarray of int
        The signals that deviate, the heaviest first; never empty.
    share : ndarray of shape (d,)
        Part of the evidence beyond normal.
    aside : ndarray of bool, shape (d,)
        Signals from which nothing was concluded about others.
    deviation : ndarray of shape (n, d)
        From what the others imply, in deviations.
    expected : ndarray of shape (n, d)
        What the others imply, in the signals' own units.
    weight : ndarray of shape (d,)
        What shares and certainties come from.
    normal : float
        Weight of a signal that behaves.
    """

    culprits: NDArray[np.intp]
    share: Array
    aside: NDArray[np.bool_]
    deviation: Array
    expected: Array
    weight: Array
    normal: float

    @property
    def certainty(self) -> float:
        """How likely the first culprit is the origin, and not another one or something else."""
        among = np.append(self.weight[self.culprits], self.normal)
        return float(softmax(_SHARPNESS * among)[0])

    def led_by(self, first: int) -> Explanation:
        """The same, knowing that one culprit left normal before all others."""
        weight = self.weight.copy()
        weight[first] += _FIRST
        order = np.argsort(-weight[self.culprits], kind="stable")
        return replace(
            self,
            culprits=self.culprits[order],
            share=_share(weight, self.normal),
            weight=weight,
        )


@dataclass(frozen=True, eq=False)
class Judge:
    """What a model knows that explains incidents.

    Attributes
    ----------
    standardiser : Standardiser
    usual : Usual
    mechanisms : Mechanisms or None
    limit : float
        Judges count within ± so many scaled units, as for the network; deviations do not.
    window : int
        T, what a row's surprises are looked at within.
    witnesses : Witnesses or None
        Those of the score, where it hears several.
    """

    standardiser: Standardiser
    usual: Usual
    mechanisms: Mechanisms | None
    limit: float
    window: int
    witnesses: Witnesses | None = None

    def expected(self, values: NDArray[np.floating], aside: NDArray[np.bool_]) -> Array:
        """What each signal would have been without those set aside, (n, d), in own units."""
        implied, _ = self.usual.implied(self._scale(values), aside, limit=self.limit)
        return self.standardiser.restore(implied)

    def deviation(self, values: NDArray[np.floating], aside: NDArray[np.bool_]) -> Array:
        """How far each signal is from that, in deviations, (n, d)."""
        scaled = self._scale(values)
        implied, scale = self.usual.implied(scaled, aside, limit=self.limit)
        result: Array = (scaled - implied) / scale
        return result

    def beyond(self, values: NDArray[np.floating]) -> Array:
        """How far values are outside the network's limit, in scaled units, (n, d); mostly 0.

        A signal that never moved has no scale to tell that by.
        """
        scaled = self._scale(values)
        return np.where(self.usual.moved, scaled - within(scaled, self.limit), 0.0)

    def telling(self, values: NDArray[np.floating], before: int) -> NDArray[np.intp]:
        """Which rows explain an incident.

        An alarm comes a little after the fault, and a little noise may come before it. A row says
        as much as its signals are beyond three deviations. The alarming rows tell, and those as
        far before them as a rule reaches back, if they say a tenth of what the strongest does.

        Parameters
        ----------
        values : ndarray of shape (n, d)
            In the signals' own units: rows before the alarm, then the alarming ones.
        before : int
            How many come before it.

        Returns
        -------
        ndarray of int
            Never empty; all alarming rows where none of them says more than chance does.
        """
        reach = 0 if self.mechanisms is None else self.mechanisms.lags
        first = max(before - reach, 0)
        # Rows that are normal again make all deviations faint, and one that deviates then bends
        # what the others imply of each other: the strongest are set aside first.
        aside, *_ = self._set_aside(self._scale(values[before:]), part=0.5)
        away = np.abs(self.deviation(values[first:], aside))
        said = np.where(self.usual.moved, np.maximum(away - _SURELY, 0.0), 0.0).sum(1)
        if said[before - first :].max() <= _CHANCE:
            return np.arange(before, len(values))
        return first + np.flatnonzero(said >= _FAINT * said.max())

    def explain(
        self, values: NDArray[np.floating], surprise: NDArray[np.floating] | None
    ) -> Explanation:
        """Explain rows of one incident.

        Parameters
        ----------
        values : ndarray of shape (n, d)
            In the signals' own units, none missing.
        surprise : ndarray of shape (n, d) or None
            One-step surprises of the same rows, in their normal sizes.

        Returns
        -------
        Explanation
        """
        usual, scaled = self.usual, self._scale(values)
        aside, implied, scale = self._set_aside(scaled)
        off = scaled - implied
        evidence = _evidence(off, scale)
        left = _left(scaled, usual)
        # Without a scale: as strong as what else left its range usually is, while it is away.
        silent = ~usual.moved
        peers = evidence[left & ~silent]
        moved = float(np.median(peers)) if len(peers) else float(np.log1p(_BEYOND))
        away = (_outside(scaled, usual) > _MOVED_AT_ALL).mean(0)
        evidence = np.where(silent, moved * away, evidence)
        deviation = off / scale
        guilty = aside & (left | (_size(deviation) > _BEYOND) if usual.relations else left)
        weight, normal = self._weigh(evidence, surprise)
        if usual.relations:
            # One that got stuck need not leave its range.
            guilty |= _heaviest(weight) & (weight > normal)
        if not guilty.any():
            guilty = next((some for some in (left, aside) if some.any()), _heaviest(weight))
        share = _share(weight, normal)
        named = guilty & (left | (share >= _SEEN))
        guilty = named if named.any() else guilty
        order = np.argsort(-weight, kind="stable")
        culprits = order[guilty[order]]
        return Explanation(
            culprits=culprits,
            share=share,
            aside=aside,
            deviation=deviation,
            expected=self.standardiser.restore(implied),
            weight=weight,
            normal=normal,
        )

    def _scale(self, values: NDArray[np.floating]) -> Array:
        return self.standardiser.apply(values).astype(np.float64)

    def _set_aside(
        self, scaled: Array, *, part: float = 0.0
    ) -> tuple[NDArray[np.bool_], Array, Array]:
        """Which signals to conclude nothing from, what the rest implies, and one deviation.

        In each round go those that deviate by more than this part of the strongest.
        """
        usual = self.usual
        distance = np.abs(scaled - usual.centre)
        aside = distance.mean(0) / usual.scale > _SUSPECT
        aside = np.where(usual.moved, aside, _left(scaled, usual))
        implied, scale = usual.implied(scaled, aside, limit=self.limit)
        if not usual.relations:
            return aside, implied, scale
        for _ in range(_ROUNDS):
            size = np.where(usual.moved & ~aside, _size((scaled - implied) / scale), 0.0)
            if size.max() <= _BEYOND:
                break
            aside = aside | (size > max(_BEYOND, part * size.max()))
            implied, scale = usual.implied(scaled, aside, limit=self.limit)
        return aside, implied, scale

    def _weigh(self, evidence: Array, surprise: NDArray[np.floating] | None) -> tuple[Array, float]:
        """What each signal weighs, and what one that behaves does."""
        if not self.usual.relations or self.mechanisms is None or surprise is None:
            return evidence, _NORMAL
        unlike = self.mechanisms.unlike(surprise, self.window)
        weight = np.log1p(np.maximum(unlike, 0.0)) + evidence / 2
        # A divergence is 1 in normal windows, by its unit.
        return weight, float(np.log1p(1.0) + _NORMAL / 2)


def _heaviest(weight: Array) -> NDArray[np.bool_]:
    """Which signals weigh most: several, where only rounding tells them apart."""
    result: NDArray[np.bool_] = weight >= weight.max() - _ROUNDING
    return result


def _share(weight: Array, normal: float) -> Array:
    return shares(np.maximum(np.exp(weight) - np.exp(normal), 0.0))


def _evidence(off: Array, scale: Array) -> Array:
    half = len(off) // 2
    # A jump falls into one half only: that a signal was reached is no unusual movement.
    spread = np.minimum(off[: len(off) - half].std(0), off[half:].std(0))
    result: Array = np.log1p(np.abs(off).mean(0) / scale) + np.log1p(spread / scale) / 2
    return result


def _size(deviation: Array) -> Array:
    result: Array = np.sqrt(np.square(deviation).mean(0))
    return result


def _outside(scaled: Array, usual: Usual) -> Array:
    """How far values are outside all that training showed, (n, d); at most 0 within it."""
    result: Array = np.maximum(scaled - usual.high, usual.low - scaled)
    return result


def _left(scaled: Array, usual: Usual) -> NDArray[np.bool_]:
    """Which signals went further beyond all that training showed than two deviations."""
    beyond = _outside(scaled, usual).max(0)
    left: NDArray[np.bool_] = beyond > np.where(usual.moved, _OUTSIDE * usual.spread, _MOVED_AT_ALL)
    return left
