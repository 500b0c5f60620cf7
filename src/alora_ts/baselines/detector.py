"""The contract of every compared method.

A method is a dataclass of keyword-only parameters (its constructor only stores them) that fills in
``_fit``, ``_score`` and, where it localizes, ``_score_variables``. This class reads the tables,
checks parameters, splits at gaps, gives N answers for N rows and refuses what cannot be scored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alora_ts.baselines.inputs import InputReader, Rows, Scaling
from alora_ts.baselines.parameters import check_known, check_parameters, parameters
from alora_ts.errors import AloraError, DataError, NotFittedError
from alora_ts.progress import Progress, Report, reporting

__all__ = ["Capabilities", "Detector", "Presets", "clone"]

Presets = Mapping[str, Mapping[str, Any]]
"""Parameters by the name of a preset or a dataset."""

AnyDetector = TypeVar("AnyDetector", bound="Detector")


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a method can do.

    Attributes
    ----------
    detects : bool
        Gives a score per row.
    localizes : bool
        Gives a score per row and variable.
    segment_level : bool
        Its per-variable scores are made for whole anomalous segments, not for single rows.
    needs_gpu : bool
        At full size it is too slow for a CPU; the ``cpu`` preset is smaller.
    whole_segments : bool
        A row's score depends on all of its segment, later rows included.
    """

    detects: bool = True
    localizes: bool = False
    segment_level: bool = False
    needs_gpu: bool = False
    whole_segments: bool = False


@dataclass(kw_only=True, eq=False)
class Detector(ABC):
    """Base of all methods.

    Parameters
    ----------
    preset : str
        The name of the preset the parameters come from, carried into results. The defaults of a
        method's other parameters are its ``paper`` preset.
    """

    preset: str = "paper"

    capabilities: ClassVar[Capabilities] = Capabilities()
    scaling: ClassVar[Scaling] = Scaling()
    presets: ClassVar[Presets] = {"paper": {}, "cpu": {}}
    """What each preset changes against the defaults."""
    datasets: ClassVar[Presets] = {}
    """What the authors change for a dataset, on top of the ``paper`` and ``official`` presets."""

    def fit(
        self, train: Any, *, segments: ArrayLike | None = None, progress: Progress = None
    ) -> Self:
        """Learn what is normal.

        Parameters
        ----------
        train : array, frame or path
            Normal rows; see :func:`alora_ts.data.as_table`.
        segments : array of int, shape (N,), optional
            Where the series breaks: rows of one segment have the same number. Gaps in time break
            it as well.
        progress : bool, callable or None
            See :mod:`alora_ts.progress`.

        Returns
        -------
        self

        Raises
        ------
        AloraError
            When a parameter or the data cannot be used; the message says which and why.
        """
        check_parameters(self)
        reader = InputReader(self.scaling)
        rows = reader.fit(train, segments=segments)
        least = self._least_rows()
        if len(rows) < least:
            raise DataError(
                f"{len(rows):,} training rows are too few for {type(self).__name__}, which needs "
                f"at least {least:,} with these parameters; give more rows or choose a smaller "
                "window"
            )
        with reporting(progress) as report, self._learning():
            self._fit(rows, report)
        self.reader_ = reader
        return self

    def score(
        self, x: Any, *, segments: ArrayLike | None = None, progress: Progress = None
    ) -> NDArray[np.float64]:
        """Score every row; higher is more anomalous.

        Parameters
        ----------
        x : array, frame or path
            Rows with the training data's variables.
        segments, progress
            As for :meth:`fit`.

        Returns
        -------
        ndarray of float64, shape (N,)
            Finite.

        Raises
        ------
        AloraError
            When the method only localizes, is not fitted, or the data cannot be used.
        """
        if not self.capabilities.detects:
            raise AloraError(
                f"{type(self).__name__} does not say when, only which; call score_variables"
            )
        rows = self._read(x, segments)
        with reporting(progress) as report, self._scoring():
            scores = self._score(rows, report)
        return self._answer(scores, rows, (len(rows),))

    def score_variables(
        self, x: Any, *, segments: ArrayLike | None = None, progress: Progress = None
    ) -> NDArray[np.float64]:
        """Score every variable at every row; higher is more likely a cause.

        Parameters
        ----------
        x : array, frame or path
            Rows with the training data's variables.
        segments, progress
            As for :meth:`fit`.

        Returns
        -------
        ndarray of float64, shape (N, d)
            Finite; columns in the order of the training data.

        Raises
        ------
        AloraError
            When the method does not localize, is not fitted, or the data cannot be used.
        """
        if not self.capabilities.localizes:
            raise AloraError(f"{type(self).__name__} does not localize; call score")
        rows = self._read(x, segments)
        with reporting(progress) as report, self._scoring():
            scores = self._score_variables(rows, report)
        return self._answer(scores, rows, rows.values.shape)

    @property
    def variables_(self) -> tuple[str, ...]:
        """Names of the training data's variables."""
        return self._fitted_reader().variables

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  scikit-learn's name
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Accepted so that scikit-learn's tools work; detectors hold no other estimators.
        """
        return {name: getattr(self, name) for name in parameters(type(self))}

    def set_params(self, **changes: Any) -> Self:
        """Change parameters by name.

        Raises
        ------
        AloraError
            When a name is not a parameter of this method.
        """
        check_known(type(self), list(changes))
        for name, value in changes.items():
            setattr(self, name, value)
        return self

    def changes(self) -> dict[str, Any]:
        """Return the parameters, but for the seed, that differ from the preset's.

        Results that carry a preset's name show these beside it.
        """
        preset = self.presets.get(self.preset, {})
        usual = {name: item.default for name, item in parameters(type(self)).items()} | dict(preset)
        return {
            name: value
            for name, value in self.get_params().items()
            if name not in {"seed", "preset"} and value != usual[name]
        }

    @abstractmethod
    def _fit(self, rows: Rows, report: Report) -> None:
        """Learn from scaled rows; set attributes that end in ``_``."""

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        """Score scaled rows: (M,)."""
        raise NotImplementedError

    def _score_variables(self, rows: Rows, report: Report) -> NDArray[Any]:
        """Score the variables of scaled rows: (M, d)."""
        raise NotImplementedError

    def _least_rows(self) -> int:
        """How many training rows the parameters ask for."""
        return 1

    def _learning(self) -> AbstractContextManager[None]:
        """The surroundings of ``_fit``, such as seeded random numbers."""
        return nullcontext()

    def _scoring(self) -> AbstractContextManager[None]:
        """The surroundings of ``_score`` and ``_score_variables``."""
        return nullcontext()

    def _fitted_reader(self) -> InputReader:
        if not hasattr(self, "reader_"):
            raise NotFittedError(
                f"this {type(self).__name__} has learned nothing yet; call fit first"
            )
        return self.reader_

    def _read(self, x: Any, segments: ArrayLike | None) -> Rows:
        return self._fitted_reader().read(x, segments=segments)

    def _answer(
        self, scores: NDArray[Any], rows: Rows, shape: tuple[int, ...]
    ) -> NDArray[np.float64]:
        assert scores.shape == shape, f"{type(self).__name__} gave {scores.shape} for {shape}"
        answered = scores[rows.answers].astype(np.float64)
        if not np.isfinite(answered).all():
            first = int(np.flatnonzero(~np.isfinite(answered.reshape(len(answered), -1).sum(1)))[0])
            raise AloraError(
                f"{type(self).__name__} cannot score row {first}: its score is not finite; look "
                "for values far outside the training data's there, or fit on more varied rows"
            )
        return answered


def clone(detector: AnyDetector) -> AnyDetector:
    """Return an unfitted detector with the same parameters.

    Examples
    --------
    >>> from alora_ts.baselines.knn import KNN
    >>> clone(KNN(neighbours=3)).get_params()["neighbours"]
    3
    """
    return type(detector)(**detector.get_params())
