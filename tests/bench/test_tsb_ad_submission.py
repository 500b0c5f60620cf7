"""What is sent to TSB-AD's leaderboard does what its harness expects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.tsb_ad_submission import SEED, read_series, run_ALoRa

from alora_ts import ALoRa
from alora_ts.bench.covering import covering_mean
from tests.baselines.check_detector import waves

QUICK = {"window": 4, "epochs": 1, "epoch_windows": 64, "architecture__heads": 1}


def test_scores_of_the_whole_series_from_0_to_1() -> None:
    data = waves(300)
    data[200:210, 1] += 50
    score = run_ALoRa(data[:120], data, **QUICK)
    assert score.shape == (300,)
    assert (score.min(), score.max()) == (0.0, 1.0)
    assert 196 <= score.argmax() < 214
    model = ALoRa().set_params(seed=SEED, **QUICK).fit(data[:120], progress=False)
    plain = model.score(data, progress=False)
    held = covering_mean(plain, 4, None)
    np.testing.assert_allclose(score, (held - held.min()) / np.ptp(held), atol=1e-9)


def test_equal_scores_stay_finite() -> None:
    assert np.isfinite(run_ALoRa(np.ones((60, 2)), np.ones((60, 2)), **QUICK)).all()


def test_a_file_is_split_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "900_SMD_id_1_Facility_tr_6_1st_8.csv"
    table = {"a": np.arange(10.0), "b": [None, *range(9)], "Label": [0] * 8 + [1, 0]}
    pl.DataFrame(table).write_csv(path)
    train, data, label = read_series(path)
    assert (train.shape, data.shape) == ((6, 2), (9, 2))
    assert label.tolist() == [0] * 7 + [1, 0]
