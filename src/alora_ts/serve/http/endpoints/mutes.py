"""Maintenance windows and mutes."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, model_validator

from alora_ts.serve.http.endpoints.common import PROBLEMS, LimitQuery, Named, ServiceHere
from alora_ts.serve.incidents.mutes import end_mute, make_mute, show_mute
from alora_ts.serve.store.mutes import all_mutes, count_held
from alora_ts.serve.times import now_micros, to_micros

__all__ = ["router"]

router = APIRouter(tags=["mutes"], responses=PROBLEMS)
_HOUR = 3_600_000_000
_Moment = Annotated[str, Field(max_length=40)]


class MuteBody(Named):
    """What nobody is to be told of, and until when: give either ``end`` or ``hours``."""

    source: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="The only source it is for."
    )
    incident: Annotated[str, Field(max_length=100)] | None = Field(
        None, description="Only incidents of its source and pattern."
    )
    start: _Moment | None = Field(None, description="ISO 8601; now if not given.")
    end: _Moment | None = None
    hours: Annotated[float, Field(gt=0, le=366 * 24)] | None = None
    reason: Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")] = ""

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.end is None) == (self.hours is None):
            raise ValueError("give either `end` or `hours`")
        return self


class MuteAnswer(BaseModel):
    """A mute; ``holds`` is how many open incidents nobody was told of because of it."""

    id: str
    source: str | None
    pattern: str | None
    what: str | None
    start: str
    end: str
    reason: str
    by: str
    created: str
    removed: str | None
    state: str
    holds: int


@router.get("/mutes", response_model=list[MuteAnswer], summary="List mutes")
def get_mutes(
    service: ServiceHere,
    past: Annotated[bool, Query(description="Also those that are over.")] = False,
    limit: LimitQuery = 100,
) -> list[dict[str, Any]]:
    """Mutes and maintenance windows in force or to come, the newest first."""
    with service.store.reading() as connection:
        found, counts = all_mutes(connection, past=past, limit=limit), count_held(connection)
    return [show_mute(one, holds=counts.get(one.id, 0)) for one in found]


@router.post("/mutes", response_model=MuteAnswer, summary="Mute for a while")
def add(body: MuteBody, service: ServiceHere) -> dict[str, Any]:
    """Let nobody be told of incidents of a source, of a pattern, or of all, for a while.

    Incidents are found, kept and shown all the same. One that still lasts when the mute ends is
    told then.
    """
    start = None if body.start is None else to_micros(body.start)
    if body.end is None:
        begin = now_micros() if start is None else start
        end = begin + round((body.hours or 0) * _HOUR)
    else:
        end = to_micros(body.end)
    return make_mute(
        service.store,
        source=body.source,
        incident=body.incident,
        start=start,
        end=end,
        reason=body.reason.strip(),
    )


@router.delete("/mutes/{mute}", response_model=MuteAnswer, summary="End a mute")
def remove(mute: str, service: ServiceHere) -> dict[str, Any]:
    """End a mute before its time; what it held and still lasts is told within seconds."""
    return end_mute(service.store, mute)
