"""KMeansAD: equal to its definition, window by window, and near TSB-AD's published numbers."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts.baselines.kmeans_ad import KMeansAD
from alora_ts.bench.published_tsb_ad import published_vus_pr
from alora_ts.datasets import load
from alora_ts.errors import AloraError, DataError
from alora_ts.metrics import period_window, vus
from tests.baselines.check_detector import waves


def naive_scores(
    values: NDArray[np.float64], centres: NDArray[np.float64], window: int
) -> list[float]:
    """Every window for itself, then for every row the mean of the windows that hold it."""
    found: list[list[float]] = [[] for _ in values]
    for start in range(len(values) - window + 1):
        cells = [float(cell) for row in values[start : start + window] for cell in row]
        mean = math.fsum(cells) / len(cells)
        spread = math.sqrt(sum((cell - mean) ** 2 for cell in cells) / (len(cells) - 1))
        shape = [(cell - mean) / spread if max(cells) > min(cells) else 0.0 for cell in cells]
        nearest = min(math.dist(shape, centre) for centre in centres)
        for row in range(start, start + window):
            found[row].append(nearest)
    return [sum(one) / len(one) for one in found]


@pytest.mark.parametrize(("window", "variables"), [(8, 3), (1, 2), (5, 1)])
def test_equals_its_definition(window: int, variables: int) -> None:
    detector = KMeansAD(window=window, clusters=3).fit(waves(120, variables))
    x = waves(40, variables, seed=1)
    x[10:22] = x[10]  # windows in which no variable moves
    expected = naive_scores(x, detector.centres_, window)
    np.testing.assert_allclose(detector.score(x), expected, rtol=1e-4, atol=1e-5)


def test_segments_are_windows_of_their_own() -> None:
    detector = KMeansAD(window=8, clusters=3).fit(waves(120))
    x = waves(40, seed=1)
    segments = np.repeat([0, 1, 2], [20, 3, 17])
    scores = detector.score(x, segments=segments)
    np.testing.assert_allclose(scores[:20], detector.score(x[:20]), rtol=1e-9)
    np.testing.assert_allclose(scores[23:], detector.score(x[23:]), rtol=1e-9)
    assert len(np.unique(scores[20:23])) == 1


def test_values_keep_their_units() -> None:
    train, x = waves(120), waves(40, seed=1)
    same = KMeansAD(window=8, clusters=3).fit(train).score(x)
    larger = KMeansAD(window=8, clusters=3).fit(7 * train).score(7 * x)
    np.testing.assert_allclose(larger, same, rtol=1e-4)
    stretched = np.array([1000.0, 1.0, 0.001])
    other = KMeansAD(window=8, clusters=3).fit(train * stretched).score(x * stretched)
    assert not np.allclose(other, same, rtol=0.1)


def test_few_windows_make_few_clusters_and_many_are_thinned() -> None:
    assert len(KMeansAD(window=8).fit(waves(12)).centres_) == 5
    thinned = KMeansAD(window=8, clusters=4, max_train_windows=4).fit(waves(120))
    assert len(thinned.centres_) == 4
    with pytest.raises(DataError, match="needs at least 8"):
        KMeansAD(window=8).fit(waves(7))


def test_without_scikit_learn_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("sklearn")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(AloraError, match=r"KMeansAD needs .*sklearn.*alora-ts\[bench\]"):
        KMeansAD().fit(waves(60))


@pytest.mark.parametrize(
    ("name", "within"),
    [
        ("002_MSL_id_1_Sensor_tr_500_1st_900", 0.002),
        ("014_MSL_id_13_Sensor_tr_1525_1st_4575", 0.002),
        ("015_MSL_id_14_Sensor_tr_575_1st_1250", 0.002),
        ("016_MSL_id_15_Sensor_tr_500_1st_780", 0.05),
    ],
)
def test_near_the_published_numbers(real_data: Path, name: str, within: float) -> None:
    # As TSB-AD does it: learned from the very series that is scored. Centres depend on the seed.
    data = load("TSB-AD-M", real_data, name)
    score = KMeansAD().fit(data.test).score(data.test)
    found = vus(data.label, score, period_window(data.test[:, 0])).pr
    assert found == pytest.approx(published_vus_pr()[name]["KMeansAD"], abs=within)
