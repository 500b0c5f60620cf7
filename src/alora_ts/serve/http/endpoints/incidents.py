"""Incidents and what people say of them."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, create_model

from alora_ts.diagnosis.fields import facts
from alora_ts.errors import DataError
from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.http.endpoints.common import (
    PROBLEMS,
    CursorQuery,
    EndQuery,
    LimitQuery,
    Named,
    ServiceHere,
    StartQuery,
    read_cursor,
)
from alora_ts.serve.incidents.feedback import find, show_pattern
from alora_ts.serve.incidents.implied import implied_lines, room_around
from alora_ts.serve.incidents.mutes import show_mute
from alora_ts.serve.incidents.record import DETAILS
from alora_ts.serve.incidents.spread import incident_graph
from alora_ts.serve.incidents.structure import known_graph
from alora_ts.serve.incidents.work import work_on
from alora_ts.serve.service import Service
from alora_ts.serve.store.incidents import list_incidents
from alora_ts.serve.store.mutes import holding_mute, mute_of
from alora_ts.serve.times import to_micros

__all__ = ["IncidentAnswer", "router"]

router = APIRouter(tags=["incidents"], responses=PROBLEMS)


class CulpritAnswer(BaseModel):
    """One variable's part in an incident."""

    variable: str
    share: float
    direction: str
    value: float | None = None
    expected: float | None = None


class OriginAnswer(BaseModel):
    """The variable an incident most likely began in, and how certain that is."""

    variable: str
    certainty: float


class NoteAnswer(BaseModel):
    """What somebody wrote, and when."""

    by: str
    at: str
    text: str


class WorkAnswer(BaseModel):
    """What people do about an incident."""

    acknowledged: dict[str, str] | None
    assignee: str | None
    notes: list[NoteAnswer]


class RecurringAnswer(BaseModel):
    """How often incidents of this pattern came, each soon after the one before."""

    count: int
    first: str
    series: str


class _IncidentAnswer(BaseModel):
    """An incident; ``end`` is null while it is open."""

    id: str
    source: str
    kind: str
    variable: str | None
    connector: str | None
    state: str
    start: str
    end: str | None
    last_time: str
    severity: str
    model_id: str | None
    verdict: str | None
    pattern: str | None
    silenced: bool
    recurring: RecurringAnswer
    work: WorkAnswer


_PARTS: dict[str, Any] = {"culprits": list[CulpritAnswer], "origin": OriginAnswer | None}
# The other fields are described once for the whole product.
_FIELDS: dict[str, Any] = {
    name: (_PARTS.get(name, field.type), ...) for name, field in DETAILS.items()
}
IncidentAnswer = create_model(
    "IncidentAnswer", __base__=_IncidentAnswer, __doc__=_IncidentAnswer.__doc__, **_FIELDS
)


class IncidentsAnswer(BaseModel):
    """A page of incidents, the newest first."""

    items: list[IncidentAnswer]  # type: ignore[valid-type]
    next: str | None


Line = Annotated[str, Field(max_length=100, pattern=r"^[^\x00-\x1f]*$")]


class WorkBody(Named):
    """What a person does about an incident; what is left out stays as it is."""

    acknowledged: bool | None = None
    assignee: Line | None = Field(None, description="Empty for nobody.")
    note: Annotated[str, Field(max_length=2000, pattern=r"^[^\x00]*$")] | None = None


@router.get("/incidents", response_model=IncidentsAnswer, summary="List incidents")
def get_incidents(
    *,
    service: ServiceHere,
    source: Annotated[str | None, Query(max_length=200)] = None,
    state: Literal["open", "closed"] | None = None,
    severity: Literal["low", "medium", "high"] | None = None,
    silenced: Annotated[
        bool | None, Query(description="Only those a verdict silenced, or only the others.")
    ] = None,
    series: Annotated[
        str | None, Query(max_length=100, description="Only those that recur with this one.")
    ] = None,
    grouped: Annotated[
        bool, Query(description="Of incidents that recur, only the newest, with their count.")
    ] = False,
    start: StartQuery = None,
    end: EndQuery = None,
    limit: LimitQuery = 100,
    cursor: CursorQuery = None,
) -> dict[str, Any]:
    """Incidents that touch a time, the newest first."""
    with service.store.reading() as connection:
        found = list_incidents(
            connection,
            source=None if source is None else service.sources.get(source).id,
            state=state,
            severity=severity,
            silenced=silenced,
            series=series,
            grouped=grouped,
            start=None if start is None else to_micros(start),
            end=None if end is None else to_micros(end),
            before=read_cursor(cursor),
            limit=limit + 1,
        )
    page = found[:limit]
    following = f"{page[-1].start_us}.{page[-1].id}" if len(found) > limit else None
    return {
        "items": [show_incident(row._asdict(), row.source) for row in page],
        "next": following,
    }


@router.get("/incidents/{incident}", summary="One incident")
def get_incident(incident: str, service: ServiceHere) -> dict[str, Any]:
    """An incident with the graph of its culprits, and further facts in words."""
    with service.store.reading() as connection:
        record = find(connection, incident)
        standing = show_pattern(connection, record)
        shown = show_incident(record, record["source"])
        holding = holding_mute(connection, incident)
        muted = holding or mute_of(connection, shown)
    graph: dict[str, Any] = {"nodes": [], "edges": []}
    known: dict[str, Any] | None = None
    room: float | None = None
    if record["model_id"] is not None:
        model = service.models.get(record["model_id"])
        fitted, room = model.model_, room_around(model, record) / 1e6
        known = _known(service, shown, fitted.preparation.variables)
        graph = incident_graph(
            shown["culprits"],
            fitted.preparation.variables,
            fitted.contributions,
            origin=shown["origin"],
        )
    told = [dataclasses.asdict(fact) for fact in facts(shown)]
    runbooks = service.settings.runbooks
    runbook = runbooks.get(record["source"], runbooks.get("*"))
    return {
        **shown,
        "facts": told,
        "graph": graph,
        "known": known,
        # Seconds before and after it that a chart should show.
        "room": room,
        "standing": standing,
        "runbook": None if runbook is None else str(runbook),
        "muted": None if muted is None else {**show_mute(muted), "held": holding is not None},
    }


def _known(
    service: Service, shown: dict[str, Any], variables: tuple[str, ...]
) -> dict[str, Any] | None:
    """How it spread along known influences; what is wrong with them, in words."""
    named = service.settings.structure
    structure = named.get(shown["source"], named.get("*"))
    if structure is None:
        return None
    try:
        return {**known_graph(shown, variables, structure), "problem": None}
    except DataError as error:
        return {"nodes": [], "edges": [], "note": None, "problem": str(error)}


@router.post("/incidents/{incident}/work", response_model=IncidentAnswer, summary="Work on it")
def work_on_incident(incident: str, body: WorkBody, service: ServiceHere) -> dict[str, Any]:
    """Acknowledge an incident, assign it, add a note. Who did it is kept."""
    return work_on(service, incident, body.model_dump(exclude_none=True))


@router.get("/incidents/{incident}/expected", summary="What culprits would have been")
def get_expected(incident: str, service: ServiceHere) -> dict[str, Any]:
    """Around an incident, what each culprit would have been, judging by those that behaved."""
    with service.store.reading() as connection:
        record = find(connection, incident)
        if record["model_id"] is None:
            return {}
        model = service.models.get(record["model_id"])
        return implied_lines(connection, service.sources.get(record["source"]), model, record)
