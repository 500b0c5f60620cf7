"""Sources, their readings and their lines."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from alora_ts.errors import DataError
from alora_ts.serve.http.describe import show_readings
from alora_ts.serve.http.endpoints.common import (
    PROBLEMS,
    CursorQuery,
    EndQuery,
    LimitQuery,
    ModelChoice,
    Named,
    ServiceHere,
    StartQuery,
    answer,
    optional_moment,
    read_cursor,
)
from alora_ts.serve.http.endpoints.incidents import IncidentAnswer
from alora_ts.serve.incidents.implied import implied_series
from alora_ts.serve.operate.overview import show_source, show_sources
from alora_ts.serve.rows.chart_series import read_series
from alora_ts.serve.store.rows import read_readings, rows_from
from alora_ts.serve.times import from_micros, to_micros

__all__ = ["router"]

router = APIRouter(tags=["sources"], responses=PROBLEMS)
_FOREVER = 2**62


class SourceAnswer(BaseModel):
    """A source as it is now."""

    name: str
    model_id: str | None
    variables: list[str]
    rows: int
    first_time: str | None
    last_time: str | None
    score: float | None
    threshold: float | None
    state: Literal["ok", "alarm", "warm-up", "silent", "waiting", "collecting"]
    silent_signals: list[str]
    open_incidents: int
    silenced_incidents: int
    worst: IncidentAnswer | None  # type: ignore[valid-type]
    recent: list[float]
    can_roll_back: bool
    scored_from: str | None
    trouble: str | None


class SourceBody(Named):
    """A source to make."""

    name: str = Field(max_length=100)


class ActivateBody(ModelChoice):
    """Which model, and where to begin with it."""

    scored_from: str | None = Field(
        default=None,
        max_length=40,
        description="For a source that collected rows so far: score them from this time on.",
    )


@router.get("/sources", response_model=list[SourceAnswer], summary="List the sources")
def list_sources(
    service: ServiceHere,
    recent: Annotated[
        int,
        Query(
            ge=0,
            le=500,
            description="How many of its last scores to give of each; fewer, 50,000 in all, where "
            "there are very many sources.",
        ),
    ] = 0,
    name: Annotated[
        tuple[Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9_.-]*$")], ...],
        Query(max_length=200, description="Only these, as far as they are there; repeatable."),
    ] = (),
) -> Response:
    """Every source with its state, its worst open incident and its silent signals."""
    # Checking thousands against the schema takes longer than finding them.
    return answer(show_sources(service, recent=recent, names=name))


@router.post(
    "/sources", response_model=SourceAnswer, status_code=201, summary="Collect before a model"
)
def make_source(body: SourceBody, service: ServiceHere) -> dict[str, Any]:
    """Make a source without a model: it stores rows, of which a model can then be fitted."""
    return show_source(service, service.registry.collect(body.name))


@router.get("/sources/{source}", response_model=SourceAnswer, summary="One source")
def get_source(source: str, service: ServiceHere) -> dict[str, Any]:
    """One source with its state."""
    return show_source(service, service.sources.get(source))


@router.get("/sources/{source}/readings", summary="Readings")
def list_readings(
    *,
    source: str,
    service: ServiceHere,
    start: StartQuery = None,
    end: EndQuery = None,
    limit: LimitQuery = 100,
    cursor: CursorQuery = None,
) -> Response:
    """Readings with their rows in order of time; `next` is the cursor of the page after."""
    known = service.sources.get(source)
    place = read_cursor(cursor)
    begin = optional_moment(start, -_FOREVER) if place is None else place[0]
    with service.store.reading() as connection:
        found = read_readings(
            connection,
            known.id,
            start=begin,
            end=optional_moment(end, _FOREVER),
            limit=limit + 1,
        )
    page = list(found[:limit])
    following = f"{found[limit].time_us}." if len(found) > limit else None
    return answer({"items": show_readings(page, known.variables), "next": following})


@router.get("/sources/{source}/rows", summary="Stored rows")
def list_rows(
    *,
    source: str,
    service: ServiceHere,
    start: StartQuery = None,
    end: EndQuery = None,
    limit: LimitQuery = 1000,
    cursor: CursorQuery = None,
) -> Response:
    """Rows in order of time, scored or not; `values` are in the order of `variables`."""
    known = service.sources.get(source)
    place = read_cursor(cursor)
    begin = optional_moment(start, -_FOREVER) if place is None else place[0]
    with service.store.reading() as connection:
        block = rows_from(
            connection,
            known.id,
            len(known.variables),
            start=begin,
            end=optional_moment(end, _FOREVER),
            limit=limit + 1,
        )
    items = [
        {"time": from_micros(time), "values": values}
        for time, values in zip(block.times[:limit].tolist(), block.values.tolist(), strict=False)
    ]
    following = f"{block.times[limit]}." if len(block) > limit else None
    return answer({"variables": known.variables, "items": items, "next": following})


@router.get("/sources/{source}/series", summary="Lines for a chart")
def get_series(
    *,
    source: str,
    service: ServiceHere,
    start: StartQuery = None,
    end: EndQuery = None,
    points: Annotated[int, Query(ge=10, le=20_000)] = 1000,
    signals: Annotated[
        list[str] | None, Query(description="Name of a signal; repeatable.", max_length=1000)
    ] = None,
) -> Response:
    """Score, signals and expectations, down-sampled so that no extreme is lost.

    Around incidents, for periods of up to some thousand rows, expected is what a signal would have
    been, judging by those that behaved; else what the network expected.
    """
    known = service.sources.get(source)
    begin = optional_moment(start, known.first or 0)
    stop = optional_moment(end, (known.newest or 0) + 1)
    if stop < begin:
        raise DataError("`end` lies before `start`; exchange them")
    names = list(dict.fromkeys(signals or []))
    lines = read_series(service.store, known, start=begin, end=stop, points=points, signals=names)
    if names:
        with service.store.reading() as connection:
            implied = implied_series(
                connection,
                known,
                service.models.get,
                start=begin,
                end=stop,
                signals=names,
                points=points,
            )
        for name, line in implied.items():
            lines["signals"][name] |= {"expected_t": line["t"], "expected_v": line["v"]}
    return answer({"start": from_micros(begin), "end": from_micros(stop), **lines})


@router.post("/sources/{source}/activate", response_model=SourceAnswer, summary="Use a model")
def activate_model(source: str, choice: ActivateBody, service: ServiceHere) -> dict[str, Any]:
    """Let a source, known or new, use a model from its next row on.

    One that collected rows so far is scored from `scored_from` on, or from the first of its newest
    50,000 rows; the answer says which.
    """
    since = None if choice.scored_from is None else to_micros(choice.scored_from)
    made = service.registry.activate(source, choice.model_id, since=since)
    return show_source(service, made)


@router.post("/sources/{source}/rollback", response_model=SourceAnswer, summary="Go back")
def roll_back(source: str, service: ServiceHere) -> dict[str, Any]:
    """Let a source return to the model it used before."""
    return show_source(service, service.registry.roll_back(source))
