"""Training from the service, drift and recalibration."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from alora_ts.serve.http.endpoints.common import (
    PROBLEMS,
    EndQuery,
    Named,
    ServiceHere,
    StartQuery,
    answer,
)
from alora_ts.serve.models.drift_report import report_drift
from alora_ts.serve.models.periods import offer_period, show_period
from alora_ts.serve.models.recalibration import recalibrate, undo_recalibration
from alora_ts.serve.times import from_micros, to_micros

__all__ = ["router"]

router = APIRouter(tags=["training"], responses=PROBLEMS)


class FitBody(Named):
    """What to fit."""

    start: str | None = Field(
        default=None,
        description="From this time on, ISO 8601; without start and end the period offered.",
        max_length=40,
    )
    end: str | None = Field(default=None, description="Before this time.", max_length=40)
    name: str = Field(default="", max_length=100)
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="Parameters of the new model; the others are the active model's, or usual.",
    )


class FitAnswer(BaseModel):
    """The state of a fit."""

    id: str
    source: str
    name: str
    created: str
    start: str
    end: str
    settings: dict[str, Any]
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    progress: float
    message: str
    model_id: str | None
    comparison: dict[str, Any] | None
    scored_from: str | None = Field(
        default=None,
        description="When activated for a source that only collected rows: from where it is scored",
    )


class ThresholdAnswer(BaseModel):
    """The current alarm level, the model's own, and where the first comes from."""

    source: str
    threshold: float
    model_threshold: float
    note: str


@router.post(
    "/sources/{source}/fits", response_model=FitAnswer, status_code=202, summary="Fit a model"
)
def start_fit(source: str, body: FitBody, service: ServiceHere) -> dict[str, Any]:
    """Fit a model on a period, in a process of its own; it is compared, but not activated."""
    known = service.sources.get(source)
    start, end = (None if one is None else to_micros(one) for one in (body.start, body.end))
    if start is None or end is None:
        offered = offer_period(service.store, known)
        start, end = offered[0] if start is None else start, offered[1] if end is None else end
    return service.fits.start(
        known,
        start=start,
        end=end,
        name=body.name or f"{source} {from_micros(start)[:10]}",
        settings=body.settings,
    )


@router.get("/sources/{source}/period", summary="What a fit would learn from")
def get_period(
    source: str, service: ServiceHere, start: StartQuery = None, end: EndQuery = None
) -> Response:
    """Rows, gaps and signals of a period; by default the longest without an incident."""
    first, last = (None if one is None else to_micros(one) for one in (start, end))
    return answer(show_period(service.store, service.sources.get(source), start=first, end=last))


@router.get("/fits", response_model=list[FitAnswer], summary="List fits")
def list_fits(service: ServiceHere) -> list[dict[str, Any]]:
    """The newest fits."""
    return service.fits.list()


@router.get("/fits/{fit}", response_model=FitAnswer, summary="One fit")
def get_fit(fit: str, service: ServiceHere) -> dict[str, Any]:
    """The state of a fit, and how its model compares with the active one on recent rows."""
    return service.fits.show(fit)


@router.post("/fits/{fit}/activate", response_model=FitAnswer, summary="Use a fit's model")
def activate_fit(fit: str, service: ServiceHere) -> dict[str, Any]:
    """Let the source of a finished fit use its model."""
    return service.fits.activate(fit)


@router.delete("/fits/{fit}", response_model=FitAnswer, summary="Cancel a fit")
def cancel_fit(fit: str, service: ServiceHere) -> dict[str, Any]:
    """End a fit that waits or runs."""
    return service.fits.cancel(fit)


@router.get("/sources/{source}/drift", summary="Drift")
def get_drift(source: str, service: ServiceHere) -> dict[str, Any]:
    """How recent rows and scores differ from the first ones under the active model."""
    return report_drift(service, service.sources.get(source))


@router.post("/sources/{source}/recalibrate", response_model=ThresholdAnswer, summary="Recalibrate")
def recalibrate_source(source: str, service: ServiceHere) -> dict[str, Any]:
    """Choose the alarm level again, by the model's own rule, from recent scores."""
    return recalibrate(service, service.sources.get(source))


@router.delete("/sources/{source}/recalibrate", response_model=ThresholdAnswer, summary="Undo it")
def undo_recalibrate(source: str, service: ServiceHere) -> dict[str, Any]:
    """Return to the alarm level the model was fitted with."""
    return undo_recalibration(service, service.sources.get(source))
