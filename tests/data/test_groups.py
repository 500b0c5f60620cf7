from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from alora_ts.data.groups import split_groups
from alora_ts.errors import DataError


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table])
def test_groups_come_in_order_and_go_back_into_one_table(make: Any) -> None:
    columns = {
        "time": ["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02", "2024-01-03"],
        "host": ["web", "db", "web", "db", "web"],
        "load": [1.0, 10.0, 2.0, 20.0, 3.0],
    }
    groups = split_groups(make(columns), group="host")
    assert groups.names == ("web", "db")
    assert len(groups) == 2
    results = {}
    for name, table in groups:
        assert table.variables == ("load",)
        assert table.timestamps is not None
        assert np.all(np.diff(table.timestamps) == np.timedelta64(1, "D"))
        own = table.frame({"twice": table.values[:, 0] * 2})
        assert len(own) == len(table)
        results[name] = {"twice": table.values[:, 0] * 2}
    frame = groups.frame(results)
    assert list(frame["twice"].to_numpy()) == [2, 20, 4, 40, 6]
    assert [str(name) for name in frame["host"].to_numpy()] == columns["host"]
    names = frame.column_names if isinstance(frame, pa.Table) else list(frame.columns)
    assert names == ["time", "host", "twice"]


def test_groups_of_files_and_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "fleet.csv"
    path.write_text("machine,a\n1,5\n2,6\n1,7\n")
    assert split_groups(path, group="machine").names == ("1", "2")
    assert split_groups([str(path)], group="machine").names == ("1", "2")
    frame = pl.read_csv(path)
    assert split_groups(frame, group="machine").names == ("1", "2")
    indexed = pd.DataFrame({"g": ["x", "y"], "a": [1.0, 2.0]}, index=[3, 3])
    groups = split_groups(indexed, group="g")
    back = groups.frame({name: {"s": table.values[:, 0]} for name, table in groups})
    assert list(back.index) == [3, 3]


def test_neighbouring_rows_are_not_copied() -> None:
    frame = pl.DataFrame({"g": ["a"] * 3 + ["b"] * 3, "v": np.arange(6.0)})
    groups = split_groups(frame, group="g")
    for _, table in groups:
        assert np.shares_memory(table.values, groups.table.values)


def test_what_cannot_be_split(tmp_path: Path) -> None:
    frame = pl.DataFrame({"host": ["a", None], "v": [1.0, 2.0]})
    with pytest.raises(DataError, match=r"column 'host', row 1: the group is missing \(1 in all\)"):
        split_groups(frame, group="host")
    with pytest.raises(DataError, match="did you mean 'host'"):
        split_groups(frame, group="hots")
    with pytest.raises(DataError, match="named columns"):
        split_groups(np.zeros((2, 2)), group="host")
    frame.write_csv(tmp_path / "x.csv")
    with pytest.raises(DataError, match="did you mean 'host'"):
        split_groups(tmp_path / "x.csv", group="hots")
    with pytest.raises(DataError, match=r"x.csv, line 3: the group is missing"):
        split_groups(tmp_path / "x.csv", group="host")
