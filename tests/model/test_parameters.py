"""One home for every choice: groups, old names, saved models of release 0.1."""

from __future__ import annotations

import inspect
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from typer.main import get_command

from alora_ts import (
    ALoRa,
    Architecture,
    CalibrationOptions,
    PreparationOptions,
    Training,
    load,
)
from alora_ts.baselines.calibrated import Calibrated
from alora_ts.bench.contestant import alora_preset
from alora_ts.cli.main import app
from alora_ts.errors import AloraError
from alora_ts.scoring import AlarmOptions

SAVED = Path(__file__).parent / "saved"
GROUPED = ALoRa(
    window=8, architecture=Architecture(heads=4), preparation=PreparationOptions(resample=60)
)


def test_the_parameter_list_stays_readable() -> None:
    assert len(ALoRa().get_params(deep=False)) <= 25


def test_groups_are_shown_copied_and_changed_by_field() -> None:
    assert repr(ALoRa()) == "ALoRa()"
    assert repr(GROUPED) == (
        "ALoRa(window=8, architecture=Architecture(heads=4), "
        "preparation=PreparationOptions(resample=60))"
    )
    for twin in (GROUPED.clone(), clone(GROUPED), ALoRa.from_params(GROUPED.plain_params())):
        assert twin is not GROUPED
        assert twin.get_params() == GROUPED.get_params()
    twin = GROUPED.clone().set_params(architecture__layers=2, training__patience=1, window=9)
    assert twin.architecture == Architecture(layers=2, heads=4)
    assert (twin.training, twin.window) == (Training(patience=1), 9)
    assert GROUPED.architecture == Architecture(heads=4)
    whole = GROUPED.clone().set_params(architecture__heads=1, architecture=Architecture(layers=1))
    assert whole.architecture == Architecture(layers=1, heads=1)
    # Two choices that exclude each other may be swapped in one call.
    GROUPED.clone().set_params(preparation__resample=None, preparation__downsample=3)


def test_deep_parameters_go_back_in() -> None:
    deep = GROUPED.get_params()
    assert deep["architecture__heads"] == 4
    assert ALoRa().set_params(**deep).get_params() == deep
    assert json.loads(json.dumps(GROUPED.plain_params())) == GROUPED.plain_params()


@pytest.mark.parametrize(
    ("old", "group", "now"),
    [
        ({"heads": 4}, "architecture", Architecture(heads=4)),
        ({"penalty": "authors"}, "training", Training(penalty="authors")),
        ({"smoothing": 3}, "calibration", CalibrationOptions(smoothing=3)),
        ({"gap": 5.0}, "preparation", PreparationOptions(gap=5.0)),
    ],
)
def test_old_names_still_work_and_say_where_they_are_now(
    old: dict[str, object], group: str, now: object
) -> None:
    name = next(iter(old))
    with pytest.warns(FutureWarning, match=f"{name}= of ALoRa has moved to {group}=") as seen:
        model = ALoRa(**old)
    assert seen[0].filename == __file__
    assert getattr(model, group) == now
    with pytest.warns(FutureWarning, match=f"set_params\\({group}__{name}="):
        assert getattr(ALoRa().set_params(**old), group) == now


def test_unknown_names_are_refused_with_the_right_one() -> None:
    with pytest.raises(AloraError, match="did you mean 'window'"):
        ALoRa(windw=3)
    with pytest.raises(AloraError, match="did you mean 'architecture__padding'"):
        ALoRa(paddin="edge")
    with pytest.raises(AloraError, match="did you mean 'architecture__heads'"):
        ALoRa().set_params(architecture__heds=3)
    with pytest.raises(AloraError, match=r"architecture= takes Architecture\(…\)"):
        ALoRa(architecture={"heads": 4})  # type: ignore[arg-type]


def test_a_model_saved_by_release_0_1_scores_as_it_did() -> None:
    known = json.loads((SAVED / "flat-parameters.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load(SAVED / "flat-parameters.safetensors")
    assert model.architecture == Architecture(
        layers=2, heads=2, correlation="pearson", padding="edge", activation="gelu", input_limit=4.0
    )
    assert model.training == Training(learning_rate=2e-3, validation_share=0.2)
    assert model.calibration == CalibrationOptions(cap=50.0, smoothing=3, rank_level=0.05)
    assert model.preparation == PreparationOptions(missing_limit=5, scaling="robust")
    rows = np.array(known["rows"])
    np.testing.assert_allclose(model.score(rows), known["scores"], rtol=1e-5)
    np.testing.assert_allclose(
        model.score_variables(rows)[20:24], known["variables"], rtol=1e-4, atol=1e-7
    )


def test_defaults_that_stand_elsewhere_are_the_estimators() -> None:
    ours = ALoRa().plain_params()
    for call, renamed in (
        (AlarmOptions, {}),
        (Calibrated, {"held_back": "training__validation_share"}),
    ):
        for name, parameter in inspect.signature(call).parameters.items():
            known = renamed.get(name, name)
            if known in ours and parameter.default is not inspect.Parameter.empty:
                assert parameter.default == ours[known], (call, name)


@pytest.mark.parametrize("command", [("fit",), ("fleet", "fit"), ("backtest",)])
def test_the_command_line_shows_the_estimators_defaults(command: tuple[str, ...]) -> None:
    found = get_command(app)
    for name in command:
        found = found.commands[name]  # type: ignore[attr-defined]
    ours = ALoRa().plain_params()
    shown = 0
    for option in found.params:
        known = ours.get(option.name, ours.get(f"preparation__{option.name}"))
        if isinstance(getattr(option, "show_default", None), str):
            assert option.show_default == str(known), option.name  # type: ignore[attr-defined]
            shown += 1
    assert shown >= 3


def test_presets_of_the_paper() -> None:
    paper = ALoRa().set_params(**alora_preset("paper"))
    assert (paper.architecture.padding, paper.training.batch_size) == ("circular", 128)
    authors = ALoRa().set_params(**alora_preset("authors"))
    assert authors.architecture.time_norm
    assert authors.training.penalty == "authors"


def test_y_is_ignored_as_scikit_learn_wants() -> None:
    rows = np.random.default_rng(0).normal(size=(120, 2))
    quick = ALoRa(window=4, epochs=1, epoch_windows=32)
    same = [quick.clone().fit(rows, y).score(rows) for y in (None, np.ones(120))]
    np.testing.assert_array_equal(*same)
