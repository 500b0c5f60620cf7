"""How long things are kept, and the task that deletes what is older."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from alora_ts.serve.store.partitions import drop_partitions, prepare_partitions
from alora_ts.serve.store.record import Record
from alora_ts.serve.store.retention import (
    delete_models,
    delete_notifications,
    delete_readings,
    delete_rows,
    delete_summaries,
    give_back,
    kept_from,
    oldest_of_all,
)
from alora_ts.serve.store.sources import scoring_starts, scoring_state
from alora_ts.serve.times import now_micros

if TYPE_CHECKING:
    from alora_ts.serve.scoring.source import Source
    from alora_ts.serve.service import Service

__all__ = ["KeepSettings", "clean_up", "keep_clean"]

_log = logging.getLogger("alora_ts.serve")
_EVERY = 600.0
_BREATH = 0.02  # seconds between deletions, in which others write
_DAY = 86_400_000_000

_Days = Annotated[float, Field(ge=0, le=36_500)]


class KeepSettings(BaseModel):
    """``[keep]``: days after which things are deleted; 0 keeps them for ever.

    What belongs to a source is counted back from its newest row, not from the clock: rows of last
    year that are sent today are not old, and a source keeps so many days of itself.

    Attributes
    ----------
    rows
        Rows with their readings.
    readings
        Readings alone: scores, expectations and errors; their incidents stay.
    summaries
        What charts of long ranges are drawn from.
    notifications
        Those that were sent or given up.
    models
        Models that no source ever used.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: _Days = 90.0
    readings: _Days = 90.0
    summaries: _Days = 1100.0
    notifications: _Days = 30.0
    models: _Days = 90.0


async def keep_clean(service: Service) -> None:
    """Delete what is too old, every ten minutes until cancelled."""
    while True:
        try:
            await clean_up(service)
        except SQLAlchemyError as error:
            _log.warning("cannot delete what is too old: %s", type(error).__name__)
        await asyncio.sleep(_EVERY)


async def clean_up(service: Service) -> None:
    """Delete what is too old now, in small transactions between those of others."""
    keep, now = service.settings.keep, now_micros()

    writer = service.store.writer

    async def repeat(days: float, until: int, work: Callable[[Connection, int], int]) -> None:
        before = until - int(days * _DAY)
        while days > 0:
            if await asyncio.wrap_future(writer.submit(lambda c: work(c, before))) == 0:
                return
            await asyncio.sleep(_BREATH)

    await asyncio.wrap_future(writer.submit(prepare_partitions))
    for table, days in (("readings", _shorter(keep.readings, keep.rows)), ("rows", keep.rows)):
        if days > 0:
            drop = functools.partial(_drop, service, table=table, days=days)
            await asyncio.wrap_future(writer.submit(drop))
    there = await asyncio.to_thread(_oldest, service)
    for source in service.sources.all():
        if source.newest is None or source.id not in there:
            continue
        oldest = there[source.id]
        # Weeks may have been dropped, or rows been deleted before a restart.
        touched = oldest.rows != source.rows_from
        for days, first, work in (
            (keep.rows, oldest.rows, delete_rows),
            (keep.readings, oldest.readings, delete_readings),
            (keep.summaries, oldest.summaries, delete_summaries),
        ):
            before = source.newest - int(days * _DAY)
            if work is not delete_summaries:
                before = kept_from(service.store.kind, before)
            if days > 0 and first is not None and first < before:
                touched = True
                await repeat(days, source.newest, _of(source, work))
        if touched:
            await asyncio.to_thread(service.registry.recount, source)
    await repeat(keep.notifications, now, delete_notifications)
    await repeat(keep.models, now, delete_models)
    await asyncio.wrap_future(service.store.writer.submit(give_back))


def _oldest(service: Service) -> dict[int, Record]:
    with service.store.reading() as connection:
        return {one.id: one for one in oldest_of_all(connection)}


def _drop(service: Service, connection: Connection, *, table: str, days: float) -> int:
    """Drop the weeks of which no source keeps anything and nothing waits to be scored."""
    starts = scoring_starts(connection)
    horizons = {}
    for source in service.sources.all():
        if source.newest is not None:
            before = source.newest - int(days * _DAY)
            start = before if source.collecting else starts.get(source.id, before)
            horizons[source.id] = min(before, start)
    return drop_partitions(connection, table, horizons)


def _shorter(one: float, other: float) -> float:
    """The shorter of two numbers of days, of which 0 is for ever."""
    return min((days for days in (one, other) if days > 0), default=0.0)


def _of(
    source: Source, work: Callable[[Connection, int, int], int]
) -> Callable[[Connection, int], int]:
    """Delete of a source, but nothing that waits to be scored, however old it is."""

    def bounded(connection: Connection, before: int) -> int:
        # What is only collected waits for nobody.
        if not source.collecting:
            before = min(before, scoring_state(connection, source.id)[0])
        return work(connection, source.id, before)

    return bounded
