from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.datasets.synthetic import (
    FAULT_KINDS,
    Disturbance,
    Edge,
    Node,
    System,
    plant_system,
    random_system,
    simulate,
)
from alora_ts.datasets.synthetic_simulate import Simulator, usual_spread
from alora_ts.errors import DataError
from tests.datasets.naive_synthetic import naive_readings

ONES = np.ones(4)


def small(seed: int = 0, variables: int = 4) -> System:
    return random_system(variables, seed=seed, period=24)


@pytest.mark.parametrize("kind", sorted(FAULT_KINDS))
def test_each_kind_agrees_with_the_naive_simulation(kind):
    system = small(seed=2)
    faults = [Disturbance(kind, 0, 3, 25, size=4.0), Disturbance(kind, 2, 30, 31, size=-3.0)]
    run = Simulator(system, seed=9, spread=ONES, disturbances=faults, fault_row=20)
    healthy, actual = run.advance(60)
    naive = {"rows": 60, "seed": 9, "spread": ONES}
    np.testing.assert_allclose(healthy, naive_readings(system, **naive), rtol=1e-9)
    disturbed = naive_readings(system, faults=faults, fault_row=20, **naive)
    np.testing.assert_allclose(actual, disturbed, rtol=1e-9)
    np.testing.assert_array_equal(actual[:23], healthy[:23])
    assert (actual[23:] != healthy[23:]).any()


def test_the_plant_agrees_with_the_naive_simulation():
    plant = plant_system()
    short = System(plant.nodes, plant.edges, period=60)
    faults = [Disturbance("leak", "tank1_level", 10, 40, size=50.0)]  # drives the valve to a stop
    spread = np.ones(len(plant.nodes))
    _, actual = Simulator(short, seed=1, spread=spread, disturbances=faults).advance(80)
    naive = naive_readings(short, rows=80, seed=1, spread=spread, faults=faults)
    np.testing.assert_allclose(actual, naive, rtol=1e-9)
    valve = plant.nodes[plant.index("valve1_position")]
    stop = valve.offset + valve.scale * valve.high
    assert abs(actual[:, plant.index("valve1_position")].max() - stop) < 2.0


@settings(deadline=None, max_examples=30)
@given(cuts=st.lists(st.integers(0, 90), max_size=6), seed=st.integers(0, 5))
def test_rows_do_not_depend_on_the_chunks(cuts, seed):
    system = small(seed)
    faults = [Disturbance("stuck-sensor", 1, 8, 30), Disturbance("dropout", 0, 50, 70)]
    options = {"seed": seed, "spread": ONES, "disturbances": faults, "fault_row": 10}
    whole = Simulator(system, **options).advance(90)
    run = Simulator(system, **options)
    borders = [0, *sorted(cuts), 90]
    parts = [run.advance(b - a) for a, b in itertools.pairwise(borders)]
    for world in (0, 1):
        np.testing.assert_array_equal(whole[world], np.concatenate([p[world] for p in parts]))


def test_one_signal_without_edges():
    lone = System((Node("a", memory=0.0, noise=0.0, sensor_noise=0.0, offset=3.0),), period=2)
    healthy, actual = Simulator(lone, seed=0, spread=np.ones(1)).advance(5)
    np.testing.assert_array_equal(healthy, np.full((5, 1), 3.0))
    assert actual is not healthy
    np.testing.assert_array_equal(actual, healthy)
    assert usual_spread(lone)[0] > 0


def test_a_misled_controller_acts_on_the_reading_and_the_process_does_not():
    quiet = {"noise": 0.0, "sensor_noise": 0.0, "memory": 0.0}
    nodes = tuple(Node(name, **quiet) for name in ("sensor", "controller", "neighbour"))
    system = System(nodes, (Edge(0, 1, 1.0, lag=2, reads=True), Edge(0, 2, 1.0, lag=2)), period=4)
    lie = [Disturbance("level-shift", "sensor", 5, 7, size=3.0)]
    _, actual = Simulator(system, seed=0, spread=np.ones(3), disturbances=lie).advance(12)
    assert np.flatnonzero(actual[:, 0]).tolist() == [5, 6]
    assert np.flatnonzero(actual[:, 1]).tolist() == [7, 8]
    assert not actual[:, 2].any()


def test_the_random_systems_rest():
    for seed in range(20):
        for variables in (1, 2, 7, 40):
            system = random_system(variables, seed=seed)
            assert system.spectral_radius < 1
            assert len(system.nodes) == variables


@pytest.mark.parametrize(
    ("make_it", "said"),
    [
        (lambda: System(()), "at least one signal"),
        (lambda: System((Node("a"), Node("a"))), "appear twice"),
        (lambda: System((Node("a"),), (Edge(0, 1, 1.0),)), "edge 0"),
        (lambda: System((Node("a"),), (Edge(0, 0, 0.1, lag=0),)), "lag 0"),
        (lambda: System((Node("a", memory=1.0),)), "never comes to rest"),
        (lambda: System((Node("a"),), period=1), "period"),
        (lambda: small().index("signal_0"), "did you mean 'signal_0"),
        (lambda: small().index(4), "positions go to 3"),
        (lambda: plant_system(lines=0), "at least one line"),
        (lambda: random_system(0), "at least 1 signal"),
        (lambda: simulate(small(), train_rows=0, test_rows=1), "at least 1"),
        (lambda: _run(Disturbance("leek", 0, 1, 2)), "did you mean 'leak'"),
        (lambda: _run(Disturbance("leak", 0, 2, 2)), "start must be"),
        (lambda: _run(Disturbance("leak", 0, 5, 11)), "after the 10 test rows"),
        (lambda: _run(Disturbance("leak", 0, 1, 4), Disturbance("drift", 1, 3, 6)), "row 3"),
    ],
)
def test_what_cannot_be_simulated_is_explained(make_it, said):
    with pytest.raises(DataError, match=said):
        make_it()


def _run(*faults):
    return simulate(small(), faults, train_rows=10, test_rows=10)
