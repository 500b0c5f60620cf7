from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import safetensors.torch
import torch

from alora_ts import baselines
from alora_ts.baselines.honest import Norm
from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.parameters import check_parameters
from alora_ts.baselines.registry import name_of
from alora_ts.errors import AloraError, ArtifactError, NotFittedError
from alora_ts.progress import Report
from tests.baselines.check_detector import waves
from tests.baselines.small import small


@dataclass(kw_only=True, eq=False)
class Picky(Norm):
    mode: Literal["fast", "slow"] = "fast"
    limit: int | None = None
    share: float = 0.5
    careful: bool = True


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "fsat"}, "mode='fsat' is unknown; did you mean 'fast'"),
        ({"limit": 0}, "limit=0 must be a whole number of at least 1"),
        ({"limit": 1.5}, "limit=1.5 must be a whole number"),
        ({"limit": True}, "limit=True must be a whole number"),
        ({"share": float("nan")}, "share=nan must be a finite number of at least 0"),
        ({"share": -0.1}, "share=-0.1 must be a finite number"),
        ({"share": "x"}, "share='x' must be a finite number"),
        ({"careful": 1}, "careful=1 must be True or False"),
    ],
)
def test_parameters_are_checked_by_their_annotations(given: dict, message: str) -> None:
    with pytest.raises(AloraError, match=message):
        Picky(**given).fit(waves(5))


def test_good_parameters_pass() -> None:
    check_parameters(Picky(limit=3, share=1, mode="slow", careful=False))
    check_parameters(Picky(limit=None))


def test_names_lead_to_classes_and_back() -> None:
    assert len(set(baselines.names())) == len(baselines.names())
    for name in baselines.names():
        assert name_of(baselines.find(name)) == name


def test_unknown_names_are_suggested() -> None:
    with pytest.raises(AloraError, match="did you mean 'anomaly-transformer'"):
        baselines.get("anomaly_transformer")
    with pytest.raises(AloraError, match="KNN has no parameter 'k'"):
        baselines.get("knn", k=3)


def test_overrides_come_last_and_are_shown() -> None:
    made = baselines.get("npsr", "cpu", dataset="SMD", epochs=3, seed=9)
    shown = made.changes()
    assert shown.pop("epochs") == 3
    assert shown == {"downsample": 2, "point_window": 50, "sequence_window": 50, "gap": 6}
    assert baselines.get("npsr", dataset="nowhere").changes() == {}


def test_scikit_learn_can_clone_and_search() -> None:
    from sklearn.base import clone

    given = baselines.get("knn", neighbours=3)
    assert clone(given).get_params() == given.get_params()


def test_scores_that_are_no_numbers_are_refused() -> None:
    class Broken(Norm):
        def _score(self, rows: Rows, report: Report) -> np.ndarray:
            scores = super()._score(rows, report)
            scores[2] = np.nan
            return scores

    with pytest.raises(AloraError, match="Broken cannot score row 2"):
        Broken().fit(waves(5)).score(waves(5))


def test_equal_fits_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        detector = small("npsr").fit(waves(200), progress=False)
        detector.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_artifacts_that_cannot_be_read_are_explained(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        small("npsr").save(tmp_path / "unfitted")
    with pytest.raises(ArtifactError, match="no such file"):
        baselines.load(tmp_path / "absent")
    (tmp_path / "text").write_text("not a model")
    with pytest.raises(ArtifactError, match="not a readable model file"):
        baselines.load(tmp_path / "text")
    foreign = tmp_path / "foreign.safetensors"
    safetensors.torch.save_file({"w": torch.zeros(1)}, foreign)
    with pytest.raises(ArtifactError, match="not of a baseline"):
        baselines.load(foreign)
    whole = tmp_path / "whole.safetensors"
    small("npsr").fit(waves(200), progress=False).save(whole)
    newer = whole.read_bytes().replace(b'\\"format\\": 1', b'\\"format\\": 9')
    (tmp_path / "newer").write_bytes(newer)
    with pytest.raises(ArtifactError, match="upgrade alora-ts"):
        baselines.load(tmp_path / "newer")
    other = whole.read_bytes().replace(b'\\"latent\\": 4', b'\\"latent\\": 5')
    (tmp_path / "other").write_bytes(other)
    with pytest.raises(ArtifactError, match="do not fit the network"):
        baselines.load(tmp_path / "other")
    (tmp_path / "cut").write_bytes(whole.read_bytes()[:500])
    with pytest.raises(ArtifactError, match="not a readable model file"):
        baselines.load(tmp_path / "cut")
