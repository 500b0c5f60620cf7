"""TSB-AD's series: the published split, rebuilt from other sets or read from its own files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from alora_ts.datasets import load, tsb_ad
from alora_ts.datasets.tsb_ad import series
from alora_ts.errors import DataError
from tests.datasets import official

REBUILT = [one for one in series().values() if one.source in {"MSL", "SMD"}]
WIDTH = {"MSL": 55, "SMD": 38}


def test_the_published_list() -> None:
    found = list(series().values())
    assert len(found) == 180
    assert len(REBUILT) == 17
    for one in found:
        assert 0 < one.anomalous < one.rows
        assert one.train_rows < one.rows
        # TSB-AD's own rule, which it breaks for sets that came with a training part.
        if one.source:
            quarter = min(one.rows // 4, one.first - 100)
            assert one.train_rows == max(500, quarter), one.name


@pytest.mark.parametrize("one", REBUILT, ids=lambda one: one.name)
def test_series_are_rebuilt_from_other_sets(real_data: Path, one: tsb_ad.Series) -> None:
    data = load("TSB-AD-M", real_data, one.name)
    source = load(one.source, real_data, one.entity)
    assert data.train.shape == (one.train_rows, WIDTH[one.source])
    assert data.test.shape == (one.rows, WIDTH[one.source])
    np.testing.assert_array_equal(data.train, data.test[: one.train_rows])
    np.testing.assert_array_equal(data.test, source.test)
    assert (data.label.sum(), data.label.argmax()) == (one.anomalous, one.first)


def write_series(folder: Path, one: tsb_ad.Series, **changes: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    label = np.zeros(one.rows, int)
    label[one.first : one.first + one.anomalous] = 1
    table = {"a": np.arange(one.rows) / 7, "b": np.ones(one.rows), "Label": label, **changes}
    path = folder / f"{one.name}.csv"
    pl.DataFrame(table).write_csv(path)
    return path


def test_its_own_files(tmp_path: Path) -> None:
    one = series()["016_MSL_id_15_Sensor_tr_500_1st_780"]
    write_series(tmp_path / "TSB-AD-M", one)
    data = load("TSB-AD-M", tmp_path, one.name)
    assert data.variables == ("a", "b")
    assert data.train.shape == (500, 2)
    assert data.test.shape == (one.rows, 2)
    assert data.label.sum() == one.anomalous
    holes = [None, *np.ones(one.rows - 1).tolist()]
    write_series(tmp_path / "TSB-AD-M", one, b=holes)
    with pytest.raises(DataError, match=f"has {one.rows - 1} rows, .* are published"):
        load("TSB-AD-M", tmp_path, one.name)
    write_series(tmp_path / "TSB-AD-M", one, Label=["x"] * one.rows)
    with pytest.raises(DataError, match="is not a series of TSB-AD"):
        load("TSB-AD-M", tmp_path, one.name)
    write_series(tmp_path / "TSB-AD-M", one, c=np.ones(one.rows))
    with pytest.raises(DataError, match=r"the last column is 'c'.*unpack https"):
        load("TSB-AD-M", tmp_path, one.name)


def test_what_is_not_here_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no copy of TSB-AD-M"):
        load("TSB-AD-M", tmp_path, "001_Genesis_id_1_Sensor_tr_4055_1st_15538")
    official.smd(tmp_path)
    with pytest.raises(DataError, match=r"does not exist; unpack https://www\.thedatum"):
        load("TSB-AD-M", tmp_path, "001_Genesis_id_1_Sensor_tr_4055_1st_15538")
    with pytest.raises(DataError, match=r"cannot be rebuilt from MSL S-2: no copy of MSL"):
        load("TSB-AD-M", tmp_path, "002_MSL_id_1_Sensor_tr_500_1st_900")


def test_a_source_that_is_not_the_published_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "057_SMD_id_1_Facility_tr_4529_1st_4629"
    official.smd(tmp_path, "machine-1-2")
    with pytest.raises(
        DataError, match=r"has 6 rows, 2 of them anomalous, the first at row 2, but"
    ):
        load("TSB-AD-M", tmp_path, name)
    small = replace(series()[name], rows=6, anomalous=2, first=2, train_rows=2)
    monkeypatch.setitem(series(), name, small)
    data = load("TSB-AD-M", tmp_path, name)
    assert (data.train.shape, data.test.shape) == ((2, 38), (6, 38))
    assert data.interpretation[0].variables == (0, 37)
