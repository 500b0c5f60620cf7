"""Figures that are read from results folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.bench.figures import (
    MissingMaterialError,
    Workshop,
    draw_figure,
    embeddings,
    held_back,
    scores,
    window_size,
)
from alora_ts.bench.figures.style import save
from alora_ts.errors import AloraError, DataError
from alora_ts.metrics import detection_delay
from tests.bench.records import invented, written

TINY = {
    "window": 6,
    "architecture__layers": 1,
    "architecture__heads": 1,
    "pairs": 8,
    "epochs": 1,
    "epoch_windows": 64,
}
ROWS = 400


def _labels() -> np.ndarray:
    label = np.zeros(ROWS, dtype=bool)
    label[50:60] = label[200:260] = True
    return label


def _with_scores(folder: Path, first_alarms: dict[str, int | None], *, entity: str, seed=0) -> Path:
    """Results whose methods alarm from a given row of the longest event on."""
    records = [invented(method, entity=entity, seed=seed) for method in first_alarms]
    written(records, folder)
    for method, first in first_alarms.items():
        score = np.full(ROWS, 0.5)
        if first is not None:
            score[200 + first : 210 + first] = 3.0 + seed
        path = folder / "scores" / "SMD" / entity / f"{method}-{seed}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"row": np.arange(ROWS), "label": _labels(), "score": score}).write_parquet(
            path
        )
    return folder


def _study(name: str, case: str, level: float, **place) -> object:
    return invented("alora", label=f"{name}-{case}", studies={name: case}, level=level, **place)


def test_waiting_times_are_those_of_the_scores(tmp_path):
    waits = {"alora": 0, "knn": 7, "random": None, "always-alarm": 3, "pca": 12}
    _with_scores(tmp_path, waits, entity="machine-1-2")
    _with_scores(tmp_path, {"alora": 1, "knn": 1}, entity="machine-1-1")
    found = scores.measure(Workshop(results=[tmp_path], root=tmp_path))
    # The place with more methods; an alarm that never ends has no waiting time to show.
    assert found.place == "SMD machine-1-2"
    assert found.event == (200, 260)
    shown = {one.label: one.waiting for one in found.methods}
    assert shown == {"alora": 0, "knn": 7, "random": None, "pca": 12}
    assert [one.ours for one in found.methods] == [True, False, False, False]
    assert "alora 0, knn 7, random none, pca 12" in found.caption
    save(scores.draw(found), tmp_path / "one.svg")
    assert "no alarm in the event" in (tmp_path / "one.svg").read_text()


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_waiting_rows_agree_with_the_metric(alarm):
    alarms = np.array(alarm, dtype=bool)
    expected = detection_delay(np.ones(len(alarms)), alarms).delays[0]
    found = scores.waiting_rows(alarms)
    assert np.isnan(expected) if found is None else found == expected


def test_the_lowest_seed_stands_for_a_method(tmp_path):
    for seed in (2, 1):
        _with_scores(tmp_path, {"alora": 5, "knn": 5}, entity="machine-1-2", seed=seed)
    found = scores.measure(Workshop(results=[tmp_path], root=tmp_path))
    assert [one.score.max() for one in found.methods] == [4.0, 4.0]


def test_an_entity_can_be_asked_for(tmp_path):
    _with_scores(tmp_path, {"alora": 0, "knn": 7, "pca": 1}, entity="machine-1-2")
    _with_scores(tmp_path, {"alora": 4, "knn": 9}, entity="machine-1-1")
    asked = Workshop(results=[tmp_path], root=tmp_path, place="SMD/machine-1-1")
    assert [one.waiting for one in scores.measure(asked).methods] == [4, 9]
    other = Workshop(results=[tmp_path], root=tmp_path, place="SMD/machine-1-11")
    with pytest.raises(AloraError, match="did you mean 'SMD/machine-1-1'"):
        scores.measure(other)


def test_results_without_scores_say_so(tmp_path):
    written([invented("alora"), invented("knn")], tmp_path)
    with pytest.raises(MissingMaterialError, match="scores of at least two methods"):
        scores.measure(Workshop(results=[tmp_path], root=tmp_path))


def test_damaged_scores_are_named(tmp_path):
    _with_scores(tmp_path, {"alora": 0, "knn": 7}, entity="machine-1-2")
    path = tmp_path / "scores" / "SMD" / "machine-1-2" / "knn-0.parquet"
    path.write_bytes(b"half")
    with pytest.raises(DataError, match=r"knn-0\.parquet holds no scores"):
        scores.measure(Workshop(results=[tmp_path], root=tmp_path))


def test_failed_runs_are_not_drawn(tmp_path):
    _with_scores(tmp_path, {"alora": 0, "knn": 7, "pca": 1}, entity="machine-1-2")
    written([invented("pca", entity="machine-1-2", status="failed", error="x")], tmp_path)
    found = scores.measure(Workshop(results=[tmp_path], root=tmp_path))
    assert [one.label for one in found.methods] == ["alora", "knn"]


def test_window_sizes_are_averaged_over_the_same_runs(tmp_path):
    records = [
        _study(
            "window",
            str(t),
            0.5 + 0.1 * (entity == "b") + 0.01 * seed + t / 1000,
            entity=entity,
            seed=seed,
        )
        for t in (150, 20, 10)
        for entity in ("a", "b")
        for seed in (0, 1)
    ]
    # A run that only one window has must not move that window's mean.
    records.append(_study("window", "20", 0.01, entity="c", seed=0))
    records.append(_study("window", "20", 0.01, entity="a", seed=7))
    found = window_size.measure(Workshop(results=[written(records, tmp_path)], root=tmp_path))
    assert found.windows == (10, 20, 150)
    assert found.values["SMD"].shape == (2, 2, 3)
    np.testing.assert_allclose(found.values["SMD"].mean((0, 1)), [0.565, 0.575, 0.705])
    assert "not a validation score" in found.caption
    assert "10: 0.565, 20: 0.575, 150: 0.705" in found.caption
    save(window_size.draw(found), tmp_path / "one.svg")
    assert "threshold from test labels" in (tmp_path / "one.svg").read_text()


def test_held_back_losses_are_those_of_the_records(tmp_path):
    def trained(label, losses, *, best, stopped):
        facts = {f"held_back_loss_{epoch}": loss for epoch, loss in enumerate(losses, start=1)}
        more = {"epochs": best, "windows": 100.0 * len(losses), "stopped_early": float(stopped)}
        return invented("alora", plan="published", label=label, facts={**facts, **more})

    records = [
        trained("alora-published", [0.5, 0.2, 0.1, 0.3], best=3, stopped=True),
        trained("alora-short", [0.6, 0.4], best=2, stopped=False),
        invented("alora", plan="cpu", label="elsewhere"),
        invented("norm", plan="published"),
    ]
    workshop = Workshop(results=[written(records, tmp_path)], root=tmp_path)
    first, second = held_back.measure(workshop).trainings
    assert (first.label, first.loss.tolist(), first.best, first.stopped) == (
        "alora-published",
        [0.5, 0.2, 0.1, 0.3],
        3,
        True,
    )
    assert (second.windows, second.stopped) == (200, False)
    drawn = draw_figure("held-back", workshop)
    assert "4 epochs, 400 windows, best at 3 (0.1); early stopping ended it." in drawn.caption
    assert "2 epochs, 200 windows, best at 2 (0.4); it ran to its last epoch." in drawn.caption
    with pytest.raises(AloraError, match="bench run published"):
        held_back.measure(Workshop(root=tmp_path))


def test_windows_without_a_common_run_are_missing(tmp_path):
    records = [_study("window", "10", 0.5, entity="a"), _study("window", "20", 0.5, entity="b")]
    with pytest.raises(MissingMaterialError, match="same entity and seed"):
        window_size.measure(Workshop(results=[written(records, tmp_path)], root=tmp_path))


def test_a_set_that_is_one_series(tmp_path):
    records = [_study("window", t, 0.7, entity=None, dataset="PSM") for t in ("10", "20")]
    found = window_size.measure(Workshop(results=[written(records, tmp_path)], root=tmp_path))
    assert found.values["PSM"].shape == (1, 1, 2)
    assert "PSM (1 entity, 1 seed)" in found.caption
    save(window_size.draw(found), tmp_path / "one.svg")


def test_embeddings_show_results_and_errors_of_fits(tmp_path):
    records = [
        _study("embedding", case, level + 0.02 * seed, entity=entity, seed=seed)
        for case, level in (("light", 0.8), ("standard", 0.7))
        for entity in ("a", "b")
        for seed in (0, 1)
    ]
    records.append(_study("embedding", "light", 0.1, entity="c"))
    shop = Workshop(
        results=[written(records, tmp_path)],
        root=tmp_path,
        place="synthetic/clear-faults",
        parameters=TINY,
    )
    found = embeddings.measure(shop)
    assert found.places == ("SMD a", "SMD b")
    np.testing.assert_allclose(found.f1["light"][:, 0], 0.81)
    np.testing.assert_allclose(found.f1["standard"][:, 1], np.std([0.7, 0.72], ddof=1))
    rows = int((~shop.data.label).sum())
    assert all(rows - 6 < len(one) <= rows for one in found.errors.values())
    assert "0.810 against 0.710" in found.caption
    save(embeddings.draw(found), tmp_path / "one.svg")


def test_embeddings_need_both_on_one_entity(tmp_path):
    records = [
        _study("embedding", "light", 0.5, entity="a"),
        _study("embedding", "standard", 0.5, entity="b"),
    ]
    shop = Workshop(results=[written(records, tmp_path)], root=tmp_path)
    with pytest.raises(MissingMaterialError, match="both embeddings"):
        draw_figure("embedding", shop)
