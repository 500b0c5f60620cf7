"""One model per group from one table: a column says which machine, host or site a row is of."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from alora_ts.data.groups import Groups, split_groups
from alora_ts.diagnosis import Diagnosis
from alora_ts.errors import AloraError, ArtifactError, DataError, NotFittedError, nearest
from alora_ts.estimator import ALoRa
from alora_ts.progress import Progress

__all__ = ["GroupedALoRa"]

_SUFFIX = ".alora"


class GroupedALoRa:
    """A model for each group of a table.

    Parameters
    ----------
    estimator : ALoRa
        How each group is fitted; it is cloned, never changed.
    group : str
        The column that names the group of each row.

    Attributes
    ----------
    models_ : dict of str to ALoRa
        The fitted models by group.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> table = pl.DataFrame({"host": ["a"] * 90 + ["b"] * 90,
    ...                       "load": rng.normal(size=180), "heat": rng.normal(size=180)})
    >>> grouped = GroupedALoRa(ALoRa(window=4, epochs=1, epoch_windows=64), group="host").fit(table)
    >>> grouped.score(table).columns
    ['host', 'score', 'is_anomaly']
    """

    def __init__(self, estimator: ALoRa, *, group: str) -> None:
        self.estimator = estimator
        self.group = group

    def fit(
        self,
        X: Any,
        *,
        time: str | None = None,
        columns: Iterable[str] | None = None,
        ignore: Iterable[str] = (),
        progress: Progress = None,
    ) -> Self:
        """Fit one model per group. Parameters as for :meth:`ALoRa.fit`."""
        self._time, self._ignore = time, list(ignore)
        self._columns = None if columns is None else list(columns)
        models = {}
        for name, table in self._split(X):
            try:
                models[name] = self.estimator.clone().fit(table, progress=progress)
            except AloraError as error:
                raise DataError(f"group {name!r}: {error}") from error
        self.models_ = models
        return self

    def score(self, X: Any, *, progress: Progress = None) -> Any:
        """Group, score and alarm of each row, in one table of the kind that was given."""
        groups = self._split(X)
        results = {}
        for name, table in groups:
            judged = self._model(name).judge(table, progress=progress)
            results[name] = {"score": judged.score, "is_anomaly": judged.alarm}
        return groups.frame(results)

    def diagnose(self, X: Any, *, progress: Progress = None) -> dict[str, Diagnosis]:
        """A diagnosis for each group."""
        return {
            name: self._model(name).diagnose(table, progress=progress)
            for name, table in self._split(X)
        }

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write one model file per group into a folder, which is made if needed."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name, model in self._fitted().items():
            if Path(name).name != name:
                raise ArtifactError(
                    f"the group {name!r} cannot name a file; rename it before saving"
                )
            model.save(place / f"{name}{_SUFFIX}")
        return place

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, group: str) -> Self:
        """Read the models of a folder that :meth:`save` wrote."""
        files = sorted(Path(folder).glob(f"*{_SUFFIX}"))
        if not files:
            raise ArtifactError(f"{folder} holds no model ({_SUFFIX} files)")
        models = {file.name.removesuffix(_SUFFIX): ALoRa.load(file) for file in files}
        grouped = cls(next(iter(models.values())).clone(), group=group)
        grouped._time, grouped._columns, grouped._ignore = None, None, []
        grouped.models_ = models
        return grouped

    def _split(self, X: Any) -> Groups:
        return split_groups(
            X, group=self.group, time=self._time, columns=self._columns, ignore=self._ignore
        )

    def _fitted(self) -> dict[str, ALoRa]:
        if not hasattr(self, "models_"):
            raise NotFittedError("these models are not fitted yet; call fit or load first")
        return self.models_

    def _model(self, name: str) -> ALoRa:
        models = self._fitted()
        if name not in models:
            raise DataError(f"no model for the group {name!r}{nearest(name, models)}")
        return models[name]
