"""TSB-AD in the benchmark: its window, its published numbers, its tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alora_ts.bench.judge import judge_detection
from alora_ts.bench.plan import read_plan
from alora_ts.bench.published_tsb_ad import published_vus_pr
from alora_ts.bench.runs import expand
from alora_ts.bench.tables.catalogue import build_tables
from alora_ts.datasets import load
from alora_ts.datasets.tsb_ad import series
from alora_ts.metrics import period_window, vus
from tests.bench.records import tournament

SMD = "057_SMD_id_1_Facility_tr_4529_1st_4629"
MSL = "002_MSL_id_1_Sensor_tr_500_1st_900"


def test_every_series_has_the_published_numbers_of_all_methods() -> None:
    values = published_vus_pr()
    assert list(values) == list(series())
    assert {len(one) for one in values.values()} == {23}
    assert all(0 <= value <= 1 for one in values.values() for value in one.values())
    # The mean over all 180 that TSB-AD's leaderboard shows for CNN.
    assert round(np.mean([one["CNN"] for one in values.values()]), 2) == 0.31


def test_means_beside_the_published_ones_on_the_same_series() -> None:
    records = tournament(dataset="TSB-AD-M", entities=(MSL, SMD), plan="tsb-ad")
    means, each = build_tables(records, "tsb-ad")
    assert means.columns == ("method", "MSL (1)", "SMD (1)", "all")
    rows = {row.name: row for row in means.rows}
    assert len(rows) == 6 + 23 + 1
    values = published_vus_pr()
    shown = [cell.value for cell in rows["KMeansAD, published"].cells]
    both = [values[name]["KMeansAD"] for name in (MSL, SMD)]
    assert shown == pytest.approx([*both, sum(both) / 2])
    best = rows["best published of each series"]
    assert best.apart
    assert best.cells[0].value == max(values[MSL].values())
    ours = [one.detection["all thresholds / VUS-PR"].value for one in records]
    alora = [value for one, value in zip(records, ours, strict=True) if one.method == "alora"]
    assert rows["ALoRa"].cells[2].value == pytest.approx(np.mean(alora))
    assert [row.name for row in each.rows] == [MSL, SMD]
    assert each.rows[0].cells[-1].words == "KMeansAD"
    assert each.rows[0].cells[-2].mark == "best"


def test_a_method_without_all_series_does_not_compete() -> None:
    records = tournament(dataset="TSB-AD-M", entities=(MSL, SMD), seeds=(0,))
    kept = [one for one in records if not (one.method == "knn" and one.entity == SMD)]
    means, each = build_tables(kept, "tsb-ad")
    row = next(row for row in means.rows if row.name == "KNN")
    assert row.cells[2].part == "1/2 entities"
    assert row.cells[1].value is None
    assert [row.cells[3].value is None for row in each.rows] == [False, True]


def test_other_datasets_have_no_such_table() -> None:
    assert build_tables(tournament(), "tsb-ad") == []


def test_the_plan_runs_what_is_here_and_lists_the_rest(real_data: Path) -> None:
    found = expand(read_plan("tsb-ad"), real_data)
    assert len(found.rows) + len(found.missing) == 180
    assert len(found.rows) >= 17
    assert {run.range_window for run in found.runs} == {"period"}
    assert "https://www.thedatum.org" in next(iter(found.missing.values()))


def test_scores_are_judged_with_the_window_of_the_series(real_data: Path) -> None:
    data = load("TSB-AD-M", real_data, MSL)
    score = np.random.default_rng(0).random(len(data.test))
    found = judge_detection(data, score, range_window="period")
    expected = vus(data.label, score, period_window(data.test[:, 0]))
    assert found["all thresholds / VUS-PR"].value == expected.pr
    assert found != judge_detection(data, score, range_window=100)
