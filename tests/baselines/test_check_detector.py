"""Every registered method honours the contract."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from alora_ts import baselines
from alora_ts.baselines import Detector
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.data import WindowPlan
from alora_ts.errors import AloraError, DataError
from alora_ts.progress import Step
from tests.baselines import check_detector as check
from tests.baselines.small import small

TRAIN = check.waves(360)
TEST = check.waves(60, seed=1)
every_method = pytest.mark.parametrize("name", baselines.names())


@cache
def fitted(name: str) -> Detector:
    return small(name).fit(TRAIN, progress=False)


@every_method
def test_constructor_only_stores(name: str) -> None:
    check.check_stores_only(small(name))
    check.check_unfitted(small(name))


@every_method
def test_scores_every_row(name: str) -> None:
    check.check_shapes(fitted(name), TEST)


@every_method
def test_scores_odd_rows(name: str) -> None:
    check.check_odd_rows(fitted(name), TEST)


@every_method
def test_refuses_unusable_rows(name: str) -> None:
    check.check_refusals(fitted(name), TEST)


@every_method
def test_depends_on_the_data_alone(name: str) -> None:
    check.check_same_data(fitted(name), TEST)


@every_method
def test_keeps_to_borders(name: str) -> None:
    check.check_borders(fitted(name), TEST)


@every_method
def test_same_seed_same_scores(name: str) -> None:
    check.check_refit(fitted(name), TRAIN, TEST)


@every_method
def test_fits_odd_training_rows(name: str) -> None:
    odd = TRAIN[:200].copy()
    odd[:, 2] = 5.0
    odd[20:30, 0] = np.nan
    segments = np.repeat([0, 1, 2], [120, 10, 70])
    detector = small(name).fit(odd, segments=segments, progress=False)
    check.check_shapes(detector, TEST)
    single = small(name).fit(TRAIN[:200, :1], progress=False)
    check.check_shapes(single, TEST[:, :1])


@every_method
def test_refuses_unusable_training_rows(name: str) -> None:
    infinite = TRAIN.copy()
    infinite[2, 0] = np.inf
    with pytest.raises(DataError, match="row 2"):
        small(name).fit(infinite)
    with pytest.raises(DataError, match="no column holds any value"):
        small(name).fit(np.full_like(TRAIN, np.nan))


@every_method
def test_reports_progress(name: str) -> None:
    steps: list[Step] = []
    small(name).fit(TRAIN[:200], progress=steps.append)
    if not name.startswith(("random", "always", "norm")):
        assert steps
        assert steps[-1].done == steps[-1].total


@every_method
def test_never_unrolls_all_windows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gathered = [0]
    gather = WindowPlan.gather

    def watched(
        plan: WindowPlan, values: NDArray[Any], chosen: slice | NDArray[np.intp]
    ) -> NDArray[Any]:
        windows = gather(plan, values, chosen)
        gathered.append(len(windows))
        return windows

    monkeypatch.setattr(WindowPlan, "gather", watched)
    check.scorers(fitted(name))[0](check.waves(400))
    assert max(gathered) <= 256


@every_method
def test_presets_exist_and_are_valid(name: str) -> None:
    kind = baselines.find(name)
    assert {"paper", "cpu"} <= set(kind.presets) <= {"paper", "official", "cpu"}
    for preset in kind.presets:
        made = baselines.get(name, preset)
        assert made.preset == preset
        assert made.changes() == {}
        for dataset in kind.datasets:
            baselines.get(name, preset, dataset=dataset)
    with pytest.raises(AloraError, match="has no preset"):
        baselines.get(name, "papr")


@every_method
def test_saves_and_loads(name: str, tmp_path: Path) -> None:
    detector = fitted(name)
    if not isinstance(detector, TorchDetector):
        pytest.skip("not a torch method")
    first, second = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    detector.save(first)
    loaded = baselines.load(first)
    loaded.save(second)
    assert first.read_bytes() == second.read_bytes()
    assert loaded.get_params() == detector.get_params()
    for mine, its in zip(check.scorers(detector), check.scorers(loaded), strict=True):
        np.testing.assert_array_equal(mine(TEST), its(TEST))
