"""What every detector must do, whatever it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from alora_ts.baselines import Detector, clone
from alora_ts.errors import AloraError, DataError, NotFittedError

Scorer = Callable[..., NDArray[np.float64]]


def waves(rows: int, variables: int = 3, *, seed: int = 0) -> NDArray[np.float64]:
    """Noisy waves of different speeds, one column each, in different units."""
    rng = np.random.default_rng(seed)
    time = np.arange(rows)[:, None]
    speed = 0.2 + 0.07 * np.arange(variables)
    clean = np.sin(time * speed + np.arange(variables))
    noisy: NDArray[np.float64] = (clean + 0.1 * rng.normal(size=clean.shape)) * 10.0 ** np.arange(
        variables
    )
    return noisy


def scorers(detector: Detector) -> list[Scorer]:
    """The score functions a detector offers."""
    offered: list[Scorer] = []
    if detector.capabilities.detects:
        offered.append(detector.score)
    if detector.capabilities.localizes:
        offered.append(detector.score_variables)
    return offered


def check_stores_only(detector: Detector) -> None:
    """The constructor only stores; parameters can be read, changed and copied."""
    given = detector.get_params()
    assert set(vars(detector)) == set(given)
    twin = clone(detector)
    assert type(twin) is type(detector)
    assert twin.get_params() == given
    assert twin.set_params(**given) is twin
    with pytest.raises(AloraError, match="has no parameter 'no_such'"):
        twin.set_params(no_such=1)


def check_unfitted(detector: Detector) -> None:
    """Nothing is scored before fit, and what a method cannot do is refused."""
    for score in scorers(detector):
        with pytest.raises(NotFittedError, match="call fit first"):
            score(waves(5))
    if not detector.capabilities.detects:
        with pytest.raises(AloraError, match="call score_variables"):
            detector.score(waves(5))
    if not detector.capabilities.localizes:
        with pytest.raises(AloraError, match="does not localize"):
            detector.score_variables(waves(5))


def check_shapes(detector: Detector, x: NDArray[Any]) -> None:
    """N finite float64 scores for N rows, the same each time."""
    for score in scorers(detector):
        values = score(x)
        wanted = (len(x),) if values.ndim == 1 else x.shape
        assert values.shape == wanted
        assert values.dtype == np.float64
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(values, score(x))


def check_odd_rows(detector: Detector, x: NDArray[Any]) -> None:
    """One row, missing cells, values far off, constants: always finite scores."""
    odd = x.copy()
    odd[3:9, 0] = np.nan
    odd[5] = np.nan
    check_shapes(detector, odd)
    far = x.copy()
    far[7] = 1e30
    far[8, 0] = -1e30
    check_shapes(detector, far)
    check_shapes(detector, np.full_like(x, x[0]))
    check_shapes(detector, x[:1])
    check_shapes(detector, x[:2])


def check_refusals(detector: Detector, x: NDArray[Any]) -> None:
    """Unusable rows are refused with a place and a remedy."""
    infinite = x.copy()
    infinite[4, 1] = np.inf
    for score in scorers(detector):
        with pytest.raises(DataError, match="row 4"):
            score(infinite)
        with pytest.raises(DataError, match="give the same ones"):
            score(x[:, :2])
        with pytest.raises(DataError, match="one whole number for each row"):
            score(x, segments=[0, 1])


def check_same_data(detector: Detector, x: NDArray[Any]) -> None:
    """The kind of table makes no difference; nor does scoring other rows before."""
    frame = pl.DataFrame({f"x{at}": x[:, at] for at in range(x.shape[1])})
    for score in scorers(detector):
        before = score(x)
        score(x[::-1] * 3)
        np.testing.assert_array_equal(before, score(x))
        np.testing.assert_array_equal(before, score(frame))


def check_borders(detector: Detector, x: NDArray[Any]) -> None:
    """Rows of one segment do not touch the scores of another."""
    half = len(x) // 2
    segments = np.repeat([0, 1], [half, len(x) - half])
    other = x.copy()
    other[half:] = x[half:][::-1] * 2 + 1
    for score in scorers(detector):
        np.testing.assert_allclose(
            score(x, segments=segments)[:half],
            score(other, segments=segments)[:half],
            rtol=2e-3,
            atol=1e-6,
        )


def check_refit(detector: Detector, train: NDArray[Any], x: NDArray[Any]) -> None:
    """The same seed gives the same scores, and the caller's arrays and generators stay alone."""
    kept = train.copy()
    twin = clone(detector).fit(train, progress=False)
    np.testing.assert_array_equal(train, kept)
    for first, second in zip(scorers(detector), scorers(twin), strict=True):
        np.testing.assert_array_equal(first(x), second(x))
