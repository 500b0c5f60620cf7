"""Forty random cases with the values that the reference implementations give.

Affiliation: its authors' package. Range-based precision and recall: prts, flat bias, reciprocal
cardinality. Range F1, AUC and VUS: TSB-AD.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alora_ts import metrics

CASES = json.loads(Path(__file__).with_name("oracle_cases.json").read_text())


@pytest.fixture(params=range(len(CASES)))
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    found = dict(CASES[request.param])
    found["label"] = np.array([int(digit) for digit in found["label"]])
    found["score"] = np.array(found["score"])
    found["alarm"] = found["score"] > found["threshold"]
    return found


def test_all_forty_cases_are_here() -> None:
    assert len(CASES) == 40


def test_affiliation(case: dict[str, Any]) -> None:
    result = metrics.affiliation(case["label"], case["alarm"])
    assert result.precision == pytest.approx(case["affiliation_precision"], abs=1e-12)
    assert result.recall == pytest.approx(case["affiliation_recall"], abs=1e-12)


def test_best_affiliation_f1(case: dict[str, Any]) -> None:
    best = metrics.best_f1(case["label"], case["score"])
    assert best.f1 == pytest.approx(case["affiliation_best_f1_all_thresholds"], abs=1e-12)


def test_areas(case: dict[str, Any]) -> None:
    assert metrics.auc_roc(case["label"], case["score"]) == pytest.approx(
        case["auc_roc"], abs=1e-12
    )
    assert metrics.auc_pr(case["label"], case["score"]) == pytest.approx(case["auc_pr"], abs=1e-12)


def test_range_based(case: dict[str, Any]) -> None:
    plain = metrics.range_based(case["label"], case["alarm"])
    assert plain.precision == pytest.approx(case["range_precision_flat"], abs=1e-12)
    assert plain.recall == pytest.approx(case["range_recall_flat_alpha0"], abs=1e-12)
    touching = metrics.range_based(case["label"], case["alarm"], alpha=0.2)
    assert touching.recall == pytest.approx(case["range_recall_flat_alpha02"], abs=1e-12)
    ours = metrics.tsb_range_f1(case["label"], case["alarm"])
    assert ours == pytest.approx(case["tsb_range_f1"], abs=1e-12)


def test_volumes(case: dict[str, Any]) -> None:
    found = metrics.vus(case["label"], case["score"], case["vus_window"])
    assert found.roc == pytest.approx(case["vus_roc"], abs=1e-9)
    assert found.pr == pytest.approx(case["vus_pr"], abs=1e-9)
