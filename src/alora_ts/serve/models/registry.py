"""Models and which source uses which."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from alora_ts.errors import ArtifactError
from alora_ts.serve.models.cache import (
    LoadedModels,
    UnknownModelError,
    describe_model,
    read_model,
)
from alora_ts.serve.problems import ConflictError
from alora_ts.serve.scoring.restore import UNTIMED_MICROS, row_micros
from alora_ts.serve.scoring.source import Source, Sources, check_source_name
from alora_ts.serve.store.models import find_model, model_cards, save_model
from alora_ts.serve.store.progress import count_waiting, recount_rows
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.rows import first_of_newest, first_time
from alora_ts.serve.store.sources import (
    activate,
    add_source,
    all_progress,
    all_sources,
    begin_scoring,
    ever_activated,
    recalibrated,
    recalibrated_sources,
    roll_back,
    set_variables,
    variables_of,
    what_there_is,
)
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.summaries import first_summaries
from alora_ts.serve.times import from_micros, now_micros

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
        # What was read before a change must not be taken up after it.
        self._lock = threading.RLock()
        self._there_is: tuple[int, ...] = ()

    def load(self) -> None:
        """Load the sources that the store knows, and see how far each is.

        Called again to see what other processes have changed.
        """
        with self._lock:
            self._load()

    def follow(self) -> None:
        """See how far other processes have brought the sources.

        Every process does so every few seconds. Names, variables and models, which are most of
        what is stored of a source, are read again only where one may have changed.
        """
        with self._lock:
            known = {source.id: source for source in self._sources.all()}
            with self._store.reading() as connection:
                there_is = what_there_is(connection)
                records = all_progress(connection)
                growing = [source for source in known.values() if source.collecting]
                for source in growing:
                    _grow(source, variables_of(connection, source.id))
            if there_is != self._there_is or len(records) != len(known):
                self._load()
                self._there_is = there_is
                return
            for record in records:
                _update(known[record.id], record)

    def _load(self) -> None:
        known = {source.name: source for source in self._sources.all()}
        with self._store.reading() as connection:
            cards: dict[str, dict[str, Any]] | None = None
            moved: set[int] = set()
            firsts: dict[int, int] = {}
            for record in all_sources(connection):
                source = known.get(record.name)
                if source is not None:
                    _update(source, record)
                    _grow(source, tuple(record.variables))
                    if record.model_id == source.model_id:
                        continue
                wanted, threshold = tuple(record.variables), math.inf
                if cards is None:
                    cards, moved = model_cards(connection), recalibrated_sources(connection)
                    firsts = first_summaries(connection)
                if record.model_id is not None:
                    card = cards[record.model_id]
                    wanted, threshold = tuple(card["variables"]), float(card["threshold"])
                    if record.id in moved:
                        found = recalibrated(connection, record.id, record.model_id)
                        threshold = threshold if found is None else float(found.value)
                if source is not None:
                    source.bucket_us = record.bucket_us
                    _take_up(source, tuple(record.variables), record.model_id, wanted, threshold)
                    _update(source, record)
                    continue
                source = Source(
                    id=record.id,
                    name=record.name,
                    variables=tuple(record.variables),
                    model_id=record.model_id,
                    wanted=wanted,
                    bucket_us=record.bucket_us,
                    newest=None,
                    first=_first(firsts.get(record.id), record.bucket_us, record.oldest_us),
                    rows=0,
                    threshold=threshold,
                    arrived=record.arrived_us,
                )
                _update(source, record)
                self._sources.add(source)

    def import_files(self, files: Mapping[str, Path]) -> None:
        """Let sources begin with model files that the operator named.

        A file that a source has used before changes nothing: another model may have been
        activated since, and a restart must not undo that.

        Parameters
        ----------
        files : mapping of str to Path
            By source. A file that thousands share is read once.
        """
        keys = {path: self._import(path) for path in dict.fromkeys(files.values())}
        with self._store.reading() as connection:
            used = ever_activated(connection)
        for name, path in files.items():
            if (name, keys[path]) not in used:
                self.activate(name, keys[path])

    def _import(self, path: Path) -> str:
        try:
            file = path.read_bytes()
        except OSError as error:
            raise ArtifactError(f"cannot read the model {path}: {error.strerror}") from error
        try:
            return self.add(file, name=path.stem, origin="file")
        except ArtifactError as error:
            raise ArtifactError(str(error).replace("the file", str(path))) from error

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

        check_source_name(name)
        with self._lock:
            source = Source(
                id=self._store.change("source made", name, write, {"model": None}),
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
        self._changed(source)
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

        def write(connection: Connection) -> tuple[float, int | None]:
            waiting = None
            if collected:
                begin_scoring(connection, known.id, bucket=known.bucket_us, start=start)
                waiting = count_waiting(connection, known.id, since=start)
            if variables != known.variables:
                set_variables(connection, known.id, variables)
            activate(connection, known.id, model_id)
            return self._threshold(connection, known.id, model_id), waiting

        with self._lock:
            threshold, waiting = self._store.change("model activated", name, write, detail)
            if waiting is not None:
                known.scored_from = start
                known.note_waiting(waiting)
            _take_up(known, variables, model_id, wanted, threshold)
        self._changed(known)
        return known

    def roll_back(self, name: str) -> Source:
        """Let a source return to the model it used before."""
        source = self._sources.get(name)

        def write(connection: Connection) -> tuple[str, float]:
            model_id = roll_back(connection, source.id)
            if model_id is None:
                raise ConflictError(f"the source {name!r} has no earlier model to return to")
            return model_id, self._threshold(connection, source.id, model_id)

        with self._lock:
            model_id, threshold = self._store.change("model rolled back", name, write)
            wanted = self._models.get(model_id).model_.preparation.variables
            _take_up(source, source.variables, model_id, wanted, threshold)
        self._changed(source)
        return source

    def recount(self, source: Source) -> None:
        """Bring a source's counts in step with what is still stored."""
        with self._store.reading() as connection:
            oldest = first_time(connection, source.id)
        if oldest != source.rows_from:
            counted = self._store.writer.run(lambda c: recount_rows(c, source.id), source=source.id)
            source.rows, source.rows_from = counted
        with self._store.reading() as connection:
            first = first_summaries(connection, source.id).get(source.id)
        source.first = _first(first, source.bucket_us, oldest)

    def see_threshold(self, source: Source) -> None:
        """Read a source's alarm level, which another process may have changed."""
        with self._store.reading() as connection:
            source.threshold = self._threshold(connection, source.id, source.active)

    def refresh_threshold(self, source: Source) -> float:
        """Update a source's alarm level after recalibrations."""
        self.see_threshold(source)
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
        # Every process asks for it, and only some of them score with the model.
        known = find_model(connection, model_id)
        if known is None:
            raise UnknownModelError(f"there is no model {model_id!r}; GET /models lists them")
        return float(known.card["threshold"])

    def _make(self, name: str, model_id: str, wanted: tuple[str, ...]) -> Source:
        model, bucket = self._models.get(model_id).model_, self._bucket(model_id)

        def write(connection: Connection) -> int:
            number = add_source(connection, name, wanted, bucket)
            activate(connection, number, model_id)
            return number

        with self._lock:
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
    source: Source,
    variables: tuple[str, ...],
    model_id: str | None,
    wanted: tuple[str, ...],
    threshold: float,
) -> None:
    source.variables = variables
    source.model_id = model_id
    source.wanted = wanted
    source.threshold = threshold
    source.reload = True


def _update(source: Source, record: Record) -> None:
    """See how far a source is."""
    source.newest, source.rows_from = record.newest_us, record.oldest_us
    source.rows = record.row_count
    # Nothing waits to be scored where there is no model.
    source.note_waiting(0 if source.collecting else record.unscored)
    # Whoever scores it: where rows are being scored, none has waited since before that.
    scored = record.row_count - record.unscored
    if scored > source.scored:
        source.scored_at = now_micros()
    source.scored = scored
    if record.arrived_us != source.arrived:
        source.arrived, source.heard = record.arrived_us, now_micros()
    if source.first is None or record.oldest_us is None:
        source.first = record.oldest_us


def _grow(source: Source, variables: tuple[str, ...]) -> None:
    """See which variables a source without a model has by now."""
    if source.collecting and len(variables) > len(source.variables):
        source.variables = source.wanted = variables


def _first(summary: int | None, bucket: int, oldest: int | None) -> int | None:
    """Where a source begins: its oldest row, or a summary whose rows are deleted."""
    if summary is None or (oldest is not None and summary + bucket > oldest):
        return oldest
    return summary
