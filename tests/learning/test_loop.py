from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from alora_ts.errors import AloraError, TrainingError
from alora_ts.learning import EpochEnd, Training, TrainingSummary, train
from alora_ts.learning.adam import Adam
from alora_ts.learning.loop import _falling
from alora_ts.learning.loss import judge
from alora_ts.learning.sampling import WindowSource
from alora_ts.network import ALoRaT, Architecture
from alora_ts.progress import Step

T = 6


def rows(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = np.cumsum(rng.normal(size=count)) * 0.2
    return (level[:, None] * [1, -1, 2] + 0.1 * rng.normal(size=(count, 3))).astype(np.float32)


def network() -> ALoRaT:
    torch.manual_seed(0)
    pairs = torch.combinations(torch.arange(3)).repeat(6, 1)
    return ALoRaT(pairs, variables=3, window=T, architecture=Architecture(heads=2, layers=2))


def run(
    net: ALoRaT,
    values: np.ndarray,
    *,
    validation: np.ndarray | None = None,
    steps: list[Step] | None = None,
    callbacks: tuple = (),
    epochs: int = 3,
    **options: object,
) -> TrainingSummary:
    def source(table: np.ndarray) -> WindowSource:
        return WindowSource(table, np.arange(T - 1, len(table)), window=T)

    return train(
        net,
        source(values),
        None if validation is None else source(validation),
        options=Training(**{"batch_size": 16, **options}),  # type: ignore[arg-type]
        epochs=epochs,
        epoch_windows=64,
        rng=np.random.default_rng(0),
        variables=["a", "b", "c"],
        report=(lambda _: None) if steps is None else steps.append,
        callbacks=callbacks,
    )


def same_weights(one: ALoRaT, other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(tensor, other[name]) for name, tensor in one.state_dict().items())


def test_training_lowers_the_loss_and_says_what_it_did() -> None:
    net, steps = network(), list[Step]()
    summary = run(
        net, rows(300), validation=rows(80, 1), steps=steps, epochs=6, low_rank_weight=0.1
    )
    assert summary.error[-1] < summary.error[0]
    assert summary.windows == 6 * 64
    assert summary.stopped == "finished"
    assert len(summary.validation) == 6
    assert steps[-1].done == steps[-1].total == 24
    assert set(steps[0].facts) == {"error", "low-rank"}
    assert not net.training


def test_the_penalty_lowers_the_rank() -> None:
    free, low = (
        run(network(), rows(300), low_rank_weight=weight, epochs=6).penalty[-1]
        for weight in (0.0, 10.0)
    )
    assert low < free


def test_equal_seeds_give_equal_weights() -> None:
    first, second = network(), network()
    assert run(first, rows(200)) == run(second, rows(200))
    assert same_weights(first, second.state_dict())


def test_the_best_weights_are_kept_and_training_stops_early() -> None:
    seen: list[dict[str, torch.Tensor]] = []

    def remember(end: EpochEnd) -> None:
        seen.append(copy.deepcopy(end.network.state_dict()))

    net = network()
    # A rate this high soon makes things worse, so an early epoch is the best.
    summary = run(
        net,
        rows(300),
        validation=rows(80, 1),
        epochs=30,
        learning_rate=0.3,
        patience=2,
        callbacks=(remember,),
    )
    assert summary.stopped == "early"
    assert len(summary.validation) == summary.best_epoch + 2
    assert summary.validation[summary.best_epoch - 1] == min(summary.validation)
    assert same_weights(net, seen[summary.best_epoch - 1])


def test_without_validation_the_last_weights_are_kept() -> None:
    summary = run(network(), rows(200))
    assert summary.best_epoch == 3
    assert all(np.isnan(summary.validation))


def test_a_loss_that_is_not_finite_names_the_variable() -> None:
    values = rows(100)
    values[:, 1] = 1e30
    with pytest.raises(TrainingError, match="variable 'b'"):
        run(network(), values)


def test_fewer_windows_than_a_batch() -> None:
    summary = run(network(), rows(T + 2), batch_size=64)
    assert summary.windows == 3 * 3


def test_an_interrupt_keeps_the_best_so_far() -> None:
    def interrupt(end: EpochEnd) -> None:
        if end.epoch == 2:
            raise KeyboardInterrupt

    summary = run(network(), rows(200), validation=rows(60, 1), callbacks=(interrupt,))
    assert summary.stopped == "interrupted"
    assert len(summary.error) == 2


def test_the_rate_rises_then_falls_to_zero() -> None:
    factors = np.array([_falling(step, 200) for step in range(201)])
    top = int(factors.argmax())
    assert top < 40
    assert (np.diff(factors[: top + 1]) > 0).all()
    assert (np.diff(factors[top:]) < 0).all()
    assert factors[-1] == pytest.approx(0, abs=1e-12)
    assert factors.max() <= 1
    assert _falling(0, 1) == 1


def test_a_constant_rate_neither_rises_nor_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    step = Adam.step

    def spy(self: Adam, *arguments: object) -> object:
        rates.append(self.param_groups[0]["lr"])
        return step(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Adam, "step", spy)
    run(network(), rows(200), learning_rate=2e-3, rate="constant")
    assert len(rates) == 12
    assert set(rates) == {2e-3}


def test_a_choice_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AloraError, match="unknown rate='constnt'; did you mean 'constant'"):
        Training(rate="constnt")  # type: ignore[arg-type]


def test_the_sum_of_eq_8_is_the_mean_with_a_smaller_weight() -> None:
    """Eq. 8 by its letters, divided by T·d, which Adam does not notice."""
    net, windows = network().eval(), torch.randn(4, T, 3)
    encoding = net(windows)
    literal = judge(encoding, windows, Training(error="sum", low_rank_weight=10.0))
    squared = (encoding.reconstruction - windows).square().sum((1, 2)).mean()
    by_hand = squared + 10.0 * literal.penalty
    torch.testing.assert_close(literal.total * (T * 3), by_hand)
    same = judge(encoding, windows, Training(low_rank_weight=10.0 / (T * 3)))
    torch.testing.assert_close(literal.total, same.total)


@pytest.mark.parametrize("placement", ["mean", "heads"])
@pytest.mark.parametrize("penalty", ["paper", "authors"])
def test_the_objective_by_hand(placement: str, penalty: str) -> None:
    net = network().eval()
    windows = torch.randn(4, T, 3)
    options = Training(placement=placement, penalty=penalty, low_rank_weight=0.7)  # type: ignore[arg-type]
    loss = judge(net(windows, per_head=options.per_head), windows, options)
    encoding = net(windows, per_head=True)
    squares = (encoding.reconstruction - windows).square()
    torch.testing.assert_close(loss.error, squares.mean())
    torch.testing.assert_close(loss.squares, squares.mean((0, 1)))

    def geman(matrices: torch.Tensor, kept: int) -> torch.Tensor:
        sigma = torch.linalg.svdvals(matrices)[..., kept:]
        return (sigma / (sigma + 1)).sum(-1)

    if penalty == "authors":
        expected = sum(geman(s, 0)[1:].sum() for s in encoding.attention) / 2
    else:
        chosen = encoding.heads if placement == "heads" else encoding.attention
        expected = sum(geman(s, 1).mean() for s in chosen or ())
    torch.testing.assert_close(loss.penalty, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(loss.total, loss.error + 0.7 * loss.penalty)
