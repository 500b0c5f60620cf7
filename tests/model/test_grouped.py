"""One model per group equals one model fitted by hand on each group's rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from alora_ts import ALoRa
from alora_ts.errors import ArtifactError, DataError, NotFittedError
from alora_ts.grouped import GroupedALoRa
from tests.model.test_estimator import QUICK, plant


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    parts = []
    for host, seed in (("web", 1), ("db", 2)):
        columns = {f"x{i}": column for i, column in enumerate(plant(300, seed=seed).T)}
        parts.append(pl.DataFrame({"host": [host] * 300, **columns}))
    # Interleaved, as a database would give them.
    return (
        pl.concat(parts)
        .with_row_index()
        .sort(pl.col("index") % 300, maintain_order=True)
        .drop("index")
    )


def test_groups_are_fitted_and_scored_apart_and_come_back_in_one_table(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    grouped = GroupedALoRa(ALoRa(**QUICK), group="host").fit(table)
    scores = grouped.score(table)
    assert scores["host"].to_list() == table["host"].to_list()
    for host in ("web", "db"):
        alone = table.filter(host=host).drop("host")
        expected = ALoRa(**QUICK).fit(alone).score(alone)
        found = scores.filter(host=host)["score"].to_numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    again = GroupedALoRa.load(grouped.save(tmp_path / "models"), group="host")
    np.testing.assert_array_equal(again.score(table)["score"], scores["score"])
    assert set(again.diagnose(table)) == {"web", "db"}


def test_bad_groups_are_named(table: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        GroupedALoRa(ALoRa(), group="host").save(tmp_path)
    with pytest.raises(ArtifactError, match="no model"):
        GroupedALoRa.load(tmp_path / "empty", group="host")
    short = pl.concat([table, table.head(3).with_columns(host=pl.lit("cache"))])
    with pytest.raises(DataError, match="group 'cache'"):
        GroupedALoRa(ALoRa(**QUICK), group="host").fit(short)
    grouped = GroupedALoRa(ALoRa(**QUICK), group="host").fit(table)
    with pytest.raises(DataError, match="no model for the group 'webb'; did you mean 'web'"):
        grouped.score(table.with_columns(host=pl.lit("webb")))
