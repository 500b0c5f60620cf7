from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from alora_ts.bench import simulation
from alora_ts.bench.simulation import END, OUTPUT, START, VALUES, WINDOW
from alora_ts.bench.simulation_page import simulation_page
from alora_ts.cli.main import app
from alora_ts.errors import AloraError
from alora_ts.network import ALoRaT, contribution_weights
from tests.bench import naive_simulation


def _weights(network: ALoRaT) -> tuple[list[np.ndarray], list[np.ndarray]]:
    joint = [layer.query_key_value.weight.detach().double().numpy() for layer in network.blocks]
    return [one[:2].T for one in joint], [one[2:4].T for one in joint]


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("shift", [0.0, 10.0, 1e4])
def test_network_agrees_with_plain_loops(skip: bool, shift: float) -> None:
    network = simulation.fixed_network(skip=skip, window=12, seed=3)
    queries, keys = _weights(network)
    window = simulation.two_series(shift=shift, rng=np.random.default_rng(1))[195:207]
    found = simulation._follow(network, torch.from_numpy(window)[None])[0].double().numpy()
    values = [np.array(one) for one in VALUES]
    latent, _ = naive_simulation.follow(window.astype(float), queries, keys, values, skip=skip)
    np.testing.assert_allclose(found[:, :2], latent, rtol=1e-3, atol=1e-4 * (1 + shift))
    expected = latent @ np.array(OUTPUT)
    np.testing.assert_allclose(found[:, 2:], expected, rtol=1e-3, atol=1e-4 * (1 + shift))


@pytest.mark.parametrize(
    ("skip", "latent", "reconstruction"),
    [(False, (0.2, 0.7), (0.65, 0.25)), (True, (2.4, 1.4), (1.5, 2.3))],
)
def test_weights_are_those_of_the_paper(
    skip: bool, latent: tuple[float, float], reconstruction: tuple[float, float]
) -> None:
    found = contribution_weights(simulation.fixed_network(skip=skip, window=WINDOW))
    np.testing.assert_allclose(found.latent[0].numpy(), latent, rtol=1e-6)
    np.testing.assert_allclose(found.reconstruction[0].numpy(), reconstruction, rtol=1e-6)


@pytest.mark.parametrize("skip", [False, True])
def test_shift_that_fills_the_window_is_exact_when_attention_stays(skip: bool) -> None:
    network = simulation.fixed_network(skip=skip, window=WINDOW, seed=5)
    queries, keys = _weights(network)
    values = [np.array(one) for one in VALUES]
    healthy = np.random.default_rng(2).standard_normal((WINDOW, 2))
    before, matrices = naive_simulation.follow(healthy, queries, keys, values, skip=skip)
    after = naive_simulation.mix(healthy + np.array([7.0, 0.0]), matrices, values, skip=skip)
    weights = contribution_weights(network).latent[0].double().numpy()
    np.testing.assert_allclose(after - before, np.tile(7 * weights, (WINDOW, 1)), rtol=1e-6)


def test_learning_changes_queries_and_keys_only() -> None:
    network = simulation.fixed_network(skip=True, window=WINDOW)
    before = {name: one.clone() for name, one in network.state_dict().items()}
    rng = np.random.default_rng(0)
    simulation._learn_attention([network], torch.randn(1, 40, WINDOW, 2), [rng])
    changed = {
        name for name, one in network.state_dict().items() if not torch.equal(one, before[name])
    }
    assert changed == {"layers.0.query_key_value.weight", "layers.1.query_key_value.weight"}
    for layer, value in zip(network.blocks, VALUES, strict=True):
        torch.testing.assert_close(layer.query_key_value.weight[4:].T, torch.tensor(value))


def test_series_is_shifted_in_its_rows_only() -> None:
    plain = simulation.two_series(shift=0.0, rng=np.random.default_rng(4))
    moved = simulation.two_series(shift=5.0, rng=np.random.default_rng(4))
    expected = np.zeros((500, 2))
    expected[START:END, 0] = 5.0
    np.testing.assert_allclose(moved - plain, expected, atol=1e-5)


@pytest.fixture(scope="module")
def found() -> simulation.Simulation:
    return simulation.run_simulation(runs=3, whole=False, progress=False)


def test_prediction_gets_better_with_larger_shifts(found: simulation.Simulation) -> None:
    for skip in (False, True):
        off = [abs(case.ratio.mean(0) - 1).max() for case in found.cases if case.skip == skip]
        assert off[-1] < off[0]
        assert off[-1] < 0.1


def test_a_run_is_the_same_whatever_runs_beside_it(found: simulation.Simulation) -> None:
    again = simulation.run_simulation(runs=2, whole=False, progress=False)
    for one, other in zip(found.cases, again.cases, strict=True):
        np.testing.assert_allclose(one.moved[:2], other.moved, rtol=1e-4)


def test_networks_learn_together_as_they_do_alone() -> None:
    """The slow twin: one network at a time, by its own optimiser."""
    windows = torch.randn(3, 30, WINDOW, 2, generator=torch.manual_seed(0))
    together = [simulation.fixed_network(skip=True, window=WINDOW, seed=at) for at in range(3)]
    rngs = [np.random.default_rng(at) for at in range(3)]
    simulation._learn_attention(together, windows, rngs)
    for at, other in enumerate(together):
        alone = simulation.fixed_network(skip=True, window=WINDOW, seed=at)
        rng = np.random.default_rng(at)
        weights = [layer.query_key_value.weight for layer in alone.blocks]
        adam = torch.optim.Adam(weights, lr=simulation._LEARNING_RATE)
        for _ in range(simulation._STEPS):
            batch = windows[at][torch.from_numpy(rng.integers(0, 30, 30))]
            adam.zero_grad()
            (alone(batch).reconstruction - batch).square().mean().backward()
            for weight in weights:
                weight.grad[4:] = 0.0
            adam.step()
        for one, two in zip(alone.blocks, other.blocks, strict=True):
            torch.testing.assert_close(
                one.query_key_value.weight, two.query_key_value.weight, rtol=1e-2, atol=1e-3
            )


def test_whole_series_as_one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "_STEPS", 2)
    steps = []
    whole = simulation.run_simulation(runs=2, progress=steps.append)
    cases = [case for case in whole.cases if case.reading == "whole"]
    assert [case.skip for case in cases] == [False, True]
    assert all(np.isfinite(case.moved).all() for case in cases)
    assert {step.task for step in steps} >= {"whole, with skip", "windows, without skip"}
    page = simulation_page(whole, command="again", picture="p.png")
    assert "All 500 rows as one window" in page
    assert "](p.png)" in page


def test_page_without_the_long_part(found: simulation.Simulation) -> None:
    page = simulation_page(found, command="again", picture="p.png")
    assert "| 10 | without | z₁ (E₁₁) | 0.20 |" in page
    assert "All 500 rows" not in page


def test_one_run_is_refused() -> None:
    with pytest.raises(AloraError, match="at least 2"):
        simulation.run_simulation(runs=1)


def test_command_writes_page_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "_STEPS", 2)
    page, picture = tmp_path / "docs" / "page.md", tmp_path / "docs" / "images" / "one.png"
    picture.parent.mkdir(parents=True)
    asked = ["bench", "simulate", "--runs", "2", "--out", str(page), "--plot", str(picture)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "](images/one.png)" in page.read_text()
    assert picture.read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [("--plot", "one.jpg", "no format 'jpg'"), ("--out", "nowhere/page.md", "does not exist")],
)
def test_command_refuses_before_working(tmp_path: Path, option: str, name: str, said: str) -> None:
    done = CliRunner().invoke(app, ["bench", "simulate", option, str(tmp_path / name)])
    assert isinstance(done.exception, AloraError)
    assert said in str(done.exception)
