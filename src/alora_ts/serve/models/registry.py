"""Models and which source uses which."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

from sqlalchemy import Connection

from alora_ts.errors import ArtifactError
from alora_ts.serve.models.cache import LoadedModels, describe_model, read_model
from alora_ts.serve.problems import ConflictError
from alora_ts.serve.scoring.restore import UNTIMED_MICROS, row_micros
from alora_ts.serve.scoring.source import Source, Sources, check_source_name
from alora_ts.serve.store.models import save_model
from alora_ts.serve.store.rows import (
    count_rows,
    first_of_newest,
    first_time,
    last_arrival,
    newest_time,
)
from alora_ts.serve.store.sources import (
    activate,
    active_model,
    add_source,
    all_sources,
    begin_scoring,
    recalibrated,
    roll_back,
    set_variables,
    was_activated,
)
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.summaries import first_summary
from alora_ts.serve.times import from_micros

__all__ = ["Registry"]

_ROWS_IN_BUCKET = 256
_COLLECTED = 50_000


class Registry:
    """Brings models in and lets sources use them.

    Parameters
    ----------
    store : Store
    models : LoadedModels
    sources : Sources
    changed : callable
        Called with a source whose model or alarm level has changed.
    """

    def __init__(
        self,
        store: Store,
        models: LoadedModels,
        sources: Sources,
        *,
        changed: Callable[[Source], None],
    ) -> None:
        self._store = store
        self._models = models
        self._sources = sources
        self._changed = changed

    def load(self) -> None:
        """Load the sources that the store knows."""
        with self._store.reading() as connection:
            for record in all_sources(connection):
                active = active_model(connection, record.id)
                model_id = None if active is None else active.model_id
                oldest = first_time(connection, record.id)
                self._sources.add(
                    Source(
                        id=record.id,
                        name=record.name,
                        variables=tuple(record.variables),
                        model_id=model_id,
                        wanted=tuple(record.variables)
                        if model_id is None
                        else self._models.get(model_id).model_.preparation.variables,
                        bucket_us=record.bucket_us,
                        newest=newest_time(connection, record.id),
                        arrived=last_arrival(connection, record.id),
                        first=_first(connection, record.id, record.bucket_us, oldest),
                        rows_from=oldest,
                        rows=count_rows(connection, record.id),
                        threshold=math.inf
                        if model_id is None
                        else self._threshold(connection, record.id, model_id),
                        unscored=0
                        if model_id is None
                        else count_rows(connection, record.id, start=record.score_from_us),
                    )
                )

    def import_file(self, name: str, path: Path) -> None:
        """Let a source begin with a model file that the operator named.

        A file that the source has used before changes nothing: another model may have been
        activated since, and a restart must not undo that.
        """
        try:
            file = path.read_bytes()
        except OSError as error:
            raise ArtifactError(f"cannot read the model {path}: {error.strerror}") from error
        try:
            key = self.add(file, name=path.stem, origin="file")
        except ArtifactError as error:
            raise ArtifactError(str(error).replace("the file", str(path))) from error
        known = {source.name: source for source in self._sources.all()}
        if name in known:
            with self._store.reading() as connection:
                if was_activated(connection, known[name].id, key):
                    return
        self.activate(name, key)

    def add(self, file: bytes, *, name: str, origin: str) -> str:
        """Check a model file and keep it; returns its id."""
        card = describe_model(read_model(file))

        def write(connection: Connection) -> str:
            return save_model(connection, name=name, origin=origin, card=card, file=file)

        # A fit has an entry of its own, and the settings' files are offered at every start.
        if origin == "upload":
            return self._store.change("model uploaded", name, write)
        return self._store.writer.run(write)

    def collect(self, name: str) -> Source:
        """Make a source without a model: it keeps rows to learn from."""
        if name in {source.name for source in self._sources.all()}:
            raise ConflictError(f"there is a source {name!r} already; choose another name")

        def write(connection: Connection) -> int:
            return add_source(connection, name, (), UNTIMED_MICROS * _ROWS_IN_BUCKET)

        source = Source(
            id=self._store.change("source made", check_source_name(name), write, {"model": None}),
            name=name,
            variables=(),
            model_id=None,
            wanted=(),
            bucket_us=UNTIMED_MICROS * _ROWS_IN_BUCKET,
            newest=None,
            first=None,
            rows=0,
            threshold=math.inf,
        )
        self._sources.add(source)
        return source

    def collect_once(self, names: Iterable[str]) -> None:
        """Make those of some sources that are not there yet."""
        known = {source.name for source in self._sources.all()}
        for name in names:
            if name not in known:
                self.collect(name)

    def activate(self, name: str, model_id: str, *, since: int | None = None) -> Source:
        """Let a source, known or new, use a model from its next row on.

        One that collected until now is scored from ``since`` on, or from the first of its newest
        50,000 rows, whichever is later.
        """
        model = self._models.get(model_id)
        wanted = model.model_.preparation.variables
        known = {source.name: source for source in self._sources.all()}.get(name)
        if known is None:
            return self._make(check_source_name(name), model_id, wanted)
        variables = (*known.variables, *(v for v in wanted if v not in known.variables))
        detail: dict[str, str] = {"model": model_id}
        collected, start = known.collecting, -(2**62)
        if collected:
            known.bucket_us = self._bucket(model_id)
            start = self._scored_from(known, since)
            detail["scored_from"] = from_micros(start)

        def write(connection: Connection) -> float:
            if collected:
                begin_scoring(connection, known.id, bucket=known.bucket_us, start=start)
            if variables != known.variables:
                set_variables(connection, known.id, variables)
            activate(connection, known.id, model_id)
            return self._threshold(connection, known.id, model_id)

        threshold = self._store.change("model activated", name, write, detail)
        if collected:
            known.scored_from = start
            with self._store.reading() as connection:
                known.unscored = count_rows(connection, known.id, start=start)
        self._take_up(known, variables, model_id, wanted, threshold)
        return known

    def roll_back(self, name: str) -> Source:
        """Let a source return to the model it used before."""
        source = self._sources.get(name)

        def write(connection: Connection) -> tuple[str, float]:
            model_id = roll_back(connection, source.id)
            if model_id is None:
                raise ConflictError(f"the source {name!r} has no earlier model to return to")
            return model_id, self._threshold(connection, source.id, model_id)

        model_id, threshold = self._store.change("model rolled back", name, write)
        wanted = self._models.get(model_id).model_.preparation.variables
        self._take_up(source, source.variables, model_id, wanted, threshold)
        return source

    def recount(self, source: Source) -> None:
        """Bring a source's counts in step with what is still stored."""
        with self._store.reading() as connection:
            oldest = first_time(connection, source.id)
            if oldest != source.rows_from:
                source.rows = count_rows(connection, source.id)
                source.rows_from = oldest
            source.first = _first(connection, source.id, source.bucket_us, oldest)

    def refresh_threshold(self, source: Source) -> float:
        """Update a source's alarm level after recalibrations."""
        with self._store.reading() as connection:
            source.threshold = self._threshold(connection, source.id, source.active)
        self._changed(source)
        return source.threshold

    def own_threshold(self, source: Source) -> float:
        """The alarm level a source's model was fitted with."""
        return self._models.get(source.active).model_.calibration.threshold.value

    def _threshold(self, connection: Connection, source: int, model_id: str) -> float:
        """The model's own alarm level, or the one somebody asked to recalibrate it to."""
        found = recalibrated(connection, source, model_id)
        if found is not None:
            return float(found.value)
        return self._models.get(model_id).model_.calibration.threshold.value

    def _make(self, name: str, model_id: str, wanted: tuple[str, ...]) -> Source:
        model, bucket = self._models.get(model_id).model_, self._bucket(model_id)

        def write(connection: Connection) -> int:
            number = add_source(connection, name, wanted, bucket)
            activate(connection, number, model_id)
            return number

        source = Source(
            id=self._store.change("source made", name, write, {"model": model_id}),
            name=name,
            variables=wanted,
            model_id=model_id,
            wanted=wanted,
            bucket_us=bucket,
            newest=None,
            first=None,
            rows=0,
            threshold=model.calibration.threshold.value,
        )
        self._sources.add(source)
        self._changed(source)
        return source

    def _bucket(self, model_id: str) -> int:
        return row_micros(self._models.get(model_id)) * _ROWS_IN_BUCKET

    def _scored_from(self, source: Source, since: int | None) -> int:
        """Where scoring begins: more rows than these would keep new ones waiting for long."""
        with self._store.reading() as connection:
            oldest = first_of_newest(connection, source.id, _COLLECTED)
        if oldest is None:
            return -(2**62)
        return oldest if since is None else max(oldest, since)

    def _take_up(
        self,
        source: Source,
        variables: tuple[str, ...],
        model_id: str,
        wanted: tuple[str, ...],
        threshold: float,
    ) -> None:
        source.variables = variables
        source.model_id = model_id
        source.wanted = wanted
        source.threshold = threshold
        source.reload = True
        self._changed(source)


def _first(connection: Connection, source: int, bucket: int, oldest: int | None) -> int | None:
    """Where a source begins: its oldest row, or a summary whose rows are deleted."""
    summary = first_summary(connection, source)
    if summary is None or (oldest is not None and summary + bucket > oldest):
        return oldest
    return summary
