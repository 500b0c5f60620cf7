"""ALoRa as users meet it: fit, score, diagnose, stream, save, load."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from alora_ts import ALoRa, Architecture, load
from alora_ts.errors import AloraError, ArtifactError, DataError, NotFittedError
from alora_ts.network import window_contributions

QUICK = {
    "window": 8,
    "pairs": 30,
    "architecture": Architecture(heads=2, layers=2),
    "epochs": 2,
    "epoch_windows": 320,
}


def plant(rows: int, seed: int = 0) -> np.ndarray:
    """Five related signals."""
    rng = np.random.default_rng(seed)
    t = np.arange(rows)
    load_ = np.sin(2 * np.pi * t / 50) + 0.3 * np.sin(2 * np.pi * t / 17)
    mixing = np.array([1.0, -2.0, 0.5, 3.0, 1.5])
    return load_[:, None] * mixing + 0.1 * rng.normal(size=(rows, 5)) + np.arange(5)


@pytest.fixture(scope="module")
def model() -> ALoRa:
    return ALoRa(**QUICK).fit(plant(900))


@pytest.fixture(scope="module")
def faulty() -> np.ndarray:
    x = plant(300, seed=1)
    x[150:170, 3] += 6.0
    return x


def test_a_clear_fault_is_found_in_the_right_variable(model: ALoRa, faulty: np.ndarray) -> None:
    diagnosis = model.diagnose(faulty)
    hit = [i for i in diagnosis.incidents if i.start < 170 and i.end > 150]
    assert hit
    worst = max(hit, key=lambda incident: incident.score)
    assert worst.culprits[0].variable == "x3"
    assert worst.culprits[0].direction == "above"
    assert 150 <= worst.peak < 172
    assert (diagnosis.score[:150] > 1).mean() < 0.15


def test_scores_are_finite_and_one_per_row(model: ALoRa, faulty: np.ndarray) -> None:
    score = model.score(faulty)
    assert score.shape == (300,)
    assert np.isfinite(score).all()
    diagnosis = model.diagnose(faulty)
    np.testing.assert_allclose(diagnosis.score, score, rtol=1e-6)
    assert diagnosis.warm_up.sum() == QUICK["window"] - 1
    assert model.score_variables(faulty).shape == faulty.shape
    part = np.array([c.share for c in diagnosis.incidents[0].culprits])
    assert (np.diff(part) <= 0).all()
    assert part.sum() <= 1 + 1e-9


def test_paper_scoring_is_error_times_rank(faulty: np.ndarray) -> None:
    model = ALoRa(**QUICK, scoring="paper", drift_memory=0).fit(plant(900))
    diagnosis = model.diagnose(faulty)
    scale = model.model_.preparation.standardiser.scale
    squared = np.square((diagnosis.values - diagnosis.expected) / scale).sum(1)
    np.testing.assert_allclose(diagnosis.raw, squared * diagnosis.rank, rtol=1e-3)
    np.testing.assert_allclose(
        diagnosis.score, diagnosis.raw / model.model_.calibration.threshold.value
    )


@pytest.mark.parametrize("localization", ["affected", "blend", "window", "paper"])
def test_stream_equals_batch(faulty: np.ndarray, localization: str) -> None:
    model = ALoRa(**QUICK, localization=localization).fit(plant(900))
    diagnosis = model.diagnose(faulty[:60])
    stream = model.stream()
    for number, row in enumerate(faulty[:60]):
        reading = stream.push(row)
        assert reading.warm_up == diagnosis.warm_up[number]
        assert reading.alarm == diagnosis.alarm[number]
        if reading.warm_up:
            assert np.isfinite(reading.score)
            assert not reading.alarm
            continue
        assert reading.score == pytest.approx(diagnosis.score[number], rel=1e-4)
        assert reading.rank == diagnosis.rank[number]
        np.testing.assert_allclose(reading.expected, diagnosis.expected[number], rtol=1e-4)
        np.testing.assert_allclose(
            reading.localization, diagnosis.localization[number], rtol=1e-3, atol=1e-6
        )


def test_warm_up_rows_never_alarm(faulty: np.ndarray) -> None:
    model = ALoRa(**QUICK).fit(plant(900))
    early = faulty[:120].copy()
    early[2:60, 1] += 50  # from the first rows on
    found = model.diagnose(early)
    assert (found.score[found.warm_up] > 1).any()
    assert not found.alarm[found.warm_up].any()
    assert found.incidents[0].start == int((~found.warm_up).argmax())
    np.testing.assert_array_equal(model.judge(early).alarm, found.alarm)
    stream = model.stream()
    assert [stream.push(row).alarm for row in early] == found.alarm.tolist()


@pytest.mark.parametrize("localization", ["affected", "window", "origin"])
def test_readings_know_their_culprits_when_rows_have_come_since(
    faulty: np.ndarray, localization: str
) -> None:
    model = ALoRa(**QUICK, localization=localization).fit(plant(900))
    at_once, later = model.stream(), model.stream()
    wanted = [at_once.push(row).localization for row in faulty[:30]]
    readings = [later.push(row) for row in faulty[:30]]
    elsewhere = pickle.dumps(readings[20])
    assert len(elsewhere) < 10_000  # the model stays here
    assert pickle.loads(elsewhere).culprits() == readings[20].culprits()
    for reading, localized in zip(readings, wanted, strict=True):
        np.testing.assert_array_equal(reading.localization, localized)


def test_stream_takes_names_holds_missing_values_and_restarts_after_a_gap() -> None:
    x = plant(600)
    times = pd.date_range("2026-01-01", periods=600, freq="min")
    frame = pd.DataFrame(x, columns=list("abcde"), index=times)
    model = ALoRa(**QUICK).fit(frame)
    later = frame.iloc[:40].copy()
    later.iloc[20, 2] = np.nan
    later.index = [*times[:30], *(times[30:40] + pd.Timedelta("2h"))]
    batch = model.diagnose(later)
    stream = model.stream()
    for number, (time, row) in enumerate(later.iterrows()):
        reading = stream.push(row.to_dict(), time=time)
        assert reading.warm_up == batch.warm_up[number]
        if not reading.warm_up:
            assert reading.score == pytest.approx(batch.score[number], rel=1e-4)
    assert batch.warm_up[30:37].all()
    assert str(batch.gaps[0]).startswith("no data from 2026-01-01 00:29")
    # One row a minute, one false incident in a thousand of them.
    assert batch.model["expected_false_alarms_per_day"] == pytest.approx(1.44)
    assert not batch.model["promise_holds"]
    assert "too few to promise it" in batch.model["threshold_note"]
    assert batch.model["training_start"] == "2026-01-01T00:00:00"
    with pytest.raises(DataError, match="order of time"):
        stream.push(row.to_dict(), time=times[0])
    with pytest.raises(DataError, match="unknown variable"):
        stream.push({"z": 1.0})
    with pytest.raises(DataError, match="inf"):
        stream.push([1, 2, 3, 4, np.inf])
    with pytest.raises(DataError, match="3 values"):
        stream.push([1, 2, 3])


def test_equal_fits_give_equal_bytes_and_models_survive_the_disk(
    tmp_path: Path, faulty: np.ndarray
) -> None:
    first = ALoRa(**QUICK, seed=5).fit(plant(600)).save(tmp_path / "a.alora")
    second = ALoRa(**QUICK, seed=5).fit(plant(600)).save(tmp_path / "b.alora")
    assert first.read_bytes() == second.read_bytes()
    model = ALoRa(**QUICK, seed=5).fit(plant(600))
    again = load(first)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.score(faulty), model.score(faulty))
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_the_seed_matters() -> None:
    x = plant(600)
    scores = [ALoRa(**QUICK, seed=seed).fit(x).score(x[:50]) for seed in (0, 1)]
    assert not np.allclose(*scores)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_few_variables_train_and_alarm(d: int) -> None:
    x = plant(700)[:, :d]
    model = ALoRa(**QUICK).fit(x)
    today = plant(200, seed=2)[:, :d]
    today[100:110, 0] += 8
    diagnosis = model.diagnose(today)
    assert diagnosis.score[100:111].max() > 1
    assert np.median(diagnosis.score[:100]) < 1


def test_more_variables_than_rows() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 60))
    model = ALoRa(window=5, pairs=64, epochs=1, epoch_windows=32).fit(x)
    assert np.isfinite(model.score(x)).all()


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9])
def test_short_tables_still_get_scores(model: ALoRa, rows: int) -> None:
    score = model.score(plant(rows))
    assert score.shape == (rows,)
    assert np.isfinite(score).all()


def test_a_constant_variable_that_moves_alarms() -> None:
    x = np.column_stack([plant(700), np.full(700, 5.0), np.zeros(700)])
    model = ALoRa(**QUICK).fit(x)
    today = np.column_stack([plant(100, seed=3), np.full(100, 5.0), np.zeros(100)])
    today[60:63, 5] = 6.0
    diagnosis = model.diagnose(today)
    assert (diagnosis.score[60:63] > 1).all()
    worst = max(diagnosis.incidents, key=lambda incident: incident.score)
    assert worst.culprits[0].variable == "x5"
    today[60:63, 5] = 5.0
    today[80:83, 6] = 1.0
    assert (model.score(today)[80:83] > 1).all()


def test_missing_cells_never_reach_a_score(model: ALoRa, faulty: np.ndarray) -> None:
    holes = faulty.copy()
    holes[np.random.default_rng(0).random(holes.shape) < 0.2] = np.nan
    holes[:3] = np.nan
    diagnosis = model.diagnose(holes)
    assert np.isfinite(diagnosis.score).all()
    assert np.isfinite(diagnosis.localization).all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_same_table_comes_out_as_went_in(kind: str) -> None:
    names = list("abcde")
    make = {
        "pandas": lambda x: pd.DataFrame(x, columns=names),
        "polars": lambda x: pl.DataFrame(x, schema=names),
        "pyarrow": lambda x: pa.table(dict(zip(names, x.T, strict=True))),
    }[kind]
    model = ALoRa(**QUICK).fit(make(plant(600)))
    today = make(plant(100, seed=1))
    out = model.diagnose(today).to_frame()
    assert type(out) is type(today)
    assert len(out) == 100
    np.testing.assert_allclose(np.asarray(out["score"]), model.score(plant(100, seed=1)), rtol=1e-5)


def test_reordered_and_more_columns_are_accepted_and_fewer_refused() -> None:
    frame = pl.DataFrame(plant(600), schema=list("abcde"))
    model = ALoRa(**QUICK).fit(frame)
    np.testing.assert_array_equal(model.score(frame), model.score(frame.select(list("ecabd"))))
    with pytest.raises(DataError, match="missing"):
        model.score(frame.drop("c"))
    more = model.diagnose(frame.with_columns(z=pl.lit(1.0)))
    assert "left out: z (not in training)" in str(more.preparation)
    np.testing.assert_array_equal(more.score, model.diagnose(frame).score)


def test_a_column_of_an_array_without_a_value_is_left_out() -> None:
    x = np.column_stack([plant(600), np.full(600, np.nan)])
    model = ALoRa(**QUICK).fit(x)
    assert model.model_.preparation.variables == ("x0", "x1", "x2", "x3", "x4")
    np.testing.assert_array_equal(model.score(x), model.score(x[:, :5]))


def test_segments_keep_windows_apart(model: ALoRa) -> None:
    x = plant(60, seed=1)
    x[30:] += 50
    segments = np.repeat([0, 1], 30)
    together = model.diagnose(x, segments=segments)
    apart = np.r_[model.diagnose(x[:30]).raw, model.diagnose(x[30:]).raw]
    np.testing.assert_allclose(together.raw, apart, rtol=1e-5)
    assert together.warm_up[30:37].all()


def test_validation_rows_can_be_given(faulty: np.ndarray) -> None:
    model = ALoRa(**QUICK).fit(plant(600), validation=plant(200, seed=9))
    assert model.model_.calibration.held_back_rows == 200 - QUICK["window"] + 1
    assert np.isfinite(model.score(faulty)).all()


def test_contamination_is_trimmed() -> None:
    x = plant(900)
    x[300:330, 2] += 30
    plain = ALoRa(**QUICK).fit(x)
    trimmed = ALoRa(**QUICK, contamination=0.05).fit(x)
    assert plain.score(x)[300:330].max() > 0
    assert trimmed.model_.training.windows == plain.model_.training.windows


def test_json_is_what_users_of_azure_know(model: ALoRa, faulty: np.ndarray) -> None:
    said = model.diagnose(faulty).to_dict()
    result = said["results"][0]
    assert set(result) == {"timestamp", "is_anomaly", "score", "severity", "interpretation"}
    assert set(result["interpretation"][0]) == {"variable", "contribution_score"}


def test_contributions_have_names_and_equal_w_t(model: ALoRa) -> None:
    relations = model.contributions_
    assert relations.exact
    assert relations.reconstruction.shape == (5, 5)
    strongest = relations.strongest(3)
    assert len(strongest) == 3
    assert all(r.source != r.target for r in strongest)
    import torch

    w = window_contributions(model.model_.network, torch.randn(1, QUICK["window"], 5))
    np.testing.assert_allclose(w.sum(1)[0], relations.reconstruction, atol=1e-5)


def test_bad_input_is_refused_in_words(model: ALoRa, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="fit"):
        ALoRa().score(np.zeros((5, 2)))
    with pytest.raises(DataError, match="no window of 20 rows"):
        ALoRa().fit(plant(15))
    with pytest.raises(DataError, match="inf is not a usable value"):
        ALoRa(**QUICK).fit(np.r_[plant(100), [[np.inf] * 5]])
    with pytest.raises(DataError, match="no column holds any value"):
        ALoRa(**QUICK).fit(np.full((100, 2), np.nan))
    with pytest.raises(DataError, match="variables where the training data"):
        model.score(np.zeros((30, 4)))
    with pytest.raises(AloraError, match="window=1 is too small"):
        ALoRa(window=1).fit(plant(100))
    with pytest.raises(AloraError, match="did you mean 'blend'"):
        ALoRa(**QUICK, localization="blent").fit(plant(100))
    with (
        pytest.warns(FutureWarning, match="count alarming rows"),
        pytest.raises(AloraError, match="alarms-per-day"),
    ):
        ALoRa(**QUICK, threshold="alarms-per-day").fit(plant(200))
    with pytest.raises(AloraError, match="'1 per week' needs timestamps"):
        ALoRa(**QUICK, false_alarms="1 per week").fit(plant(200))
    with pytest.raises(AloraError, match="is no budget"):
        ALoRa(**QUICK, false_alarms="seldom").fit(plant(200))
    with pytest.raises(AloraError, match="no parameter 'windw'"):
        ALoRa().set_params(windw=3)
    with pytest.raises(AloraError, match="does not exist"):
        model.save(tmp_path / "nowhere" / "m.alora")


def test_bad_model_files_are_refused_in_words(model: ALoRa, tmp_path: Path) -> None:
    good = model.save(tmp_path / "m.alora")
    with pytest.raises(ArtifactError, match="no such file"):
        load(tmp_path / "none.alora")
    cut = tmp_path / "cut.alora"
    cut.write_bytes(good.read_bytes()[:1000])
    with pytest.raises(ArtifactError, match="truncated"):
        load(cut)
    foreign = tmp_path / "foreign.alora"
    foreign.write_text("time,a\n1,2\n")
    with pytest.raises(ArtifactError, match="not a model file"):
        load(foreign)
    import torch
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "other.alora")
    with pytest.raises(ArtifactError, match="not a model of alora-ts"):
        load(tmp_path / "other.alora")
    later = good.read_bytes().replace(b'\\"format\\": 1', b'\\"format\\": 9')
    (tmp_path / "later.alora").write_bytes(later)
    with pytest.raises(ArtifactError, match="format version 9"):
        load(tmp_path / "later.alora")


def test_sklearn_style() -> None:
    model = ALoRa(window=5)
    assert model.clone().get_params() == model.get_params()
    assert repr(model) == "ALoRa(window=5)"


def test_an_interrupt_keeps_the_best_weights() -> None:
    def stop(_: object) -> bool:
        raise KeyboardInterrupt

    model = ALoRa(**QUICK).fit(plant(600), callbacks=[stop])
    assert model.model_.training.stopped == "interrupted"
    assert np.isfinite(model.score(plant(50))).all()


def test_a_callback_can_stop_and_progress_is_reported() -> None:
    steps = []
    model = ALoRa(**{**QUICK, "epochs": 5}).fit(
        plant(600), callbacks=[lambda end: end.epoch == 1], progress=steps.append
    )
    assert model.model_.training.stopped == "early"
    assert {"fitting", "calibrating"} <= {step.task for step in steps}
    assert "low-rank" in steps[0].facts
