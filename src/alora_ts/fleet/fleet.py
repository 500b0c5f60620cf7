"""Fleet: one model per entity, made by many workers, kept in one folder."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import polars as pl

from alora_ts.data.form import FileForm
from alora_ts.data.frames import Choices
from alora_ts.data.sources import as_paths, read_file_blocks
from alora_ts.errors import AloraError, DataError, NotFittedError, nearest
from alora_ts.estimator import ALoRa
from alora_ts.fleet.engine import Engine
from alora_ts.fleet.entities import Entity, list_files, list_partitions
from alora_ts.fleet.local import LocalEngine
from alora_ts.fleet.memory import estimate_memory
from alora_ts.fleet.pooled import PoolOrder, draw_sample, fit_pooled
from alora_ts.fleet.settings import Settings, WarmStart
from alora_ts.fleet.staging import stage_groups
from alora_ts.fleet.status import Action, Status, read_status, write_status
from alora_ts.fleet.storage import Store, fetched
from alora_ts.fleet.tally import Tally
from alora_ts.fleet.view import FleetView
from alora_ts.fleet.work import (
    Order,
    Outcome,
    detect_entity,
    diagnosis_name,
    fit_entity,
    model_name,
)
from alora_ts.progress import Progress, reporting

__all__ = ["Fleet"]

_STAGING = "staging"
_LOOKED_AT = 5


class Fleet:
    """A model for each of many entities, fitted and used by parallel workers.

    Parameters
    ----------
    estimator : ALoRa
        How each entity is fitted; it is cloned, never changed.
    warm_start : WarmStart, optional
        Begin each fit with a pooled model of some entities, and fit shortly.
    engine : Engine, optional
        Who does the work: a :class:`~alora_ts.fleet.LocalEngine` (the default) or a
        :class:`~alora_ts.fleet.RayEngine`. Both give the same files, byte for byte.

    Attributes
    ----------
    tally_ : Tally
        What the last run did: entities done, skipped, failed, and the CPU time they took.

    Notes
    -----
    Everything a fleet knows is in its folder: ``fleet.json``, and for each entity its model, its
    newest diagnosis and a status. Workers write there themselves. A run that was stopped resumes
    where it was: an entity whose status names the same rows and the same choices is skipped.

    :class:`~alora_ts.grouped.GroupedALoRa` is the in-memory alternative: the groups of one table
    that fits into memory, fitted one after the other, answered in one table.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> table = pl.DataFrame({"host": ["a"] * 90 + ["b"] * 90,
    ...                       "load": rng.normal(size=180), "heat": rng.normal(size=180)})
    >>> fleet = Fleet(ALoRa(window=4, epochs=1, epoch_windows=64), engine=LocalEngine(workers=1))
    >>> view = fleet.fit(table, group="host").diagnose(table, group="host")
    >>> [entity.name for entity in view.entities]
    ['a', 'b']
    """

    def __init__(
        self,
        estimator: ALoRa,
        *,
        warm_start: WarmStart | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.estimator = estimator
        self.warm_start = warm_start
        self.engine: Engine = LocalEngine() if engine is None else engine

    def fit(
        self,
        X: Any,
        *,
        group: str | None = None,
        output: str | os.PathLike[str] | None = None,
        time: str | None = None,
        columns: Iterable[str] | None = None,
        ignore: Iterable[str] = (),
        label: str | None = None,
        form: FileForm | None = None,
        progress: Progress = None,
    ) -> Self:
        """Fit a model for each entity.

        Parameters
        ----------
        X : frame or path
            A table with a column that names the entity; a folder (or glob) with one CSV or Parquet
            file per entity; or a Parquet dataset with folders ``group=name``. Paths may be URLs
            that fsspec knows.
        group : str, optional
            The column or partition that names the entity; None for a folder of files.
        output : path or URL, optional
            The fleet's folder, which all workers can write to; made if needed. An earlier run's
            results there are kept where they are still right. By default a temporary one.
        time, columns, ignore, label, form
            As for :meth:`ALoRa.fit`.
        progress : bool, callable or None
            None shows a bar on a terminal.

        Returns
        -------
        Fleet
            Itself. Entities that failed are listed by :meth:`status`.

        Raises
        ------
        DataError
            When the input cannot be read, or not a single entity could be fitted.
        """
        self.estimator.fit_options()  # refuses bad parameters before any work
        settings = Settings(
            # Workers have one thread each, whatever suits a single model.
            parameters={**self.estimator.plain_params(), "threads": None},
            time=time,
            columns=None if columns is None else tuple(columns),
            ignore=tuple(ignore),
            label=label,
            form=form,
            warm_start=self.warm_start,
        )
        store = self._new_store(output)
        entities = self._entities(X, group, store, "fit", form)
        settings = replace(settings, expected=_common_columns(entities, settings))
        if settings.warm_start is not None:
            settings = replace(settings, pooled=self._fit_pooled(entities, store, settings))
        settings.save(store)
        self._store, self._settings = store, settings
        orders = (Order(entity, store.url, settings) for entity in entities)
        self._run(fit_entity, orders, "fit", total=len(entities), progress=progress)
        store.remove(_STAGING)
        if not self.tally_.done + self.tally_.skipped:
            name, reason = next(iter(self.tally_.reasons.items()))
            raise DataError(f"no entity could be fitted; {name!r}: {reason}")
        return self

    def diagnose(
        self,
        X: Any,
        *,
        group: str | None = None,
        time: str | None = None,
        variables: bool = False,
        progress: Progress = None,
    ) -> FleetView:
        """Score each entity's rows with its model.

        Parameters
        ----------
        X, group
            As for :meth:`fit`.
        time : str, optional
            The time column, where it has another name than in training.
        variables : bool
            Write each variable's localization score beside the scores.
        progress : bool, callable or None
            None shows a bar on a terminal.

        Returns
        -------
        FleetView
            Of the entities in X.
        """
        store, settings = self._fitted()
        entities = self._entities(X, group, store, "detect", settings.form)
        orders = (
            Order(entity, store.url, settings, time=time, variables=variables)
            for entity in entities
        )
        self._run(detect_entity, orders, "detect", total=len(entities), progress=progress)
        store.remove(_STAGING)
        return FleetView.read(store, only=[entity.name for entity in entities])

    def status(self) -> FleetView:
        """What is known of every entity: fits, diagnoses, failures."""
        return FleetView.read(self._fitted()[0])

    def model(self, entity: str) -> ALoRa:
        """The model of one entity."""
        store, _ = self._fitted()
        status = self._known(entity, "fit")
        if status.state != "done":
            raise NotFittedError(f"{entity!r} has no model: {status.reason}")
        with store.reading(model_name(entity)) as path:
            return ALoRa.load(path)

    def scores(self, entity: str) -> pl.DataFrame:
        """The newest scores of one entity's rows."""
        store, _ = self._fitted()
        status = self._known(entity, "detect")
        if status.state != "done":
            raise NotFittedError(f"{entity!r} was not diagnosed: {status.reason}")
        with store.reading(diagnosis_name(entity)) as path:
            return pl.read_parquet(path)

    def save(self, folder: str | os.PathLike[str]) -> str:
        """Copy the fleet to another folder or URL; return its address."""
        store, _ = self._fitted()
        target = Store(folder)
        if target.url != store.url:
            store.copy_to(target)
        return target.url

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, engine: Engine | None = None) -> Self:
        """Open a fleet that :meth:`fit` or :meth:`save` wrote."""
        store = Store(folder)
        settings = Settings.load(store)
        fleet = cls(settings.estimator(), warm_start=settings.warm_start, engine=engine)
        fleet._store, fleet._settings = store, settings
        return fleet

    def _new_store(self, output: str | os.PathLike[str] | None) -> Store:
        if output is None:
            output = tempfile.mkdtemp(prefix="alora-fleet-")
            # Lives as long as the fleet does.
            weakref.finalize(self, shutil.rmtree, output, ignore_errors=True)
        store = Store(output)
        if store.folder is not None:
            if store.folder.is_file():
                raise AloraError(f"cannot write the fleet to {store.url}: it is a file")
            store.folder.mkdir(parents=True, exist_ok=True)
        return store

    def _fitted(self) -> tuple[Store, Settings]:
        if not hasattr(self, "_store"):
            raise NotFittedError("this fleet is not fitted yet; call fit or Fleet.load first")
        return self._store, self._settings

    def _known(self, entity: str, action: Action) -> Status:
        store, _ = self._fitted()
        status = read_status(store, entity, action)
        if status is None:
            names = [each.name for each in self.status().entities]
            raise DataError(f"nothing is known of {entity!r}{nearest(entity, names)}")
        return status

    def _entities(
        self, X: Any, group: str | None, store: Store, action: Action, form: FileForm | None
    ) -> list[Entity]:
        paths = as_paths(X)
        if group is None:
            if paths is None or isinstance(X, list | tuple):
                raise DataError("say which column names the entity with group=")
            return list_files(X)
        if paths is not None and not isinstance(X, list | tuple):
            partitions = list_partitions(X, group=group)
            if partitions is not None:
                return partitions
        return stage_groups(X, group=group, store=store, folder=f"{_STAGING}/{action}", form=form)

    def _fit_pooled(self, entities: Sequence[Entity], store: Store, settings: Settings) -> str:
        assert settings.warm_start is not None
        sample = draw_sample(entities, settings.warm_start, seed=self.estimator.seed)
        order = PoolOrder(sample, store.url, settings)
        running = self.engine.map(
            fit_pooled, [order], memory=lambda each: sum(map(_memory, each.sample))
        )
        (finished,) = running
        if finished.result is None:
            raise DataError(f"the pooled model cannot be fitted: {finished.error}")
        return finished.result

    def _run(
        self,
        work: Callable[[Order], Outcome],
        orders: Iterator[Order],
        action: Action,
        *,
        total: int,
        progress: Progress,
    ) -> None:
        store, _ = self._fitted()
        store.sweep()
        self.tally_ = Tally(total)
        task = {"fit": "fitting", "detect": "judging"}[action]
        running = self.engine.map(work, orders, memory=lambda order: _memory(order.entity))
        try:
            with reporting(progress) as report:
                report(self.tally_.step(task))
                for finished in running:
                    name, outcome = finished.task.entity.name, finished.result
                    if outcome is None:
                        # The worker could not say it, so the driver does.
                        write_status(store, Status(name, action, "failed", "", finished.error))
                        outcome = Outcome("failed", finished.error, 0.0)
                    self.tally_.add(name, outcome, finished.node)
                    report(self.tally_.step(task))
        finally:
            # An interrupt ends the workers first, so that nobody writes when parts are removed.
            running.close()
            store.sweep()


def _memory(entity: Entity) -> int:
    return estimate_memory(entity.sizes())


def _common_columns(entities: Sequence[Entity], settings: Settings) -> tuple[str, ...] | None:
    """The columns most of the first entities have, as the first of these orders them.

    None where none of them can be read.
    """
    seen, order = Counter[tuple[str, ...]](), dict[tuple[str, ...], tuple[str, ...]]()
    choices = Choices.of(
        settings.time,
        settings.columns,
        settings.ignore,
        label=settings.label,
        form=settings.form,
    )
    for entity in entities[:_LOOKED_AT]:
        try:
            with fetched(entity.files[:1]) as paths:
                table = next(read_file_blocks(paths, choices, rows=1000, progress=False))
        except (AloraError, OSError):
            continue
        names = tuple(sorted(table.variables))
        seen[names] += 1
        order.setdefault(names, table.variables)
    return order[seen.most_common(1)[0][0]] if seen else None
