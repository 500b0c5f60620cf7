"""Warm start: a pooled model first, then short fits that begin with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from alora_ts import ALoRa
from alora_ts.errors import AloraError, DataError
from alora_ts.fleet import Fleet, WarmStart
from tests.fleet.machines import BAD, files, machine, quick, write_machines
from tests.fleet.naive_engine import OneByOne


def test_each_fit_begins_with_the_pooled_weights_and_is_short(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", 4, bad=True)
    estimator = quick().set_params(epochs=3)
    fleet = Fleet(estimator, warm_start=WarmStart(sample=7, epochs=1), engine=OneByOne())
    fleet.fit(source, output=tmp_path / "out", progress=False)
    assert set(fleet.tally_.reasons) == BAD
    first = files(tmp_path / "out")
    pooled = ALoRa.load(tmp_path / "out" / "pooled.alora")
    assert len(pooled.model_.training.error) == 3
    one = fleet.model("m0")
    assert len(one.model_.training.error) == 1
    expected = quick().fit(source / "m0.parquet", initial=pooled, progress=False)
    np.testing.assert_array_equal(
        one.score(source / "m1.parquet"), expected.score(source / "m1.parquet")
    )
    # Again: nothing to do; other rows in the sample: everything to do.
    fleet.fit(source, output=tmp_path / "out", progress=False)
    assert (fleet.tally_.done, fleet.tally_.skipped) == (0, 4)
    assert files(tmp_path / "out") == first
    machine(55).write_parquet(source / "m3.parquet")
    fleet.fit(source, output=tmp_path / "out", progress=False)
    assert fleet.tally_.done == 4
    assert Fleet.load(tmp_path / "out").warm_start == WarmStart(sample=7, epochs=1)


def test_the_order_of_columns_does_not_matter(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", 3)
    turned = machine(2).select("flow", "time", "load", "heat")
    fleet = Fleet(quick().set_params(threads=3), warm_start=WarmStart(), engine=OneByOne())
    fleet.fit(source, output=tmp_path / "out", progress=False)
    expected = fleet.model("m2").score(machine(7))
    assert fleet.model("m2").threads is None  # each worker has one
    turned.write_parquet(source / "m2.parquet")
    fleet.fit(source, output=tmp_path / "turned", progress=False)
    assert fleet.tally_.failed == 0
    np.testing.assert_array_equal(fleet.model("m2").score(machine(7)), expected)


def test_the_initial_weights_are_where_training_begins() -> None:
    rows = machine(0)
    first = quick().fit(rows, progress=False)
    still = quick().set_params(training__learning_rate=0.0)
    again = still.fit(rows, initial=first, progress=False)
    weights = first.model_.network.state_dict()
    for name, tensor in again.model_.network.state_dict().items():
        assert torch.equal(tensor, weights[name])


def test_a_stranger_is_no_beginning() -> None:
    first = quick().fit(machine(0), progress=False)
    with pytest.raises(DataError, match="the variables are not those"):
        quick().fit(machine(0).rename({"flow": "flux"}), initial=first, progress=False)
    with pytest.raises(AloraError, match="another shape"):
        quick().set_params(window=6).fit(machine(0), initial=first, progress=False)


def test_without_a_usable_sample_there_is_no_pooled_model(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.csv").write_text("")
    with pytest.raises(DataError, match="pooled model cannot be fitted"):
        Fleet(quick(), warm_start=WarmStart(), engine=OneByOne()).fit(source, progress=False)
