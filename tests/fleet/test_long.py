"""One long series shared between processes: the same gradient, the same scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from alora_ts import ALoRa, load
from alora_ts.errors import AloraError, NotFittedError
from alora_ts.fleet import LocalEngine, diagnose_long, fit_long
from alora_ts.fleet.processes import begin_method
from alora_ts.learning.descent import descend
from alora_ts.network import ALoRaT
from tests.fleet.machines import machine, quick
from tests.fleet.naive_engine import OneByOne
from tests.fleet.shared_gradient import BATCHES, gradients_of, network_and_options


def _model(**changes: object) -> ALoRa:
    return (
        quick().set_params(epoch_windows=640, **changes).fit(machine(0, rows=900), progress=False)
    )


@pytest.mark.parametrize("parts", [1, 3, 7, None])
@pytest.mark.parametrize("changes", [{}, {"localization": "window", "scoring": "paper"}])
def test_parts_give_the_scores_of_one_pass(parts: int | None, changes: dict[str, object]) -> None:
    model = _model(**changes)
    rows = machine(1, rows=1500, fault=700)
    # Gaps: segments longer and shorter than a window, one across a border of parts.
    kept = np.r_[0:500, 503:505, 600:1100, 1190:1500]
    rows = rows[kept.tolist()]
    found = diagnose_long(model, rows, parts=parts, engine=OneByOne(), progress=False)
    expected = model.diagnose(rows, progress=False)
    assert len(expected.gaps) > 1
    for name in ("score", "raw", "rank", "error", "localization", "expected", "warm_up"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert found.incidents == expected.incidents


@pytest.mark.slow
def test_processes_score_parts_through_a_shared_folder(tmp_path: Path) -> None:
    model, rows = _model(), machine(1, rows=1500, fault=700)
    seen: list[int] = []
    found = diagnose_long(
        model,
        rows,
        parts=3,
        scratch=tmp_path,
        engine=LocalEngine(workers=2),
        progress=lambda step: seen.append(step.done),
    )
    np.testing.assert_array_equal(found.score, model.diagnose(rows, progress=False).score)
    assert seen == sorted(seen)
    assert not list(tmp_path.iterdir())


def test_a_part_that_fails_is_an_error(tmp_path: Path) -> None:
    model = _model()
    with pytest.raises(NotFittedError):
        diagnose_long(quick(), machine(0))

    class Failing(OneByOne):
        def map(self, _work, tasks, *, memory):  # type: ignore[no-untyped-def]
            return super().map(lambda _: 1 / 0, tasks, memory=memory)

    with pytest.raises(AloraError, match="ZeroDivisionError"):
        diagnose_long(model, machine(0), engine=Failing(), scratch=tmp_path, progress=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_shared_batch_has_the_gradient_of_the_whole(tmp_path: Path) -> None:
    from torch.multiprocessing.spawn import start_processes

    processes = 2
    start_processes(  # type: ignore[no-untyped-call]
        gradients_of, (processes, str(tmp_path)), nprocs=processes, start_method=begin_method()
    )
    network, options = network_and_options()
    for number, batch in enumerate(BATCHES):
        alone = _gradients(network, batch, options)
        for rank in range(processes):
            shared = np.load(tmp_path / f"{number}-{rank}.npz")
            assert sorted(shared) == sorted(alone)
            for name, expected in alone.items():
                np.testing.assert_allclose(shared[name], expected, rtol=1e-4, atol=1e-6)


def _gradients(network: ALoRaT, windows: torch.Tensor, options: object) -> dict[str, object]:
    network.zero_grad(set_to_none=True)
    loss = descend(network, windows, options)  # type: ignore[arg-type]
    found: dict[str, object] = {"loss": loss.total.item()}
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        found[name] = parameter.grad.numpy().copy()
    return found


@pytest.mark.slow
def test_a_shared_fit_is_the_fit_of_one_process(tmp_path: Path) -> None:
    rows = machine(3, rows=600)
    rows.write_parquet(tmp_path / "long.parquet")
    # 31 windows cannot be halved: the parts differ in size.
    estimator = quick().set_params(training__batch_size=31, epochs=2)
    path = fit_long(estimator, tmp_path / "long.parquet", tmp_path / "m.alora", progress=False)
    alone = estimator.clone().fit(rows, progress=False)
    shared = load(path)
    assert shared.model_.training.windows == alone.model_.training.windows
    np.testing.assert_allclose(
        shared.model_.training.validation, alone.model_.training.validation, rtol=1e-4
    )
    ours, expected = (each.diagnose(rows, progress=False) for each in (shared, alone))
    np.testing.assert_allclose(ours.error, expected.error, rtol=1e-3, atol=1e-4)
    # Rounding may put a singular value on the other side of the level; a rank is a whole number.
    assert abs(ours.rank - expected.rank).max() <= 1
    assert np.isclose(ours.score, expected.score, rtol=1e-3).mean() > 0.98


def test_what_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0]}).write_csv(tmp_path / "a.csv")
    with pytest.raises(AloraError, match="penalty='authors'"):
        fit_long(
            quick().set_params(training__penalty="authors"), tmp_path / "a.csv", tmp_path / "m"
        )
    with pytest.raises(AloraError, match="processes=0"):
        fit_long(quick(), tmp_path / "a.csv", tmp_path / "m", processes=0)
