from __future__ import annotations

import numpy as np
import pytest
import torch

from alora_ts.baselines.inputs import InputReader, Scaling
from alora_ts.baselines.memto import MEMTO, _hold_back
from alora_ts.baselines.memto_network import GatedMemory, MemtoNetwork
from alora_ts.baselines.windowed import Windows, plan_strided
from tests.baselines import naive_attention as naive
from tests.baselines.check_detector import waves
from tests.baselines.small import small


def network(*, train_gate: bool = False, persist: bool = True) -> MemtoNetwork:
    torch.manual_seed(0)
    return MemtoNetwork(
        3,
        window=12,
        width=8,
        heads=2,
        layers=1,
        items=4,
        train_gate=train_gate,
        persist=persist,
    )


def test_counts_the_published_parameters() -> None:
    assert MEMTO().published_parameter_count(38) == 5_902_924
    assert MEMTO().parameter_count(38) == 5_902_924 - 545_318


def test_memory_update_agrees_with_loops() -> None:
    torch.manual_seed(2)
    memory = GatedMemory(4, 6, train_gate=False, persist=True).double()
    queries = torch.randn(9, 6, dtype=torch.float64)
    before = memory.current.numpy().copy()
    gathered = (memory.current @ queries.T).softmax(1) @ queries
    gate = torch.sigmoid(memory.from_item(memory.current) + memory.from_queries(gathered))
    memory.update(queries)
    slow = naive.memory_update(before, queries.numpy(), gate.detach().numpy())
    np.testing.assert_allclose(memory.current, slow)


def test_memory_learns_in_training_only() -> None:
    made = network()
    window = torch.randn(2, 12, 3)
    before = made.memory.current.clone()
    made.eval()(window)
    assert torch.equal(made.memory.current, before)
    made.train()(window)
    assert not torch.equal(made.memory.current, before)
    assert made.memory.current.grad_fn is None


def test_memory_persists_or_restarts() -> None:
    window = torch.randn(2, 12, 3)
    for persist in (True, False):
        made = network(persist=persist)
        made(window)
        first = made.memory.current.clone()
        made(window)
        assert torch.equal(first, made.memory.current) is not persist


@pytest.mark.parametrize("train_gate", [False, True])
def test_gate_is_trained_only_on_demand(train_gate: bool) -> None:
    made = network(train_gate=train_gate)
    recall = made(torch.randn(2, 12, 3))
    np.testing.assert_allclose(recall.weights.detach().sum(-1), 1.0, rtol=1e-5)
    (recall.reconstruction.square().mean() + recall.entropy()).backward()
    gradients = [made.memory.from_item.weight.grad, made.memory.from_queries.weight.grad]
    assert all((gradient is not None) is train_gate for gradient in gradients)


def test_distance_is_to_the_item_with_the_largest_product() -> None:
    made = network()
    items = torch.eye(4, 8)
    items[1] *= 10
    made.memory.reset(items)
    query = torch.tensor([[[0.9, 0.2, 0, 0, 0, 0, 0, 0]]])
    # Item 0 is nearer, item 1 has the larger product.
    np.testing.assert_allclose(made.distance(query), [[0.81 + 9.8**2]], rtol=1e-6)


def test_validation_windows_share_no_rows_with_training() -> None:
    rows = InputReader(Scaling()).fit(waves(300))
    windows = Windows(rows, plan_strided(rows, 20, 7))
    kept, held = _hold_back(windows, np.random.default_rng(0))
    used = [set(), set()]
    for which, part in enumerate((kept, held)):
        for at in part._chosen:
            used[which] |= set(range(windows.plan.starts[at], windows.plan.ends[at] + 1))
    assert used[0]
    assert used[1]
    assert not used[0] & used[1]


def test_second_phase_starts_over_and_weights_sum_to_one() -> None:
    built: list[MemtoNetwork] = []

    class Watched(MEMTO):
        def _build(self, variables: int) -> MemtoNetwork:
            built.append(super()._build(variables))
            return built[-1]

    given = small("memto").get_params()
    detector = Watched(**given).fit(waves(200), progress=False)
    first, second = built
    assert second is detector.network_
    assert not torch.equal(first.decode.weight, second.decode.weight)
    x = waves(20, seed=3)
    window = torch.from_numpy(detector.reader_.read(x).values)[None]
    with torch.no_grad():
        recall = second(window)
        weight = (second.distance(recall.queries) / 0.1).softmax(-1)[0].double().numpy()
    assert weight.sum() == pytest.approx(1.0, rel=1e-5)
    errors = detector.score_variables(x)
    expected = np.log(weight) + np.log(errors.mean(1))
    np.testing.assert_allclose(detector.score(x), expected, rtol=1e-3, atol=1e-3)
