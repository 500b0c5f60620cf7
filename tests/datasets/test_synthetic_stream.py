from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest

from alora_ts.datasets.synthetic import Disturbance, make, plant_system, random_system, simulate
from alora_ts.datasets.synthetic_stream import random_faults, write_parquet
from alora_ts.errors import AloraError, DataError

FAULTS = [
    Disturbance("leak", "tank1_level", 380, 440, size=4.0),
    Disturbance("stuck-sensor", "pump2_flow", 1180, 1300),
]


@pytest.mark.parametrize("chunk", [417, 6000, 100_000])
def test_the_file_holds_what_simulate_gives(tmp_path, chunk):
    rows = {"train_rows": 1000, "test_rows": 1500}
    data = simulate(plant_system(), FAULTS, seed=7, **rows)
    seen = []
    written = write_parquet(
        tmp_path / "plant.parquet",
        plant_system(),
        rows=2500,
        healthy_rows=1000,
        faults=FAULTS,
        seed=7,
        chunk=chunk,
        progress=seen.append,
    )
    frame = pl.read_parquet(written.path)
    assert frame.columns == ["timestamp", *data.variables, "label"]
    values = frame.select(data.variables).to_numpy()
    np.testing.assert_array_equal(values, np.concatenate([data.train, data.test]))
    np.testing.assert_array_equal(frame["label"].to_numpy()[1000:], data.label)
    assert not frame["label"].to_numpy()[:1000].any()
    stamps = np.concatenate([data.train_timestamps, data.test_timestamps])
    np.testing.assert_array_equal(frame["timestamp"].to_numpy(), stamps)
    assert written.faults == data.faults
    listed = json.loads(written.truth.read_text())
    assert [tuple(fault["affected"]) for fault in listed] == [f.affected for f in data.faults]
    assert (seen[-1].done, seen[-1].total) == (2500, 2500)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "plant.faults.json",
        "plant.parquet",
    ]


def test_an_interrupted_run_leaves_nothing(tmp_path):
    def stop(_step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parquet(tmp_path / "a.parquet", random_system(3), rows=500, chunk=50, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_explained(tmp_path):
    system = random_system(3)
    with pytest.raises(DataError, match="at least 1"):
        write_parquet(tmp_path / "a.parquet", system, rows=0)
    with pytest.raises(DataError, match="healthy_rows between"):
        write_parquet(tmp_path / "a.parquet", system, rows=5, healthy_rows=6)
    with pytest.raises(DataError, match="after the 5 test rows"):
        write_parquet(
            tmp_path / "a.parquet",
            system,
            rows=10,
            healthy_rows=5,
            faults=[Disturbance("leak", 0, 1, 6)],
        )
    with pytest.raises(AloraError, match="does not exist"):
        write_parquet(tmp_path / "no" / "a.parquet", system, rows=5)
    with pytest.raises(DataError, match="do not fit"):
        random_faults(system, rows=20, count=3)
    assert list(tmp_path.iterdir()) == []


def test_random_faults_are_apart_and_repeatable():
    system = random_system(9, seed=2)
    faults = random_faults(system, rows=30_000, count=40, seed=6)
    assert faults == random_faults(system, rows=30_000, count=40, seed=6)
    assert all(a.end < b.start for a, b in itertools.pairwise(faults))
    assert faults[-1].end <= 30_000
    assert random_faults(system, rows=5, count=0) == []


def test_the_demo_keeps_its_faults():
    assert [(f.kind, f.variable) for f in make("plant").faults] == [
        ("leak", "tank1_level"),
        ("degradation", "pump1_flow"),
        ("stuck-sensor", "pump2_flow"),
        ("drift", "tank2_temperature"),
        ("trend", "pump2_vibration"),
        ("level-shift", "tank2_level"),
    ]
