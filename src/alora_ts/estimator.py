"""ALoRa: fit on normal data, then score, diagnose or stream."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from alora_ts.artifact import Artifact, read_artifact, write_artifact
from alora_ts.data import Table
from alora_ts.data.form import FileForm
from alora_ts.data.frames import Choices
from alora_ts.data.options import PreparationOptions
from alora_ts.data.table import read_table
from alora_ts.diagnosis import Diagnosis, Incident
from alora_ts.errors import AloraError, ArtifactError, NotFittedError
from alora_ts.fast.threads import choose_threads, use_threads
from alora_ts.learning import Callback, Training
from alora_ts.model.chunks import ScoredChunk, score_chunks
from alora_ts.model.diagnose import diagnose, explain_rows
from alora_ts.model.fit import fit_model
from alora_ts.model.fitted import DiagnosisOptions, FittedModel
from alora_ts.model.options import FitOptions
from alora_ts.model.relations import Relations
from alora_ts.model.score import Judged, judge
from alora_ts.model.stream import Stream
from alora_ts.network import Architecture
from alora_ts.params import Parameters
from alora_ts.progress import Progress, reporting
from alora_ts.scoring import AlarmOptions, CalibrationOptions
from alora_ts.scoring.budget import DEFAULT_BUDGET
from alora_ts.scoring.rules import Scoring
from alora_ts.scoring.threshold import ThresholdRule

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["ALoRa", "load"]


class ALoRa(Parameters):
    """Detects when many signals misbehave and which of them caused it, without labels.

    Parameters
    ----------
    window : int
        T, how many rows the network looks at.
    pairs : int or None
        K, the most pairs of variables to embed; None for all. The paper has 512.
    epochs : int
        Most epochs; early stopping may end sooner.
    epoch_windows : int
        Windows drawn for an epoch, each epoch others: an epoch need not see all of a long table.
    contamination : float
        Share of the training windows to leave out of a second fit because the first found them
        the worst; 0 fits once.
    scoring : {"joint", "refined", "paper", "error"}
        See :class:`alora_ts.scoring.ScoreRule`.
    false_alarms : str
        How many false incidents may come: "1 per week", "2 per day" (both need timestamps) or
        "1 per 5000 rows". The model card says what the training period can promise.
    drift_memory : int
        Rows over which the level of the score is followed, so that slow drift does not fill the
        day with alarms (:mod:`alora_ts.scoring.following`); 0 takes nothing off.
    localization : str
        "affected" ranks by who deviates, from the network's expectation, from what the rows before
        predict, or from the usual level. Or a form of :func:`alora_ts.diagnosis.localize`,
        "window" for the one built on the attention of the moment (slower), or "origin" to rank by
        where a fault began instead of by what it reached (:mod:`alora_ts.diagnosis.origins`).
    localization_top : int
        k of its forms that keep the k largest.
    localization_memory : int
        Rows over which each variable's errors are averaged, looking back.
    merge : int or None
        Alarms with at most so many quiet rows between them are one incident; None means half a
        window. A long incident may pause for a fiftieth of the rows in which it alarmed.
    minimum : int
        Shorter incidents are dropped.
    threshold, alarm_share, alarms_per_day
        Of release 0.1: a share of rows, or alarming rows a day, instead of a budget in incidents
        (:func:`alora_ts.scoring.choose_threshold`). They still work, with a warning.
    architecture : Architecture
        The network's shape: layers, heads and the switches of the paper's ablations. The paper
        pads its windows circularly (``Architecture.paper()``); the default goes back over the
        rows before the border.
    training : Training
        How a step is made, what early stopping goes by, and the weight λ of the low-rank loss.
    calibration : CalibrationOptions
        How residuals and rank are measured against normal rows.
    preparation : PreparationOptions
        Missing cells, gaps, grids, duplicates, scaling.
    threads : int or None
        Threads for torch; None takes those it has, but no more than this process may use.
    device : str
        "auto" trains and scores on a GPU where torch finds one, else on the CPU; "cpu" and
        "cuda" insist. The GPU path has not been run on one yet.
    seed : int
        Every random draw comes from it.
    **moved
        Parameters of release 0.1 that are fields of one of the groups now, such as ``heads``;
        they are put there with a warning.

    Attributes
    ----------
    model_ : FittedModel
        Everything learned: network, preparation, calibration, training history.
    contributions_ : Relations
        E and C with the variables' names: who influences whom.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> load_ = np.cumsum(rng.normal(size=600))
    >>> x = np.column_stack([load_, 2 * load_, -load_]) + 0.1 * rng.normal(size=(600, 3))
    >>> model = ALoRa(window=8, epochs=2, epoch_windows=320).fit(x[:500])
    >>> today = x[500:].copy()
    >>> today[60:70, 1] += 100
    >>> worst = max(model.diagnose(today).incidents, key=lambda incident: incident.score)
    >>> worst.culprits[0].variable
    'x1'
    """

    # Each field of a group was a parameter of its own in release 0.1.
    _moved: ClassVar = {
        field.name: group
        for group, kind in (
            ("architecture", Architecture),
            ("training", Training),
            ("calibration", CalibrationOptions),
            ("preparation", PreparationOptions),
        )
        for field in dataclasses.fields(kind)
    }

    def __init__(
        self,
        *,
        window: int = 20,
        pairs: int | None = 128,
        epochs: int = 4,
        epoch_windows: int = 1600,
        contamination: float = 0.0,
        scoring: Scoring = "joint",
        false_alarms: str = DEFAULT_BUDGET,
        drift_memory: int = 10_000,
        localization: str = "affected",
        localization_top: int = 2,
        localization_memory: int = 10,
        merge: int | None = None,
        minimum: int = 1,
        threshold: ThresholdRule | None = None,
        alarm_share: float | None = None,
        alarms_per_day: float | None = None,
        architecture: Architecture = Architecture(),
        training: Training = Training(),
        calibration: CalibrationOptions = CalibrationOptions(),
        preparation: PreparationOptions = PreparationOptions(),
        threads: int | None = None,
        device: str = "auto",
        seed: int = 0,
        **moved: Any,
    ) -> None:
        self.window = window
        self.pairs = pairs
        self.epochs = epochs
        self.epoch_windows = epoch_windows
        self.contamination = contamination
        self.scoring: Scoring = scoring
        self.false_alarms = false_alarms
        self.drift_memory = drift_memory
        self.localization = localization
        self.localization_top = localization_top
        self.localization_memory = localization_memory
        self.merge = merge
        self.minimum = minimum
        self.threshold: ThresholdRule | None = threshold
        self.alarm_share = alarm_share
        self.alarms_per_day = alarms_per_day
        self.architecture = architecture
        self.training = training
        self.calibration = calibration
        self.preparation = preparation
        self.threads = threads
        self.device = device
        self.seed = seed
        self.set_params(**moved)  # refuses what is unknown

    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002  (scikit-learn's tools pass it)
        *,
        validation: Any = None,
        time: str | None = None,
        columns: Iterable[str] | None = None,
        ignore: Iterable[str] = (),
        label: str | None = None,
        form: FileForm | None = None,
        segments: NDArray[np.integer] | None = None,
        callbacks: Sequence[Callback] = (),
        initial: ALoRa | None = None,
        progress: Progress = None,
    ) -> Self:
        """Learn normal behaviour.

        Parameters
        ----------
        X : array, frame or path
            Rows in order of time: ndarray, pandas, polars, pyarrow, or a path to CSV or Parquet.
            Mostly normal; labels are not needed.
        y : object
            Ignored; scikit-learn's tools pass it.
        validation : array, frame or path, optional
            Rows to hold back for early stopping and the alarm level, instead of blocks of X.
        time, columns, ignore, label, form
            Which columns are what and how text is read, see :func:`alora_ts.data.as_table`. The
            model remembers it and reads later files the same way.
        segments : ndarray of int, shape (N,), optional
            Rows of different segments never share a window (batches, runs, channels).
        callbacks : sequence of Callback
            Called after each epoch.
        initial : ALoRa, optional
            A fitted model of the same variables and shape to begin with, instead of random weights.
        progress : bool, callable or None
            None shows a bar on a terminal.

        Returns
        -------
        ALoRa
            Itself, fitted.
        """
        names = None if columns is None else list(columns)
        choices = Choices.of(time, names, ignore, label=label, form=form)
        table = read_table(X, choices)
        more = None if validation is None else read_table(validation, choices)
        with use_threads(choose_threads(self.threads)), reporting(progress) as report:
            self.model_ = fit_model(
                table,
                validation=more,
                segments=segments,
                options=self.fit_options(),
                callbacks=callbacks,
                report=report,
                initial=None if initial is None else initial._fitted(),
            )
        return self

    def alarm_options(self) -> AlarmOptions:
        """When a score alarms, as :func:`alora_ts.scoring.choose_level` takes it."""
        return self._options(AlarmOptions)

    def fit_options(self) -> FitOptions:
        """Every choice of a fit, checked, as :func:`alora_ts.model.fit.fit_model` takes them."""
        alarms = self.alarm_options()
        if alarms.outdated:
            warnings.warn(
                f"{', '.join(alarms.outdated)} of ALoRa count alarming rows and will be refused "
                "in 0.3; say false_alarms='1 per week' or '1 per 5000 rows' instead",
                FutureWarning,
                stacklevel=2,
            )
        return FitOptions(
            **{field.name: getattr(self, field.name) for field in _TAKEN_OVER},
            alarms=alarms,
            diagnosis=self._options(DiagnosisOptions),
        )

    def score(
        self, X: Any, *, segments: NDArray[np.integer] | None = None, progress: Progress = None
    ) -> NDArray[np.float64]:
        """Calibrated score of each row, as numpy: more than 1 alarms.

        Parameters
        ----------
        X : array, frame or path
            Rows with the variables of the training data.
        segments : ndarray of int, shape (N,), optional
            Rows of different segments never share a window.
        progress : bool, callable or None
            None shows a bar on a terminal.

        Returns
        -------
        ndarray of shape (N,)
        """
        return self.judge(X, segments=segments, progress=progress).score

    def judge(
        self, X: Any, *, segments: NDArray[np.integer] | None = None, progress: Progress = None
    ) -> Judged:
        """Score and alarm of each row, without incidents; parameters as for :meth:`score`."""
        model, table = self._fitted(), self._table(X)
        with use_threads(choose_threads(self.threads)), reporting(progress) as report:
            return judge(model, table, segments=segments, report=report)

    def score_chunks(
        self,
        source: str | os.PathLike[str],
        *,
        rows: int = 65_536,
        time: str | None = None,
        label: str | None = None,
        ignore: Iterable[str] = (),
        form: FileForm | None = None,
        near: bool = False,
        progress: Progress = None,
    ) -> Iterator[ScoredChunk]:
        """Score files larger than memory, a chunk of rows at a time.

        Parameters
        ----------
        source : path
            CSV or Parquet, a folder or a glob, rows in the order of time.
        rows : int
            How many rows to read at once.
        time, label, ignore, form, near
            How the files are read, see :meth:`alora_ts.data.Preparation.read`; by default as the
            training data were.
        progress : bool, callable or None
            None shows a bar on a terminal.

        Yields
        ------
        ScoredChunk
            Together they hold every row once, in order, with exactly the scores of one pass,
            and the incidents as far as they are known.
        """
        model = self._fitted()
        with use_threads(choose_threads(self.threads)):
            choices = model.preparation.choices(
                time=time, label=label, ignore=ignore, form=form, near=near
            )
            yield from score_chunks(model, source, rows=rows, choices=choices, progress=progress)

    def score_variables(
        self, X: Any, *, segments: NDArray[np.integer] | None = None, progress: Progress = None
    ) -> NDArray[np.float32]:
        """Localization score of each variable at each row, (N, d); higher is more suspicious."""
        return self.diagnose(X, segments=segments, progress=progress).localization

    def diagnose(
        self,
        X: Any,
        *,
        label: str | None = None,
        segments: NDArray[np.integer] | None = None,
        progress: Progress = None,
    ) -> Diagnosis:
        """Score every row, find the incidents and name their culprits.

        Parameters
        ----------
        X : array, frame or path
            Rows with the variables of the training data.
        label : str, optional
            The column that says which rows were anomalous, where it is not that of the training
            data: drawn in plots and reports, and used by :meth:`Diagnosis.evaluate`.
        segments : ndarray of int, shape (N,), optional
            Rows of different segments never share a window.
        progress : bool, callable or None
            None shows a bar on a terminal.

        Returns
        -------
        Diagnosis
        """
        model, table = self._fitted(), self._table(X, label=label)
        with use_threads(choose_threads(self.threads)), reporting(progress) as report:
            return diagnose(model, table, segments=segments, report=report)

    def adjust(self, **values: Any) -> Self:
        """Change what acts after the fit, without fitting again.

        Parameters
        ----------
        **values
            ``merge``, ``minimum``, ``localization``, ``localization_top``,
            ``localization_memory`` or ``drift_memory``.

        Returns
        -------
        ALoRa
            Itself.

        Raises
        ------
        AloraError
            For any other parameter: it needs a fit.
        """
        model = self._fitted()
        after = [*(field.name for field in dataclasses.fields(DiagnosisOptions)), "drift_memory"]
        for name in values:
            if name not in after:
                raise AloraError(
                    f"{name!r} acts while fitting; fit again with it (without fitting again one "
                    f"can change {', '.join(after)})"
                )
        self.set_params(**values)
        self.fit_options()  # refuses values that make no sense
        self.model_ = dataclasses.replace(
            model,
            options=self._options(DiagnosisOptions),
            calibration=dataclasses.replace(model.calibration, drift_memory=self.drift_memory),
        )
        return self

    def explain(
        self,
        X: Any,
        start: int,
        end: int,
        *,
        segments: NDArray[np.integer] | None = None,
        progress: Progress = None,
    ) -> Incident:
        """Explain rows that somebody else found: who deviates, and where it began.

        Parameters
        ----------
        X : array, frame or path
            Rows with the variables of the training data; the more come before ``start``, up to a
            window, the more is known about how it began.
        start, end : int
            The rows to explain, the last not included; they need not alarm.
        segments : ndarray of int, shape (N,), optional
            Rows of different segments never share a window.
        progress : bool, callable or None
            None shows a bar on a terminal.

        Returns
        -------
        Incident

        Raises
        ------
        DataError
            When the rows do not lie in the table.
        """
        model, table = self._fitted(), self._table(X)
        with use_threads(choose_threads(self.threads)), reporting(progress) as report:
            return explain_rows(model, table, start, end, segments=segments, report=report)

    def stream(self) -> Stream:
        """A stream that takes rows one by one and answers each with a Reading."""
        return Stream(self._fitted())

    @property
    def contributions_(self) -> Relations:
        """E and C with the variables' names: who influences whom."""
        return Relations.of(self._fitted())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model as one safetensors file that :func:`load` reads."""
        model = self._fitted()
        description = {"parameters": self.plain_params(), **model.describe()}
        return write_artifact(Artifact("ALoRa", description, model.tensors()), path)

    def export_onnx(self, path: str | os.PathLike[str]) -> Path:
        """Write the network as ONNX, see :func:`alora_ts.model.onnx.export_onnx`."""
        from alora_ts.model.onnx import export_onnx

        return export_onnx(self._fitted(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote."""
        artifact = read_artifact(path)
        if artifact.kind != "ALoRa":
            raise ArtifactError(f"{path} holds a {artifact.kind}, not an ALoRa model")
        try:
            estimator = cls.from_params(artifact.description["parameters"])
            estimator.model_ = FittedModel.rebuild(
                artifact.description,
                artifact.tensors,
                window=estimator.window,
                architecture=estimator.architecture,
                diagnosis=estimator._options(DiagnosisOptions),
                # A GPU is a matter of the machine it was fitted on, not of the one that loads it.
                device="cpu" if estimator.device == "cpu" else "auto",
            )
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ArtifactError(
                f"{path} is damaged or was written by another version of alora-ts ({error}); "
                "fit and save the model again"
            ) from error
        return estimator

    def _repr_html_(self) -> str:
        from alora_ts.report.notebook import model_html

        if not hasattr(self, "model_"):
            return f"<code>{escape(repr(self))}</code>"
        return model_html(repr(self), self.model_)

    def _fitted(self) -> FittedModel:
        if not hasattr(self, "model_"):
            raise NotFittedError("this ALoRa is not fitted yet; call fit or load a model first")
        return self.model_

    def _table(self, X: Any, *, label: str | None = None) -> Table:
        return self._fitted().preparation.read(X, label=label)

    def _options(self, kind: type[_Options]) -> _Options:
        """The options of one kind, each from the parameter of the same name."""
        names = [field.name for field in dataclasses.fields(kind)]
        return kind(**{name: getattr(self, name) for name in names})


_Options = TypeVar("_Options", bound="DataclassInstance")
_TAKEN_OVER = [
    field for field in dataclasses.fields(FitOptions) if field.name not in ("alarms", "diagnosis")
]


def load(path: str | os.PathLike[str]) -> ALoRa:
    """Read a model that :meth:`ALoRa.save` or ``alora-ts fit`` wrote.

    Examples
    --------
    >>> import tempfile
    >>> normal = np.random.default_rng(0).normal(size=(90, 2))
    >>> model = ALoRa(window=4, epochs=1, epoch_windows=64).fit(normal)
    >>> file = model.save(Path(tempfile.mkdtemp()) / "model.alora")
    >>> load(file).score(np.zeros((5, 2))).shape
    (5,)
    """
    return ALoRa.load(path)
