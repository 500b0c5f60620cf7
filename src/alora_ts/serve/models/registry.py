"""Models and which source uses which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from alora_ts.errors import ArtifactError
from alora_ts.serve.models.cache import LoadedModels, describe_model, read_model
from alora_ts.serve.models.levels import effective_threshold, moved_levels
from alora_ts.serve.problems import ConflictError
from alora_ts.serve.scoring.source import Source, Sources, check_source_name
from alora_ts.serve.store.models import model_cards, save_model
from alora_ts.serve.store.progress import recount_rows
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.rows import first_time
from alora_ts.serve.store.sources import (
    activate,
    add_source,
    all_sources,
    roll_back,
    set_variables,
    was_activated,
)
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.summaries import first_summaries

__all__ = ["Registry"]

_ROWS_IN_BUCKET = 256
_UNTIMED_STEP = 1.0


class Registry:
    """Brings models in and lets sources use them.

    Parameters
    ----------
    store : Store
    models : LoadedModels
    sources : Sources
    feedback_limit : callable giving float
    changed : callable
        Called with a source whose model or alarm level has changed.
    """

    def __init__(
        self,
        store: Store,
        models: LoadedModels,
        sources: Sources,
        *,
        feedback_limit: Callable[[], float],
        changed: Callable[[Source], None],
    ) -> None:
        self._store = store
        self._models = models
        self._sources = sources
        self._feedback_limit = feedback_limit
        self._changed = changed

    def load(self) -> None:
        """Load the sources that the store knows, and see how far each is.

        Called again to see what other processes have changed.
        """
        known = {source.name: source for source in self._sources.all()}
        with self._store.reading() as connection:
            cards: dict[str, dict[str, Any]] | None = None
            moved: set[int] = set()
            firsts: dict[int, int] = {}
            for record in all_sources(connection):
                source = known.get(record.name)
                if source is not None:
                    _update(source, record)
                    if record.model_id == source.model_id:
                        continue
                if record.model_id is None:
                    continue
                if cards is None:
                    cards, moved = model_cards(connection), moved_levels(connection)
                    firsts = first_summaries(connection)
                card = cards[record.model_id]
                wanted, threshold = tuple(card["variables"]), float(card["threshold"])
                if record.id in moved:
                    threshold = self._level(connection, record.id, record.model_id, threshold)
                if source is not None:
                    _take_up(source, tuple(record.variables), record.model_id, wanted, threshold)
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
                )
                _update(source, record)
                self._sources.add(source)

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

    def activate(self, name: str, model_id: str) -> Source:
        """Let a source, known or new, use a model from its next row on."""
        model = self._models.get(model_id)
        wanted = model.model_.preparation.variables
        known = {source.name: source for source in self._sources.all()}.get(name)
        if known is None:
            return self._make(check_source_name(name), model_id, wanted)
        variables = (*known.variables, *(v for v in wanted if v not in known.variables))

        def write(connection: Connection) -> float:
            if variables != known.variables:
                set_variables(connection, known.id, variables)
            activate(connection, known.id, model_id)
            return self._threshold(connection, known.id, model_id)

        threshold = self._store.change("model activated", name, write, {"model": model_id})
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
            source.threshold = self._threshold(connection, source.id, source.model_id)

    def refresh_threshold(self, source: Source) -> float:
        """Update a source's alarm level after verdicts and recalibrations."""
        self.see_threshold(source)
        self._changed(source)
        return source.threshold

    def own_threshold(self, source: Source) -> float:
        """The alarm level a source's model was fitted with."""
        return self._models.get(source.model_id).model_.calibration.threshold.value

    def _threshold(self, connection: Connection, source: int, model_id: str) -> float:
        own = self._models.get(model_id).model_.calibration.threshold.value
        return self._level(connection, source, model_id, own)

    def _level(self, connection: Connection, source: int, model_id: str, own: float) -> float:
        return effective_threshold(
            connection, source, model_id, own=own, limit=self._feedback_limit()
        )

    def _make(self, name: str, model_id: str, wanted: tuple[str, ...]) -> Source:
        model = self._models.get(model_id).model_
        timed = model.preparation.fitted.time == "datetime"
        step = (model.preparation.step if timed else None) or _UNTIMED_STEP
        bucket = max(1, round(step * _ROWS_IN_BUCKET * 1e6))

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


def _take_up(
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


def _update(source: Source, record: Record) -> None:
    """See how far a source is."""
    source.newest, source.rows_from = record.newest_us, record.oldest_us
    source.rows, source.unscored = record.row_count, record.unscored
    source.arrived = record.arrived_us
    if source.first is None or record.oldest_us is None:
        source.first = record.oldest_us


def _first(summary: int | None, bucket: int, oldest: int | None) -> int | None:
    """Where a source begins: its oldest row, or a summary whose rows are deleted."""
    if summary is None or (oldest is not None and summary + bucket > oldest):
        return oldest
    return summary
