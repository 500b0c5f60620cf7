"""Sources, the models they use, and their recalibrated thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, case, func, insert, or_, select, update

from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import activations, recalibrations, sources
from alora_ts.serve.times import now_micros

__all__ = [
    "activate",
    "active_model",
    "add_source",
    "all_progress",
    "all_sources",
    "begin_scoring",
    "can_roll_back",
    "ever_activated",
    "note_late",
    "recalibrated",
    "recalibrated_sources",
    "roll_back",
    "save_recalibration",
    "scored_until",
    "scoring_starts",
    "scoring_state",
    "set_variables",
    "undo_recalibrations",
    "variables_of",
    "what_there_is",
]


def all_sources(connection: Connection) -> Sequence[Record]:
    """Every source, with the id of the model it uses."""
    last = (
        select(activations.c.model_id)
        .where(activations.c.source_id == sources.c.id, activations.c.rolled_back.is_(False))
        .order_by(activations.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = select(*sources.c, last.label("model_id")).order_by(sources.c.name)
    return connection.execute(query).all()


def all_progress(connection: Connection) -> Sequence[Record]:
    """How far every source is: what changes with its rows."""
    changing = ("id", "newest_us", "oldest_us", "row_count", "unscored", "arrived_us")
    return connection.execute(select(*(sources.c[name] for name in changing))).all()


def what_there_is(connection: Connection) -> tuple[int, ...]:
    """Numbers that differ once a source was made or another model was activated."""
    count, ever = select(func.count()).select_from(sources), select(func.max(activations.c.id))
    undone = select(func.count()).where(activations.c.rolled_back)
    parts = (count, ever, undone)
    found = connection.execute(select(*(one.scalar_subquery() for one in parts))).one()
    return tuple(number or 0 for number in found)


def add_source(connection: Connection, name: str, variables: Sequence[str], bucket: int) -> int:
    """Make a source without rows; returns its number."""
    made = connection.execute(
        insert(sources).values(
            name=name,
            variables=list(variables),
            bucket_us=bucket,
            score_from_us=-(2**62),
            late_us=None,
            late_count=0,
            created_us=now_micros(),
        )
    )
    key = made.inserted_primary_key
    assert key is not None
    return int(key[0])


def set_variables(connection: Connection, source: int, variables: Sequence[str]) -> None:
    """Keep a list of variables that has grown."""
    connection.execute(
        update(sources).where(sources.c.id == source).values(variables=list(variables))
    )


def variables_of(connection: Connection, source: int) -> tuple[str, ...]:
    """All variables that a source ever had."""
    found = connection.scalar(select(sources.c.variables).where(sources.c.id == source))
    return tuple(found or ())


def begin_scoring(connection: Connection, source: int, *, bucket: int, start: int) -> None:
    """Let a source that only collected rows be scored from a time on."""
    connection.execute(
        update(sources)
        .where(sources.c.id == source)
        .values(bucket_us=bucket, score_from_us=start, late_us=None)
    )


def note_late(connection: Connection, source: int, time: int) -> None:
    """Remember, with the rows themselves, that rows came late from ``time`` on."""
    earlier = or_(sources.c.late_us.is_(None), sources.c.late_us > time)
    connection.execute(
        update(sources)
        .where(sources.c.id == source)
        .values(
            late_us=case((earlier, time), else_=sources.c.late_us),
            late_count=sources.c.late_count + 1,
        )
    )


def scoring_state(connection: Connection, source: int) -> tuple[int, int]:
    """From which time on rows must be scored, and how often late rows had come by now."""
    found = connection.execute(
        select(sources.c.score_from_us, sources.c.late_us, sources.c.late_count).where(
            sources.c.id == source
        )
    ).one()
    start = found.score_from_us if found.late_us is None else min(found[0], found[1])
    return start, found.late_count


def scoring_starts(connection: Connection) -> dict[int, int]:
    """From which time on rows must be scored, by source."""
    late = func.coalesce(sources.c.late_us, sources.c.score_from_us)
    query = select(sources.c.id, sources.c.score_from_us, late)
    return {key: min(start, again) for key, start, again in connection.execute(query)}


def scored_until(connection: Connection, source: int, time: int, late_count: int) -> None:
    """Every row before ``time`` has its reading, as far as ``late_count`` late arrivals go.

    Late rows that came after the scorer looked keep their mark, so that it begins again there.
    """
    here = update(sources).where(sources.c.id == source)
    seen_all = here.where(sources.c.late_count == late_count)
    if connection.execute(seen_all.values(score_from_us=time, late_us=None)).rowcount == 0:
        connection.execute(here.values(score_from_us=time))


def activate(connection: Connection, source: int, model: str) -> None:
    """Let the source use a model from now on."""
    connection.execute(
        insert(activations).values(
            source_id=source, model_id=model, at_us=now_micros(), rolled_back=False
        )
    )


def _active(source: int) -> Any:
    return (
        select(activations)
        .where(activations.c.source_id == source, activations.c.rolled_back.is_(False))
        .order_by(activations.c.id.desc())
    )


def active_model(connection: Connection, source: int) -> Record | None:
    """The current activation."""
    return connection.execute(_active(source).limit(1)).first()


def ever_activated(connection: Connection) -> set[tuple[str, str]]:
    """Names of sources, each with every model it ever used."""
    used = select(sources.c.name, activations.c.model_id).join(activations)
    return {(name, model) for name, model in connection.execute(used.distinct())}


def can_roll_back(connection: Connection, source: int | None = None) -> set[int]:
    """The sources that have a model before the active one: all of them, or whether one has."""
    query = select(activations.c.source_id).where(activations.c.rolled_back.is_(False))
    if source is not None:
        query = query.where(activations.c.source_id == source)
    query = query.group_by(activations.c.source_id).having(func.count() > 1)
    return set(connection.scalars(query))


def roll_back(connection: Connection, source: int) -> str | None:
    """Return to the model before the active one; None when there is none."""
    last = connection.execute(_active(source).limit(2)).all()
    if len(last) < 2:
        return None
    connection.execute(
        update(activations).where(activations.c.id == last[0].id).values(rolled_back=True)
    )
    return str(last[1].model_id)


def save_recalibration(
    connection: Connection, source: int, model: str, value: float, note: str
) -> None:
    """Keep a threshold found on recent rows."""
    connection.execute(
        insert(recalibrations).values(
            source_id=source,
            model_id=model,
            at_us=now_micros(),
            value=value,
            note=note,
            undone=False,
        )
    )


def recalibrated(connection: Connection, source: int, model: str) -> Record | None:
    """The last recalibration of a source with a model that was not undone."""
    return connection.execute(
        select(recalibrations)
        .where(
            recalibrations.c.source_id == source,
            recalibrations.c.model_id == model,
            recalibrations.c.undone.is_(False),
        )
        .order_by(recalibrations.c.id.desc())
        .limit(1)
    ).first()


def undo_recalibrations(connection: Connection, source: int, model: str) -> int:
    """Return to the model's own threshold; returns how many were undone."""
    return connection.execute(
        update(recalibrations)
        .where(recalibrations.c.source_id == source, recalibrations.c.model_id == model)
        .where(recalibrations.c.undone.is_(False))
        .values(undone=True)
    ).rowcount


def recalibrated_sources(connection: Connection) -> set[int]:
    """Sources that were ever recalibrated."""
    return set(connection.scalars(select(recalibrations.c.source_id).distinct()))
