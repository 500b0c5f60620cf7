"""Random labels and scores with everything odd: ties, borders, single rows, neighbours."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Case = tuple[NDArray[np.int64], NDArray[np.float64]]


@st.composite
def labelled_scores(draw: st.DrawFn, *, longest: int = 24, both: bool = False) -> Case:
    """A label with at least one event (and one normal row) and a score, often with ties."""
    n = draw(st.integers(2 if both else 1, longest))
    label = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    label[draw(st.integers(0, n - 1))] = 1
    if both and all(label):
        label[draw(st.integers(0, n - 1))] = 0
    levels = draw(st.sampled_from([1, 2, 3, 1000]))
    score = draw(st.lists(st.integers(0, levels), min_size=n, max_size=n))
    return np.array(label), np.array(score) / 7.0


def seeded(seed: int, *, both: bool = False) -> Case:
    """As above from a seed, for sweeps of thousands; events and scores come in runs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 32))
    label = np.zeros(n, dtype=np.int64)
    for _ in range(int(rng.integers(1, 5))):
        start = int(rng.integers(0, n))
        label[start : start + int(rng.choice([1, 1, 2, 5]))] = 1
    if rng.random() < 0.2:
        label[0] = 1
    if rng.random() < 0.2:
        label[-1] = 1
    if both and label.all():
        label[int(rng.integers(0, n))] = 0
    score = rng.normal(size=n) + label * rng.choice([0.0, 1.0])
    if rng.random() < 0.5:
        score = np.round(score, int(rng.integers(0, 2)))
    return label, score
