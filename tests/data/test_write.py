from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from alora_ts.data.table import as_table
from alora_ts.data.write import write_table
from alora_ts.errors import AloraError


def frames() -> dict[str, Any]:
    times = pd.date_range("2024-01-01", periods=3, freq="h", tz="Europe/Berlin")
    columns = {"score": [0.5, 2.0, np.nan], "alarm": [False, True, False]}
    return {
        "pandas": pd.DataFrame({"time": times, **columns}),
        "pandas indexed": pd.DataFrame(columns, index=times.rename("time")),
        "polars": pl.DataFrame({"time": pl.Series(times), **columns}),
        "pyarrow": pa.table({"time": pa.array(times), **columns}),
    }


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_every_frame_in_every_form(tmp_path: Path, suffix: str) -> None:
    for name, frame in frames().items():
        path = tmp_path / f"{name}{suffix}"
        write_table(frame, path)
        if suffix == ".json":
            records = json.loads(path.read_text())
            assert [record["alarm"] for record in records] == [False, True, False]
            assert records[0]["score"] == 0.5
        else:
            table = as_table(path)
            np.testing.assert_array_equal(table.values[:, 0], [0.5, 2.0, np.nan])
            assert table.timestamps is not None
            assert str(table.timestamps[0]) == "2023-12-31T23:00:00.000000", name


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    frame = pl.DataFrame({"score": [1.0]})
    with pytest.raises(AloraError, match=r"'.xlsx' names no known form; use one of .csv"):
        write_table(frame, tmp_path / "x.xlsx")
    with pytest.raises(AloraError, match="does not exist"):
        write_table(frame, tmp_path / "nowhere" / "x.csv")
    nested = pl.DataFrame({"score": [[1.0]]})
    with pytest.raises(pl.exceptions.PolarsError):
        write_table(nested, tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []
