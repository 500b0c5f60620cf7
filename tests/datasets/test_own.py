"""A user's own tables as a dataset."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from alora_ts.datasets import add, load
from alora_ts.errors import DataError
from tests.bench.own_data import write_tables


def test_one_series_loads_like_any_dataset(tmp_path):
    added = add(write_tables(tmp_path / "tables"), name="servers", root=tmp_path)
    assert (added.entities, added.official.variables) == ((), 3)
    data = load("servers", tmp_path)
    source = pl.read_csv(tmp_path / "tables/test.csv")
    assert data.variables == ("v0", "v1", "v2")
    np.testing.assert_allclose(data.test, source.drop("label").to_numpy(), rtol=1e-6)
    np.testing.assert_array_equal(data.label, source["label"].to_numpy() == 1)
    assert data.truth()[200:230, 1].all()
    assert data.truth().sum() == 30


@pytest.mark.parametrize("nested", [True, False])
def test_several_entities_in_folders_or_side_by_side(tmp_path, nested):
    folder = tmp_path / "tables"
    for number in range(2):
        write_tables(tmp_path / f"made{number}", seed=number)
        for part in ("train", "test", "affected"):
            made = tmp_path / f"made{number}" / f"{part}.csv"
            place = folder / f"web{number}" / f"{part}.csv"
            if not nested:
                place = folder / f"web{number}_{part}.csv"
            place.parent.mkdir(parents=True, exist_ok=True)
            made.rename(place)
    added = add(folder, root=tmp_path)
    assert added.name == "tables"
    assert added.entities == ("web0", "web1")
    first, second = (load("tables", tmp_path, f"web{number}") for number in range(2))
    assert not np.array_equal(first.test, second.test)


def test_a_variable_called_time_and_a_clock(tmp_path):
    folder = write_tables(tmp_path / "tables")
    for part in ("train", "test"):
        table = pl.read_csv(folder / f"{part}.csv").rename({"v0": "time"})
        clock = pl.datetime_range(
            pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 4, 59), "1m", eager=True
        )
        table.insert_column(0, clock.alias("at")).write_csv(folder / f"{part}.csv")
    add(folder, name="timed", time="at", root=tmp_path)
    data = load("timed", tmp_path)
    assert data.variables == ("time", "v1", "v2")
    assert data.test_timestamps is not None
    assert str(data.test_timestamps[1]).startswith("2026-01-01T00:01")


def spoil(folder, change):
    test = folder / "test.csv"
    change(pl.read_csv(test)).write_csv(test)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.rename({"label": "labels"}), "did you mean 'labels'"),
        (lambda table: table.with_columns(label=pl.lit(2)), "must be 0 or 1"),
        (lambda table: table.with_columns(label=pl.lit(0)), "0 in every row"),
        (lambda table: table.rename({"v0": "w0"}), "no column 'w0'"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_and_leave_nothing(tmp_path, change, words):
    folder = write_tables(tmp_path / "tables")
    spoil(folder, change)
    with pytest.raises(DataError, match=words):
        add(folder, name="mine", root=tmp_path)
    assert not list((tmp_path / "own").iterdir())


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match="is not a folder"):
        add(tmp_path / "none", root=tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no pair of tables"):
        add(tmp_path / "empty", root=tmp_path)
    folder = write_tables(tmp_path / "tables")
    with pytest.raises(DataError, match="cannot name a dataset"):
        add(folder, name="../mine", root=tmp_path)
    (folder / "affected.csv").write_text("start,end,variables\n10,20,v7\n")
    with pytest.raises(DataError, match="no variable 'v7'"):
        add(folder, root=tmp_path)
    (folder / "affected.csv").write_text("start,end,variables\n290,310,v1\n")
    with pytest.raises(DataError, match="not a stretch of the 300 test rows"):
        add(folder, root=tmp_path)
    (folder / "affected.csv").unlink()
    add(folder, root=tmp_path)
    with pytest.raises(DataError, match="there already"):
        add(folder, root=tmp_path)
    (folder / "test.csv").unlink()
    with pytest.raises(DataError, match="no test table beside it"):
        add(folder, name="other", root=tmp_path)


def test_a_damaged_description_is_named(tmp_path):
    add(write_tables(tmp_path / "tables"), name="mine", root=tmp_path)
    (tmp_path / "own/mine/about.json").write_text("{}")
    with pytest.raises(DataError, match="is damaged"):
        load("mine", tmp_path)
