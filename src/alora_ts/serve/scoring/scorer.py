"""Scores the rows of one source, in order, and writes what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from alora_ts.diagnosis import Reading
from alora_ts.diagnosis.builder import Block
from alora_ts.diagnosis.repeats import WITHIN
from alora_ts.diagnosis.witnesses import Heard
from alora_ts.model.stream import Stream
from alora_ts.serve.incidents.patterns import is_silenced
from alora_ts.serve.incidents.updates import Change, Changes
from alora_ts.serve.models.cache import LoadedModels
from alora_ts.serve.notify.interface import EventKind
from alora_ts.serve.scoring.held import HeldRows
from alora_ts.serve.scoring.recent_rows import Past
from alora_ts.serve.scoring.restore import held_rows, push_time, replay, row_micros
from alora_ts.serve.scoring.source import Source
from alora_ts.serve.store.cells import pack_detail, unpack_cells
from alora_ts.serve.store.incidents import (
    incidents_from,
    last_incident_before,
    lasting_since,
    save_incidents,
    was_silenced,
)
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.outbox import post, was_told
from alora_ts.serve.store.progress import note_scored
from alora_ts.serve.store.rows import (
    RowBlock,
    raw_scores_before,
    read_readings,
    rows_from,
    save_readings,
)
from alora_ts.serve.store.sources import active_model, scored_until, scoring_state
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.summaries import refresh_summary
from alora_ts.serve.times import now_micros

__all__ = ["Scored", "Scorer"]

_AT_ONCE = 256


@dataclass
class Scored:
    """What one step found.

    Attributes
    ----------
    block : RowBlock
    changes : list of Change
        Incidents that began, changed, ended or were withdrawn.
    last : Reading
        Of the last row, its score by the source's own threshold.
    score : float
    alarm : bool
        Whether the last row alarms.
    lasts : bool
        Whether an anomaly that alarms is not over yet.
    latencies : list of float
        Seconds from each row's arrival to its stored reading.
    """

    block: RowBlock
    last: Reading
    score: float
    alarm: bool
    lasts: bool
    changes: list[Change] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)


class Scorer:
    """Follows one source; never used by two threads at once.

    Parameters
    ----------
    store : Store
    models : LoadedModels
    source : Source
    channels : callable giving names
        Who is notified of incidents.
    max_age : callable giving float
        For how many seconds the last row of an incident is news.
    lease : Lease, optional
        The right to score the source; without it nothing is written.
    """

    def __init__(
        self,
        store: Store,
        models: LoadedModels,
        source: Source,
        channels: Callable[[], Sequence[str]],
        *,
        max_age: Callable[[], float],
        lease: Lease | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._source = source
        self._channels = channels
        self._max_age = max_age
        self.lease = lease
        # Incidents that nobody was told of, because all that was known of them was old.
        self._untold: set[str] = set()
        self._stream: Stream | None = None
        self._next = 0
        self._bucket: int | None = None
        self._held = HeldRows()

    def step(self) -> Scored | None:
        """Score the next rows and store the readings; None when there is nothing to do."""
        source = self._source
        with self._store.reading() as connection:
            start, late_count = scoring_state(connection, source.id)
            if self._stream is None or source.reload or start < self._next:
                self._begin(connection, start)
            block = rows_from(
                connection, source.id, len(self._places), start=self._next, limit=_AT_ONCE
            )
        if len(block) == 0:
            return None
        try:
            readings = self._push(block)
            scored, records = self._judge(block, readings)
            if len(block) < _AT_ONCE:
                scored.changes += self._changes.withdraw()
            self._commit(scored, records, late_count)
        except BaseException:
            # Stream and builder have moved on while the store has not: begin again from there.
            self._stream = None
            raise
        return scored

    def _begin(self, connection: Connection, start: int) -> None:
        """Bring stream and builder into the state they had before ``start``."""
        source = self._source
        if source.reload:
            self._held = HeldRows()
        self._held.forget_from(start)
        source.reload = False
        self._model = self._models.get(source.active)
        self._model_id = source.active
        fitted = self._model.model_
        self._places = source.variables
        self._variables = fitted.preparation.variables
        self._columns = np.array([self._places.index(name) for name in self._variables])
        self._stream, block = replay(
            connection,
            self._model,
            source.id,
            len(self._places),
            self._columns,
            until=start,
            kept=self._held,
        )
        self._stream.follow_from(self._raw_scores(connection, start))
        self._next = start
        self._bucket = self._bucket_of(int(block.times[-1])) if len(block) else None
        self._builder = fitted.incident_builder()
        since = int(block.times[0]) if len(block) else start
        before = last_incident_before(connection, source.id, start)
        if before is not None and (before.state == "open" or before.end_us >= since):
            since = min(since, lasting_since(connection, source.id, before.start_us))
        else:
            before = None
        self._follow(connection, since, start)
        after = incidents_from(connection, source.id, start)
        going_on = [one.id for one in (before, *after) if one is not None and one.state == "open"]
        self._untold = {key for key in going_on if not was_told(connection, key)}
        self._changes = Changes(
            source_id=source.id,
            model_id=self._model_id,
            before=before,
            after=after,
            present=self._builder.open,
        )

    def _follow(self, connection: Connection, since: int, start: int) -> None:
        """Let the builder see the readings from ``since`` until ``start`` again."""
        source, d = self._source.id, len(self._places)
        before = held_rows(
            connection,
            self._model,
            source,
            d,
            self._columns,
            until=since,
            limit=self._model.model_.window - 1,
            kept=self._held,
        )
        self._past = Past(self._model, before)
        past = read_readings(connection, source, start=since, end=start)
        values = unpack_cells([row.cells for row in past], d)[:, self._columns]
        times = np.fromiter((row.time_us for row in past), np.int64, len(past))
        score, raw, drift, shift, novelty = (
            np.fromiter((getattr(row, name) for row in past), np.float64, len(past))
            for name in ("score", "raw", "drift", "shift", "novelty")
        )
        self._builder.push(
            Block(
                score=score,
                raw=raw / drift,
                warm_up=np.fromiter((row.warm_up for row in past), bool, len(past)),
                details=self._past.take(times, values),
                times=times,
                shift=shift,
                heard=self._heard(raw, drift, shift, novelty),
            )
        )

    def _raw_scores(
        self, connection: Connection, start: int
    ) -> list[tuple[float, float, float | None]]:
        """What the active model said of the last rows; another model's scores are no measure."""
        active = active_model(connection, self._source.id)
        return raw_scores_before(
            connection,
            self._source.id,
            end=start,
            arrived=0 if active is None else active.at_us,
            limit=self._model.model_.calibration.memory,
        )

    def _push(self, block: RowBlock) -> list[Reading]:
        assert self._stream is not None
        values = block.values[:, self._columns]
        times = [push_time(self._model, time) for time in block.times.tolist()]
        return self._stream.push_many(values, times=times)

    def _judge(
        self, block: RowBlock, readings: list[Reading]
    ) -> tuple[Scored, list[dict[str, Any]]]:
        source = self._source
        raw, drift, shift, novelty = (
            np.array([getattr(reading, name) for reading in readings])
            for name in ("raw", "drift", "shift", "novelty")
        )
        score = raw / (source.threshold * drift)
        expected, error, localization = (
            np.stack([getattr(reading, name) for reading in readings])
            for name in ("expected", "error", "localization")
        )
        pushed = self._builder.push(
            Block(
                score=score,
                raw=raw / drift,
                warm_up=np.array([reading.warm_up for reading in readings]),
                details=self._past.take(block.times, block.values[:, self._columns]),
                times=block.times,
                shift=shift,
                heard=self._heard(raw, drift, shift, novelty),
            )
        )
        for stretch in pushed.changed:
            self._changes.note(stretch)
        parts = [self._spread(part) for part in (expected, error, localization)]
        records = [
            {
                "source_id": source.id,
                "time_us": time,
                "score": float(score[at]),
                "raw": reading.raw,
                "drift": reading.drift,
                "shift": reading.shift,
                "novelty": reading.novelty,
                "spread": reading.spread,
                "rank": reading.rank,
                "warm_up": reading.warm_up,
                "alarm": bool(pushed.alarm[at]),
                "detail": pack_detail(*(part[at] for part in parts)),
            }
            for at, (time, reading) in enumerate(zip(block.times.tolist(), readings, strict=True))
        ]
        last = float(score[-1]), bool(pushed.alarm[-1]), self._builder.lasts
        return Scored(block, readings[-1], *last, self._changes.take()), records

    def _heard(self, *said: NDArray[np.float64]) -> Heard | None:
        """What the witnesses said: raw scores, drifts, shifts and novelties of rows."""
        known = self._model.model_.witnesses
        return None if known is None else known.hear(*said)

    def _spread(self, numbers: NDArray[np.floating]) -> NDArray[np.floating]:
        """The model's variables, (n, d), in the order in which the source's are stored."""
        spread = np.full((len(numbers), len(self._places)), np.nan)
        spread[:, self._columns] = numbers
        return spread

    def _commit(self, scored: Scored, records: list[dict[str, Any]], late_count: int) -> None:
        source, times = self._source, scored.block.times
        last = int(times[-1])
        touched = set(np.unique(times // source.bucket_us * source.bucket_us).tolist())
        if self._bucket is not None:
            touched.add(self._bucket)
        bucket = self._bucket_of(last)
        # The bucket of the newest row still grows.
        finished = sorted(touched - {bucket})
        channels = self._channels()
        # The rule counts rows from one incident's end to the next one's start.
        within = (WITHIN + 1) * row_micros(self._model)

        def write(connection: Connection) -> int:
            save_readings(connection, records)
            for start in finished:
                refresh_summary(
                    connection, source.id, len(self._places), start=start, width=source.bucket_us
                )
            for change in scored.changes:
                before = was_silenced(connection, change.record["id"])
                change.judged(is_silenced(connection, change.record), before=before)
            save_incidents(connection, [one.record for one in scored.changes], within=within)
            for change in scored.changes:
                for kind in self._news(connection, change):
                    post(connection, channels, kind, change.shown(source.name))
            if scored.lasts:
                going_on = last_incident_before(connection, source.id, last + 1)
                scored.lasts = going_on is None or not going_on.silenced
            scored_until(connection, source.id, last + 1, late_count)
            # A block that is not full was the last one.
            full = len(times) == _AT_ONCE
            return note_scored(connection, source.id, len(times), until=last + 1, last=not full)

        source.note_waiting(self._store.writer.run(write, source=source.id, lease=self.lease))
        now = source.scored_at = now_micros()
        scored.latencies = ((now - scored.block.arrived) / 1e6).tolist()
        self._next, self._bucket = last + 1, bucket
        if (held := self._past.held) is not None:
            self._held.note(last, held, rows=len(times))

    def _news(self, connection: Connection, change: Change) -> tuple[EventKind, ...]:
        """What to tell of a change.

        Rows that are filled in later bring no news of the past, nor does what is silenced.
        """
        key, told = change.record["id"], change.told
        old = change.record["end_us"] < now_micros() - self._max_age() * 1e6
        if old or change.record["silenced"]:
            if "opened" in told:
                self._untold.add(key)
            # Who heard that it began hears that it ended.
            told = ("closed",) if "closed" in told and key not in self._untold else ()
        elif key in self._untold:
            self._untold.discard(key)
            # A verdict that was taken back may have told of it meanwhile.
            if not was_told(connection, key):
                told = ("opened", *(kind for kind in told if kind == "closed"))
        elif change.flipped and not told:
            told = ("updated",)
        if change.record["state"] != "open":
            self._untold.discard(key)
        return told

    def _bucket_of(self, time: int) -> int:
        return time // self._source.bucket_us * self._source.bucket_us
