"""The state of the service."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from alora_ts.serve.http.endpoints.common import PROBLEMS, ServiceHere
from alora_ts.serve.http.endpoints.problems import problem
from alora_ts.serve.operate.health import is_ready, show_health

__all__ = ["outside", "router"]

router = APIRouter(tags=["health"], responses=PROBLEMS)
outside = APIRouter(tags=["health"])


@router.get("/health", summary="How the service is")
def get_health(service: ServiceHere) -> dict[str, Any]:
    """Version, store, queues, counters, rejected rows by reason, connectors, dead letters."""
    return show_health(service)


@outside.get("/healthz", response_class=PlainTextResponse, summary="Whether it lives")
async def alive() -> str:
    """Answer while the process can answer at all."""
    return "ok"


@outside.get("/readyz", response_class=PlainTextResponse, summary="Whether it works")
def ready(service: ServiceHere) -> Response:
    """Answer 200 when the store can be read and is written."""
    trouble = is_ready(service)
    if trouble is not None:
        return problem(503, trouble)
    return PlainTextResponse("ready")


@outside.get("/metrics", response_class=PlainTextResponse, summary="For Prometheus")
def metrics(service: ServiceHere) -> Response:
    """Counters and gauges in Prometheus's text format."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
