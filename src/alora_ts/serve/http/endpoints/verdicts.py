"""What people say of incidents, and what that does to their patterns."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from alora_ts.serve.http.endpoints.common import PROBLEMS, Named, ServiceHere
from alora_ts.serve.http.endpoints.incidents import IncidentAnswer
from alora_ts.serve.incidents.feedback import judge, preview, show_patterns

__all__ = ["router"]

router = APIRouter(tags=["incidents"], responses=PROBLEMS)

_USUAL = 30.0
_LONGEST = 366.0
_DAYS = "For how many days `normal` silences the pattern."


class VerdictBody(Named):
    """What a person says of an incident."""

    verdict: Literal["normal", "real"]
    days: float = Field(_USUAL, gt=0, le=_LONGEST, description=_DAYS)


class GivenAnswer(BaseModel):
    """A verdict that stands."""

    incident: str
    verdict: Literal["normal", "real"]
    by: str
    at: str
    until: str | None


class PatternAnswer(BaseModel):
    """A pattern of a source that people said something of."""

    source: str
    pattern: str
    text: str
    protected: bool
    silenced_until: str | None
    alarms_above: float | None
    verdicts: list[GivenAnswer]


class FeedbackAnswer(BaseModel):
    """The incident, and what all verdicts on its pattern come to."""

    incident: IncidentAnswer  # type: ignore[valid-type]
    pattern: PatternAnswer | None


class PastAnswer(BaseModel):
    """An incident of the pattern, and whether it would have been silenced."""

    id: str
    start: str
    peak: float | None
    severity: str
    silenced: bool


class PreviewAnswer(BaseModel):
    """What a verdict would have done to the last days, had it been in force."""

    verdict: Literal["normal", "real"]
    allowed: bool
    why: str | None
    pattern: str | None
    text: str
    until: str | None
    alarms_above: float | None
    days: int
    incidents: int
    of_pattern: int
    silenced: int
    summary: str
    items: list[PastAnswer]


@router.get(
    "/incidents/{incident}/feedback", response_model=PreviewAnswer, summary="Preview a verdict"
)
def preview_feedback(
    incident: str,
    service: ServiceHere,
    verdict: Literal["normal", "real"] = "normal",
    days: Annotated[float, Query(gt=0, le=_LONGEST, description=_DAYS)] = _USUAL,
) -> dict[str, Any]:
    """Say what a verdict would have done to the last 30 days; nothing is changed."""
    return preview(service, incident, verdict, days=days)


@router.post(
    "/incidents/{incident}/feedback", response_model=FeedbackAnswer, summary="Judge an incident"
)
def give_feedback(incident: str, body: VerdictBody, service: ServiceHere) -> dict[str, Any]:
    """Say that an incident was normal or real.

    "normal" silences incidents of the same pattern (leading culprits and their directions) in
    this source for some days; one three times as high alarms all the same. "real" protects the
    pattern: it cannot be silenced. The alarm level stays as it is. Can be undone.
    """
    return judge(service, incident, body.verdict, days=body.days)


@router.delete(
    "/incidents/{incident}/feedback", response_model=FeedbackAnswer, summary="Take a verdict back"
)
def undo_feedback(incident: str, service: ServiceHere) -> dict[str, Any]:
    """Let the pattern stand as it would without this verdict."""
    return judge(service, incident, None, days=_USUAL)


@router.get("/patterns", response_model=list[PatternAnswer], summary="List judged patterns")
def list_patterns(service: ServiceHere) -> list[dict[str, Any]]:
    """The patterns that are silenced or protected, the newest verdict first."""
    return show_patterns(service)
