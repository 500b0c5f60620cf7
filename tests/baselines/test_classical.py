from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts import baselines
from alora_ts.baselines.pca import PCA
from alora_ts.errors import AloraError, DataError

CLASSICAL = ("knn", "pca", "lof", "oc-svm", "isolation-forest")


def cloud(rows: int, variables: int = 4, *, seed: int = 0) -> NDArray[np.float64]:
    """Correlated Gaussian rows."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).normal(size=(variables, variables))
    values: NDArray[np.float64] = rng.normal(size=(rows, variables)) @ mixing
    return values


@pytest.mark.parametrize("name", CLASSICAL)
def test_planted_outlier_is_first(name: str) -> None:
    x = cloud(80, seed=1)
    x[41] = 60.0
    assert baselines.get(name).fit(cloud(300)).score(x).argmax() == 41


@pytest.mark.parametrize("name", CLASSICAL)
def test_order_of_rows_makes_no_difference(name: str) -> None:
    detector = baselines.get(name).fit(cloud(300))
    x = cloud(50, seed=1)
    order = np.random.default_rng(0).permutation(50)
    np.testing.assert_allclose(detector.score(x)[order], detector.score(x[order]), rtol=1e-9)


@pytest.mark.parametrize("name", CLASSICAL)
def test_duplicated_rows_and_constant_columns_stay_finite(name: str) -> None:
    train = cloud(150)
    train[:100] = train[0]
    train[:, 2] = 4.0
    scores = baselines.get(name).fit(train).score(cloud(30, seed=1))
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", CLASSICAL)
def test_many_rows_are_scored_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = baselines.get(name).fit(cloud(300))
    x = cloud(50, seed=1)
    whole = detector.score(x)
    monkeypatch.setattr("alora_ts.baselines.pyod_detector._ROWS_AT_A_TIME", 7)
    np.testing.assert_allclose(detector.score(x), whole, rtol=1e-9)


def test_knn_is_the_distance_to_the_fifth_neighbour() -> None:
    train, x = cloud(10), cloud(6, seed=1)
    scores = baselines.get("knn").fit(train).score(x)
    center, scale = train.mean(0), train.std(0)
    for row, score in zip((x - center) / scale, scores, strict=True):
        distances = sorted(math.dist(row, other) for other in (train - center) / scale)
        assert score == pytest.approx(distances[4], rel=1e-5)


def test_pca_sums_weighted_distances_to_eigenvectors() -> None:
    train, x = cloud(200), cloud(5, seed=1)
    scores = PCA().fit(train).score(x)
    scaled = (train - train.mean(0)) / train.std(0)
    shares, vectors = np.linalg.eigh(np.cov(scaled.T))
    shares /= shares.sum()
    # An eigenvector has two signs; the model's own are taken.
    own = PCA().fit(train).model_.selected_components_
    for row, score in zip((x - train.mean(0)) / train.std(0), scores, strict=True):
        expected = 0.0
        for share, vector in zip(shares, vectors.T, strict=True):
            sign = np.sign(max(own @ vector, key=abs))
            expected += math.dist(row, sign * vector) / share
        assert score == pytest.approx(expected, rel=1e-4)


def test_pca_leaves_directions_without_variance_out() -> None:
    train = cloud(200)
    copied = np.c_[train, np.full(200, 7.0), train[:, 0], train[:, 1] + train[:, 2]]
    x = cloud(40, seed=1)
    tested = np.c_[x, np.full(40, 7.0), x[:, 0], x[:, 1] + x[:, 2]]
    detector = PCA().fit(copied)
    assert detector.moving_.tolist() == [True] * 4 + [False] + [True] * 2
    assert detector.model_.n_components_ == 4
    assert detector.score(tested).max() < 1e6
    few = PCA().fit(cloud(3))
    assert few.model_.n_components_ == 2
    with pytest.raises(DataError, match="all are constant"):
        PCA().fit(np.ones((9, 2)))


def test_oc_svm_learns_from_a_bounded_number_of_rows() -> None:
    detector = baselines.get("oc-svm", max_train_rows=50).fit(cloud(300))
    assert detector.model_.detector_.shape_fit_[0] == 50
    assert baselines.get("oc-svm", "cpu").get_params()["max_train_rows"] == 5_000


def test_isolation_forest_depends_on_its_seed_alone() -> None:
    train, x = cloud(300), cloud(20, seed=1)
    first, again, other = (
        baselines.get("isolation-forest", seed=seed).fit(train).score(x) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_lof_agrees_with_scikit_learn() -> None:
    from sklearn.neighbors import LocalOutlierFactor

    train, x = cloud(100), cloud(20, seed=1)
    center, scale = train.mean(0), train.std(0)
    model = LocalOutlierFactor(20, novelty=True).fit((train - center) / scale)
    expected = -model.score_samples((x - center) / scale)
    np.testing.assert_allclose(baselines.get("lof").fit(train).score(x), expected, rtol=1e-5)


def test_without_pyod_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("pyod")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyod", None)
    with pytest.raises(AloraError, match=r"KNN needs the package 'pyod.*alora-ts\[bench\]"):
        baselines.get("knn").fit(cloud(20))


def test_honest_rows() -> None:
    train, x = cloud(100), cloud(30, seed=1)
    scaled = (x - train.mean(0)) / train.std(0)
    norm = baselines.get("norm").fit(train)
    np.testing.assert_allclose(norm.score(x), np.linalg.norm(scaled, axis=1), rtol=1e-5)
    np.testing.assert_allclose(norm.score_variables(x), scaled**2, rtol=1e-4, atol=1e-9)
    drawn = baselines.get("random", seed=3).fit(train)
    assert len(np.unique(drawn.score_variables(x))) == x.size
    np.testing.assert_array_equal(drawn.score(x), drawn.score(x * 2))
    always = baselines.get("always-alarm").fit(train)
    assert set(always.score_variables(x).flat) == {1.0}
