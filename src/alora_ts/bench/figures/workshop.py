"""What figures are made of: a dataset, fits of it that several figures share, and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from alora_ts import datasets
from alora_ts.bench.contestant import ALORA, alora_preset, check_method
from alora_ts.bench.entities import SYNTHETIC, open_entity
from alora_ts.bench.record import Record, read_records
from alora_ts.data.windows import window_ends
from alora_ts.datasets import Dataset
from alora_ts.errors import AloraError, DataError
from alora_ts.estimator import ALoRa
from alora_ts.progress import Report, Step
from alora_ts.scoring.spectrum import singular_values

__all__ = ["DEFAULT_PLACE", "MissingMaterialError", "Result", "Workshop", "choose_ends", "spectra"]

DEFAULT_PLACE = "SMD/machine-1-6"
_AT_ONCE = 64


class MissingMaterialError(AloraError):
    """A figure's material is not there; the message says what would be needed."""


@dataclass(frozen=True)
class Result:
    """One successful run.

    Attributes
    ----------
    record : Record
    scores : Path
        Its scores, which a results folder may lack.
    """

    record: Record
    scores: Path

    def read_scores(self) -> pl.DataFrame:
        """Rows, labels and scores.

        Raises
        ------
        DataError
            When the file is there but unreadable.
        """
        try:
            return pl.read_parquet(self.scores, columns=["label", "score"])
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(
                f"{self.scores} holds no scores ({error}); delete it and its record, and run the "
                "plan again"
            ) from error


class Workshop:
    """Gives figures their material and keeps what it made.

    Parameters
    ----------
    results : sequence of Path
        Results folders of ``alora-ts bench run``.
    root : Path
        The folder that holds the datasets' folders.
    place : str, optional
        "dataset/entity" to fit on. By default SMD/machine-1-6, or where SMD is not installed
        synthetic/clear-faults.
    preset : str
        Which ALoRa to fit, see :mod:`alora_ts.bench.contestant`.
    parameters : mapping, optional
        Changes against the preset.
    report : callable
        Receives the progress.
    """

    def __init__(
        self,
        *,
        results: Sequence[Path] = (),
        root: Path,
        place: str | None = None,
        preset: str = "cpu",
        parameters: Mapping[str, Any] | None = None,
        report: Report = lambda _: None,
    ) -> None:
        check_method(ALORA, preset, parameters or {})
        self.root = root
        self.asked_place = place
        self.report = report
        self.parameters: dict[str, Any] = {**alora_preset(preset), **(parameters or {})}
        self._folders = tuple(results)
        self._fits: dict[str, ALoRa] = {}

    @cached_property
    def data(self) -> Dataset:
        """The entity to fit on."""
        if self.asked_place is not None:
            dataset, _, entity = self.asked_place.partition("/")
            return open_entity(dataset, entity or None, self.root)
        dataset, _, entity = DEFAULT_PLACE.partition("/")
        try:
            datasets.family(dataset).folder(self.root)
        except DataError:
            return open_entity(SYNTHETIC, "clear-faults", self.root)
        return open_entity(dataset, entity, self.root)

    @property
    def place(self) -> str:
        """Its name, for captions."""
        return " ".join(part for part in (self.data.name, self.data.entity) if part)

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """All successful runs of the results folders."""
        return tuple(
            Result(record, _scores_of(folder, record))
            for folder in self._folders
            for record in read_records(folder)
            if record.status == "done"
        )

    def fitted(self, **changes: Any) -> ALoRa:
        """A model of :attr:`data`, with changes against the preset; made once."""
        key = repr(ALoRa().set_params(**{**self.parameters, **changes}))
        if key not in self._fits:
            said = ", ".join(f"{name}={value}" for name, value in changes.items()) or self.place
            self._fits[key] = self.fit(
                self.data.train, said, segments=self.data.train_segments, **changes
            )
        return self._fits[key]

    def fit(
        self,
        train: NDArray[np.float32],
        said: str,
        *,
        segments: NDArray[np.int64] | None = None,
        **changes: Any,
    ) -> ALoRa:
        """A model of any rows, not kept; ``said`` names it beside the progress."""

        def tell(step: Step) -> None:
            self.report(Step(f"{step.task} ({said})", step.done, step.total, step.facts))

        model = ALoRa().set_params(**{**self.parameters, **changes, "threads": 1})
        return model.fit(train, segments=segments, progress=tell)

    def runs_of_study(self, study: str) -> dict[str, list[Result]]:
        """The runs of an ablation by its case.

        Raises
        ------
        MissingMaterialError
            When the results have fewer than two cases of it.
        """
        cases: dict[str, list[Result]] = {}
        for result in self.results:
            case = result.record.studies.get(study)
            if case is not None:
                cases.setdefault(case, []).append(result)
        if len(cases) < 2:
            raise MissingMaterialError(
                f"needs results of the study {study!r}; make them with "
                "`alora-ts bench run ablation` and name their folder"
            )
        return cases


def _scores_of(folder: Path, record: Record) -> Path:
    entity = record.entity or "whole"
    return folder / "scores" / record.dataset / entity / f"{record.label}-{record.seed}.parquet"


def spectra(
    model: ALoRa,
    rows: NDArray[np.floating],
    segments: NDArray[np.int64] | None,
    ends: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Singular values of every layer's mean attention for windows that end at ``ends``.

    Returns
    -------
    ndarray of shape (windows, layers, T)
    """
    fitted = model.model_
    _, values, _ = fitted.prepare(fitted.preparation.read(rows), segments)
    window, found = fitted.window, []
    with torch.no_grad():
        for start in range(0, len(ends), _AT_ONCE):
            part = [values[end - window + 1 : end + 1] for end in ends[start : start + _AT_ONCE]]
            attention = fitted.network(torch.from_numpy(np.stack(part))).attention
            found.append(np.stack([singular_values(one) for one in attention], axis=1))
    return np.concatenate(found).astype(np.float64)


def choose_ends(
    wanted: NDArray[np.bool_],
    segments: NDArray[np.int64] | None,
    *,
    window: int,
    most: int,
) -> NDArray[np.intp]:
    """At most ``most`` rows among the wanted ones that end a whole window, spread evenly.

    Examples
    --------
    >>> choose_ends(np.ones(10, dtype=bool), None, window=3, most=4)
    array([2, 4, 7, 9])
    """
    ends = window_ends(len(wanted), window, segments)
    ends = ends[wanted[ends]]
    if len(ends) > most:
        ends = ends[np.linspace(0, len(ends) - 1, most).round().astype(np.intp)]
    return ends
