from __future__ import annotations

import hashlib

import numpy as np
import pytest

from alora_ts.datasets.synthetic import (
    FAULT_KINDS,
    PRESETS,
    Disturbance,
    fleet,
    make,
    plant,
    plant_system,
    simulate,
)
from alora_ts.datasets.synthetic_simulate import Simulator, usual_spread
from alora_ts.datasets.synthetic_truth import AFFECTED_AT
from alora_ts.errors import DataError


def digest(data) -> str:
    parts = (data.train, data.test, data.label, data.affected, data.origin_truth())
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_is_whole_and_deterministic(preset):
    data = make(preset, seed=3)
    again, other = make(preset, seed=3), make(preset, seed=4)
    assert digest(data) == digest(again) != digest(other)
    d = len(data.variables)
    assert data.train.shape[1] == data.test.shape[1] == d
    assert data.train.dtype == data.test.dtype == np.float32
    assert np.isfinite(data.train).all()
    assert np.isfinite(data.test).all()
    assert data.label.shape == (len(data.test),)
    assert 0 < data.label.mean() < 0.4
    stamps = np.concatenate([data.train_timestamps, data.test_timestamps])
    assert (np.diff(stamps) == np.timedelta64(1, "m")).all()
    assert len(data.train_timestamps) == len(data.train)


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("seed", [0, 1])
def test_the_faults_of_a_preset_are_apart_and_their_truth_agrees(preset, seed):
    data = make(preset, seed=seed)
    origin, affected = data.origin_truth(), data.affected_truth()
    np.testing.assert_array_equal(data.label, affected.any(axis=1))
    borders = [*(fault.start for fault in data.faults), len(data.test)]
    for fault, until in zip(data.faults, borders[1:], strict=True):
        assert fault.start < fault.end <= fault.recovered < until
        assert data.variables[fault.origin] == fault.variable
        assert data.label[fault.start]
        assert affected[fault.start, fault.origin]
        reached = affected[fault.start : fault.recovered].any(axis=0)
        assert tuple(np.flatnonzero(reached)) == fault.affected
        assert fault.origin in fault.affected
        assert not affected[fault.recovered : until].any()
        assert np.flatnonzero(origin[fault.start]).tolist() == [fault.origin]
    assert not data.label[: data.faults[0].start].any()


def test_the_truth_is_the_difference_to_the_undisturbed_twin():
    system = plant_system()
    faults = [Disturbance("drift", "tank2_level", 40, 120, size=6.0)]
    data = simulate(system, faults, train_rows=200, test_rows=300, seed=5)
    twin = simulate(system, (), train_rows=200, test_rows=300, seed=5)
    np.testing.assert_array_equal(data.train, twin.train)
    far = np.abs(data.test - twin.test) > AFFECTED_AT * usual_spread(system) * system.column(
        "scale"
    )
    far[40:120, system.index("tank2_level")] = True
    # The twin here went through float32; a reading may sit on the border itself.
    assert (far != data.affected).mean() < 1e-3
    assert not twin.label.any()
    assert twin.faults == ()


def test_a_fault_follows_the_graph():
    data = plant()
    children: dict[int, set[int]] = {}
    for edge in data.graph:
        children.setdefault(edge.source, set()).add(edge.target)
    for fault in data.faults:
        seen, front = {fault.origin}, [fault.origin]
        while front:
            new = children.get(front.pop(), set()) - seen
            seen |= new
            front += new
        assert set(fault.affected) <= seen
        assert len(fault.affected) > 1
        first = {c: np.flatnonzero(data.affected[fault.start :, c])[0] for c in fault.affected}
        assert first[fault.origin] == 0
        assert all(first[c] > 0 for c in fault.affected if c != fault.origin)


def test_the_plant_has_correlated_seasonal_signals():
    data = plant()
    assert len(data.variables) >= 12
    flow = [data.variables.index(name) for name in ("demand_flow", "outlet2_flow", "pump2_power")]
    assert (np.corrcoef(data.train[:, flow], rowvar=False) > 0.9).all()
    day = data.train[:5760, flow[0]].reshape(4, 1440).mean(axis=0)
    assert day.std() > 0.6 * data.train[:, flow[0]].std()
    for position, name in enumerate(data.variables):
        assert data.train[:, position].min() > 0, name
    assert plant(lines=3, train_rows=10, test_rows=10).train.shape == (10, 51)
    assert plant(test_rows=500).faults[-1].kind == "leak"
    assert len(plant(test_rows=500).faults) == 1
    assert plant(faults=[]).label.any() is np.False_


def test_types_shows_every_kind_once():
    data = make("types")
    assert [fault.kind for fault in data.faults] == list(FAULT_KINDS)
    spike = data.faults[list(FAULT_KINDS).index("additive-outlier")]
    assert spike.end - spike.start == 1


def test_clear_faults_are_clear():
    data = make("clear-faults")
    center, spread = data.train.mean(axis=0), data.train.std(axis=0)
    for fault in data.faults:
        values = data.test[fault.start : fault.end, fault.origin]
        assert np.abs((values - center[fault.origin]) / spread[fault.origin]).max() > 3


def test_the_bivariate_preset_is_the_papers():
    data = make("bivariate")
    assert data.test.shape == (500, 2)
    assert np.flatnonzero(data.label).tolist() == list(range(200, 300))
    assert data.faults[0].affected == (0,)
    first, second = data.test.T
    assert 4 < first[200:300].mean() - first[:200].mean() < 6
    assert abs(second[200:300].mean() - second[:200].mean()) < 0.5
    assert abs(np.corrcoef(second[1:], second[:-1])[0, 1]) < 0.15


def test_sister_plants_differ_and_keep_their_place():
    three, one = list(fleet(3, seed=2)), make("fleet", seed=2, entity=2)
    assert digest(three[2]) == digest(one)
    assert len({digest(data) for data in three}) == 3
    assert three[0].variables == three[1].variables
    assert abs(three[0].train.mean(axis=0) - three[1].train.mean(axis=0)).max() > 1
    for entity in range(12):
        assert len(make("fleet", entity=entity).faults) == 2


def test_unknown_presets_and_entities_are_explained():
    with pytest.raises(DataError, match="did you mean 'fleet'"):
        make("flet")
    with pytest.raises(DataError, match="no entity 1"):
        make("plant", entity=1)
    with pytest.raises(DataError, match="no entity -1"):
        make("fleet", entity=-1)
    with pytest.raises(DataError, match="at least one entity"):
        next(fleet(0))


def test_a_healthy_simulation_has_one_world():
    run = Simulator(plant_system(), seed=0, spread=np.ones(19))
    healthy, actual = run.advance(3)
    assert np.shares_memory(healthy, actual)
    assert (run.origins(0, 3) == -1).all()
