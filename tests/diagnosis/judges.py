"""Judges for tests: random, or plain ones that know nothing."""

from __future__ import annotations

import numpy as np

from alora_ts.data.scaling import Standardiser
from alora_ts.diagnosis.explanation import Judge
from alora_ts.diagnosis.origins import Mechanisms
from alora_ts.diagnosis.stretch import Details
from alora_ts.diagnosis.usual import Usual


def plain_judge(d: int, *, scale: np.ndarray | None = None) -> Judge:
    """One scaled unit is one deviation; nothing is known about relations."""
    by = np.ones(d) if scale is None else scale
    return Judge(Standardiser(np.zeros(d), by), Usual.unknown(d), None, 10.0, 8)


def plain_details(
    values: np.ndarray, rows: np.ndarray, judge: Judge, *, times: np.ndarray | None = None
) -> Details:
    """Of some rows of a table, without surprises and with the rows before them."""
    none = np.full(values.shape, np.nan)

    def before(at: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, None]:
        earlier = slice(max(rows[at] - 5, 0), rows[at])
        return values[earlier], none[earlier], None if times is None else times[earlier], None

    return Details(values[rows], none[rows], judge, before)


def random_judge(seed: int, d: int) -> Judge:
    """Anything a fit could have left behind, constants and few observations included."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d))
    covariance = root @ root.T / d
    observed = rng.choice([0.0, 1.0, 2.0, 15.0, 400.0, np.inf], d)
    spread = np.where(observed > 0, rng.uniform(0.5, 2, d), 0.0)
    usual = Usual(
        centre=rng.normal(size=d) * 0.1,
        spread=spread,
        low=-3 * spread,
        high=3 * spread,
        observed=observed,
        covariance=covariance.astype(np.float32),
        ridge=np.array([rng.choice([0.01, 1.0])]),
        trust=rng.uniform(0, 1, d),
        size=rng.uniform(0.1, 1, d),
        known=np.array([float(rng.random() < 0.6)]),
    )
    weights = rng.normal(size=(2, d, d)).astype(np.float32)
    rules = Mechanisms(weights, rng.normal(size=d), rng.uniform(0.1, 2, d), rng.uniform(1, 3, d))
    mechanisms = rules if rng.random() < 0.7 else None
    standardiser = Standardiser(rng.normal(size=d), rng.uniform(0.5, 3, d))
    return Judge(standardiser, usual, mechanisms, 10.0, 8)
