from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from alora_ts.baselines.inputs import InputReader, Scaling
from alora_ts.baselines.torch_detector import seeded
from alora_ts.baselines.training import AdamStep, BestWeights, mean_loss, train
from alora_ts.baselines.windowed import Windows, plan_strided
from alora_ts.errors import TrainingError
from alora_ts.progress import Step


def windows(count: int) -> Windows:
    rows = InputReader(Scaling(bounds=(0.0, count - 1.0))).fit(np.arange(float(count)))
    return Windows(rows, plan_strided(rows, 1))


def test_every_window_is_shown_once_an_epoch() -> None:
    seen: list[list[int]] = []
    steps: list[Step] = []

    def step(batch: Tensor) -> dict[str, float]:
        seen.append(batch[:, 0, 0].round().int().tolist())
        return {"loss": 0.0}

    def two_epochs(epoch: int) -> bool:
        return epoch == 2

    rng = np.random.default_rng(0)
    done = train(
        step,
        windows(7),
        epochs=5,
        batch_size=3,
        rng=rng,
        report=steps.append,
        after_epoch=two_epochs,
    )
    assert done == 2
    assert [len(batch) for batch in seen] == [3, 3, 1] * 2
    shown = [sorted(itertools.chain(*part)) for part in (seen[:3], seen[3:])]
    assert shown == [list(range(7))] * 2
    assert seen[:3] != seen[3:]
    assert (steps[-1].done, steps[-1].total) == (15, 15)


def test_training_stops_at_a_loss_that_is_no_number() -> None:
    weight = nn.Parameter(torch.tensor(1.0))
    step = AdamStep([weight], lambda _: weight * torch.nan, rate=0.1)
    with pytest.raises(TrainingError, match="no longer finite"):
        step(torch.zeros(1))
    assert weight.item() == 1.0


def test_gradients_are_clipped_tensor_by_tensor() -> None:
    weights = [nn.Parameter(torch.zeros(size)) for size in (2, 2, 1)]

    def loss(batch: Tensor) -> Tensor:
        return 100.0 * weights[0].sum() + 1e-3 * weights[1].sum() + batch.sum()

    AdamStep(weights, loss, rate=0.0, clip=1.0)(torch.zeros(1))
    assert weights[0].grad is not None
    assert weights[1].grad is not None
    assert weights[0].grad.norm().item() == pytest.approx(1.0, rel=1e-3)
    assert weights[1].grad.norm().item() == pytest.approx(1e-3 * 2**0.5)


def test_rate_can_change() -> None:
    weight = nn.Parameter(torch.tensor(1.0))
    step = AdamStep([weight], lambda batch: weight.square() + batch.sum(), rate=0.1)
    step.set_rate(0.0)
    step(torch.zeros(1))
    assert weight.item() == 1.0


def test_best_weights_need_all_judgements_to_improve() -> None:
    network = nn.Linear(1, 1)
    judgements = iter([(2.0, 2.0), (1.0, 3.0), (1.5, 1.5), (1.0, 2.0)])
    best = BestWeights(network, lambda: next(judgements), patience=3)
    stops = []
    for epoch in range(1, 5):
        network.weight.data.fill_(epoch)
        stops.append(best(epoch))
    assert stops == [False] * 4
    assert best.epoch == 3
    best.restore()
    assert network.weight.item() == 3.0


def test_mean_loss_weighs_windows_and_keeps_the_mode() -> None:
    network = nn.Dropout(0.5)
    value = mean_loss(
        network.train(), lambda batch: network(batch).mean(), windows(7), batch_size=3
    )
    assert value == pytest.approx(3.0)
    assert network.training


def test_seeding_leaves_the_callers_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with seeded(1, grad=False):
        torch.rand(3)
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    torch.testing.assert_close(torch.rand(2), expected)
