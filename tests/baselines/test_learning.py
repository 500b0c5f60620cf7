"""Methods find faults that a detector which works must find; docs/baselines.md has all of them."""

from __future__ import annotations

from typing import Any

import pytest

from alora_ts import baselines
from alora_ts.datasets.synthetic import SyntheticDataset, make
from alora_ts.metrics import auc_pr, hit_rate


@pytest.fixture(scope="module")
def data() -> SyntheticDataset:
    return make("clear-faults")


@pytest.mark.parametrize(
    ("name", "quicker"),
    [
        ("norm", {}),
        ("knn", {}),
        ("pca", {}),
        ("lof", {}),
        ("oc-svm", {}),
        ("isolation-forest", {}),
        ("cnn", {"epochs": 6}),
        ("npsr", {"stride": 40, "epochs": 4}),
        ("daemon", {"spectral": False, "stride": 8, "epochs": 4}),
    ],
)
def test_finds_clear_faults(name: str, quicker: dict[str, Any], data: SyntheticDataset) -> None:
    detector = baselines.get(name, "cpu", **quicker).fit(data.train, progress=False)
    assert auc_pr(data.label, detector.score(data.test)) >= 3 * data.label.mean()


def test_honest_rows_find_nothing_but_the_norm_finds_much(data: SyntheticDataset) -> None:
    for name in ("random", "always-alarm"):
        scores = baselines.get(name).fit(data.train).score(data.test)
        assert auc_pr(data.label, scores) == pytest.approx(data.label.mean(), abs=0.03)
    norm = baselines.get("norm").fit(data.train)
    assert hit_rate(data.origin_truth(), norm.score_variables(data.test)) > 0.5
