"""ALoRa and every compared method behind one interface: learn, score, locate, describe.

Presets of ``alora``
--------------------
``default``
    The estimator with its defaults.
``paper``
    The equations and the training of the paper, with its window sizes.
``cpu``
    The paper's equations with the estimator's own, shorter training.
``authors``
    What the authors' program does where it differs from the paper, with the shorter training.

Those of the compared methods are described in :mod:`alora_ts.baselines`. All learn from four fifths
of the training rows; the rest, the same blocks spread over them for every method, set the threshold
that needs no labels (and end ALoRa's training early).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from alora_ts import baselines
from alora_ts.datasets import Dataset
from alora_ts.errors import AloraError, nearest
from alora_ts.progress import Report

if TYPE_CHECKING:
    from alora_ts.diagnosis import Diagnosis

__all__ = ["ALORA", "Contestant", "alora_preset", "check_method", "make_contestant"]

ALORA = "alora"
_ENDLESS = "always-alarm"

_PRESETS = ("default", "paper", "cpu", "authors")
_PUBLISHED: dict[str, dict[str, Any]] = {
    "SMD": {"localization": "paper-top-k", "localization_top": 2},
    "PSM": {"window": 100},
    "MSDS": {"window": 100},
}
"""What the paper sets for one dataset only; its window is 20 elsewhere, which is the default."""


_PAPER_FORMS = {"LAS": "paper", "LAS top-k": "paper-top-k", "LAS*": "error"}
"""What Algorithm 2 of the paper returns, and the forms' names here."""


class Contestant(Protocol):
    """What a run needs of a method."""

    def learn(self, data: Dataset, report: Report) -> None:
        """Fit on the training rows and choose a threshold without labels."""

    def score(self, data: Dataset, report: Report) -> NDArray[np.float64] | None:
        """Score the test rows, above 1 alarms; None from a method that only locates."""

    def locate(self, data: Dataset, report: Report) -> NDArray[np.floating] | None:
        """Score the variables of the test rows; None from a method that only detects."""

    def other_forms(self, data: Dataset, report: Report) -> dict[str, NDArray[np.floating]]:
        """More ways of scoring variables with the same fit, by their names; often none."""

    def facts(self) -> dict[str, float]:
        """What it knows about itself; see :class:`~alora_ts.bench.record.Record`."""

    @property
    def detects(self) -> bool:
        """Whether it scores rows, or variables only."""

    @property
    def by_segment(self) -> bool:
        """Whether its variables' scores are meant for whole segments only."""


def check_method(method: str, preset: str, parameters: Iterable[str]) -> None:
    """Refuse a method, preset or parameter that does not exist, naming the right spelling.

    Examples
    --------
    >>> check_method("alora", "papre", [])
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: 'alora' has no preset 'papre'; did you mean 'paper'? Known: ...
    """
    if method == ALORA:
        from alora_ts.estimator import ALoRa

        alora_preset(preset)
        ALoRa.check_names(parameters)
    elif method not in baselines.names():
        known = (ALORA, *baselines.names())
        raise AloraError(f"there is no method {method!r}{nearest(method, known)}")
    else:
        baselines.get(method, preset, **dict.fromkeys(parameters))


def make_contestant(
    method: str, preset: str, parameters: Mapping[str, Any], *, dataset: str, seed: int
) -> Contestant:
    """Make an unfitted method.

    Parameters
    ----------
    method, preset : str
        See :func:`check_method`.
    parameters : mapping
        Changes against the preset.
    dataset : str
        Settings that a method's authors chose for it are taken over.
    seed : int

    Raises
    ------
    AloraError
        When one of them does not exist.

    Examples
    --------
    >>> make_contestant("knn", "cpu", {"neighbours": 3}, dataset="SMD", seed=0).facts()
    {}
    """
    if method == ALORA:
        settings = alora_preset(preset)
        published = {} if preset in {"default", "authors"} else _PUBLISHED.get(dataset, {})
        return _OurMethod({**settings, **published, **parameters, "seed": seed})
    if method == _ENDLESS:
        return _Endless(baselines.get(method, preset))
    seeded = {"seed": seed} if hasattr(baselines.find(method), "seed") else {}
    return _Compared(baselines.get(method, preset, dataset=dataset, **seeded, **parameters))


def alora_preset(preset: str) -> dict[str, Any]:
    """The parameters of a preset of ``alora``.

    Examples
    --------
    >>> alora_preset("cpu")["architecture"]
    Architecture(layers=3, padding='circular', input_limit=1000000.0)
    """
    from alora_ts.learning import Training
    from alora_ts.network import Architecture
    from alora_ts.scoring import CalibrationOptions

    if preset not in _PRESETS:
        raise AloraError(f"'alora' has no preset {preset!r}{nearest(preset, _PRESETS)}")
    if preset == "default":
        return {}
    chosen: dict[str, Any] = {
        "pairs": 512,
        "architecture": Architecture.paper(),
        "calibration": CalibrationOptions.paper(),
        "scoring": "paper",
        "localization": "paper",
        "localization_memory": 1,
        "drift_memory": 0,
    }
    if preset == "paper":
        # More windows than any set has: every one, each epoch.
        chosen |= {"training": Training.paper(), "epochs": 10, "epoch_windows": 100_000_000}
    if preset == "authors":
        chosen |= {
            "architecture": Architecture.authors(),
            "training": Training(penalty="authors"),
            "localization": "authors",
        }
    return chosen


class _OurMethod:
    detects = True
    by_segment = False

    def __init__(self, parameters: dict[str, Any]) -> None:
        from alora_ts.estimator import ALoRa

        self.estimator = ALoRa().set_params(**parameters)

    def learn(self, data: Dataset, report: Report) -> None:
        self.estimator.fit(data.train, segments=data.train_segments, progress=report)
        if self.estimator.model_.training.stopped == "interrupted":
            # The fit kept its best weights, but a partial training is not a result.
            raise KeyboardInterrupt

    def score(self, data: Dataset, report: Report) -> NDArray[np.float64] | None:
        # Without localization and incidents, which the compared methods are not timed for either.
        return self.estimator.score(data.test, segments=data.test_segments, progress=report)

    def locate(self, data: Dataset, report: Report) -> NDArray[np.floating] | None:
        return self._diagnose(data, report).localization

    def other_forms(self, data: Dataset, report: Report) -> dict[str, NDArray[np.floating]]:
        used = self.estimator.get_params()
        if used["scoring"] != "paper" or used["localization"] == "authors":
            return {}
        found: dict[str, NDArray[np.floating]] = {}
        for name, form in _PAPER_FORMS.items():
            self.estimator.adjust(localization=form)
            found[name] = self._diagnose(data, report).localization
        self.estimator.adjust(localization=used["localization"])
        return found

    def _diagnose(self, data: Dataset, report: Report) -> Diagnosis:
        return self.estimator.diagnose(data.test, segments=data.test_segments, progress=report)

    def facts(self) -> dict[str, float]:
        if not hasattr(self.estimator, "model_"):
            return {}
        model = self.estimator.model_
        return {
            "learnable": sum(weight.numel() for weight in model.network.parameters()),
            "embedding": sum(weight.numel() for weight in model.network.embed.parameters()),
            "rank_level": model.calibration.rank_level,
            "threshold": model.calibration.threshold.value,
            "epochs": model.training.best_epoch,
            "windows": model.training.windows,
            "stopped_early": float(model.training.stopped == "early"),
            **{
                f"held_back_loss_{epoch}": loss
                for epoch, loss in enumerate(model.training.validation, start=1)
                if math.isfinite(loss)
            },
        }


class _Compared:
    def __init__(self, detector: baselines.Detector) -> None:
        from alora_ts.baselines.calibrated import Calibrated

        self.detector = detector
        self.calibrated = Calibrated(detector)

    @property
    def detects(self) -> bool:
        return self.detector.capabilities.detects

    @property
    def by_segment(self) -> bool:
        return self.detector.capabilities.segment_level

    def learn(self, data: Dataset, report: Report) -> None:
        if self.detects:
            self.calibrated.fit(data.train, segments=data.train_segments, progress=report)
        else:
            self.detector.fit(data.train, segments=data.train_segments, progress=report)

    def score(self, data: Dataset, report: Report) -> NDArray[np.float64] | None:
        if not self.detects:
            return None
        return self.calibrated.score(data.test, segments=data.test_segments, progress=report)

    def locate(self, data: Dataset, report: Report) -> NDArray[np.floating] | None:
        if not self.detector.capabilities.localizes:
            return None
        return self.detector.score_variables(
            data.test, segments=data.test_segments, progress=report
        )

    def other_forms(self, data: Dataset, report: Report) -> dict[str, NDArray[np.floating]]:
        del data, report
        return {}

    def facts(self) -> dict[str, float]:
        facts: dict[str, float] = {}
        if hasattr(self.detector, "reader_") and hasattr(self.detector, "parameter_count"):
            count = self.detector.parameter_count(len(self.detector.variables_))
            facts["learnable"] = count
        seen = getattr(self.detector, "windows_seen_", 0)
        if seen:
            facts["windows"] = seen
        if hasattr(self.calibrated, "threshold_"):
            facts["threshold"] = self.calibrated.threshold_.value
        return facts


class _Endless(_Compared):
    """No threshold from normal rows could make it alarm, and it has to: it stands for that."""

    def score(self, data: Dataset, report: Report) -> NDArray[np.float64] | None:
        del report
        return np.full(len(data.test), 2.0)
