"""Scores in chunks are the scores of one pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from alora_ts import ALoRa, CalibrationOptions
from alora_ts.diagnosis import Incident
from alora_ts.errors import AloraError
from alora_ts.model.chunks import write_chunks
from tests.model.test_estimator import QUICK, plant


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    x = plant(200, seed=4)
    x[100:115, 1] += 9
    x[50, 2] = np.nan
    start = np.datetime64("2026-03-01T00:00", "us")
    stamps = start + np.arange(200).astype("timedelta64[m]")
    stamps[150:] += np.timedelta64(5, "h")  # a gap
    return pl.DataFrame({"time": stamps, **{f"x{i}": x[:, i] for i in range(5)}})


@pytest.fixture(scope="module", params=[1, 2, 5], ids="smoothing {}".format)
def model(request: pytest.FixtureRequest, table: pl.DataFrame) -> ALoRa:
    return ALoRa(
        **{**QUICK, "epochs": 1, "epoch_windows": 64},
        calibration=CalibrationOptions(smoothing=request.param),
    ).fit(table.with_columns(pl.Series("x1", plant(200, seed=4)[:, 1])))


@pytest.mark.parametrize("rows", [1, 7, 64, 500])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_any_chunking_gives_the_scores_of_one_pass(
    model: ALoRa, table: pl.DataFrame, tmp_path: Path, rows: int, suffix: str
) -> None:
    source = tmp_path / f"data.{suffix}"
    table.write_csv(source) if suffix == "csv" else table.write_parquet(source)
    out = tmp_path / f"scores.{suffix}"
    found = write_chunks(model.score_chunks(source, rows=rows), out)
    written = pl.read_csv(out) if suffix == "csv" else pl.read_parquet(out)
    whole = model.diagnose(table)
    np.testing.assert_allclose(written["score"].to_numpy(), whole.score, rtol=1e-5)
    assert written["is_anomaly"].to_list() == whole.alarm.tolist()
    assert found.alarming_rows == whole.alarm.sum()
    assert whole.incidents
    assert len(found.incidents) == len(whole.incidents)
    for one, other in zip(found.incidents, whole.incidents, strict=True):
        assert _outline(one) == _outline(other)
        np.testing.assert_allclose(_numbers(one), _numbers(other), rtol=1e-4)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([source.name, out.name])


def _outline(incident: Incident) -> tuple[Any, ...]:
    origin = incident.origin and incident.origin.variable
    who = [(culprit.variable, culprit.direction) for culprit in incident.culprits]
    times = incident.start_time, incident.end_time, incident.peak_time
    return incident.start, incident.end, incident.peak, *times, incident.severity, who, origin


def _numbers(incident: Incident) -> list[float]:
    parts = [(c.share, c.value, c.expected) for c in incident.culprits]
    heard = [witness.share for witness in incident.witnesses]
    assert len(heard) >= 2
    return [incident.score, incident.raw, *heard, *(number for part in parts for number in part)]


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AloraError, match="in chunks"):
        write_chunks([], tmp_path / "scores.json")
