"""The web application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from alora_ts.serve.http.access import Guard
from alora_ts.serve.http.below import Below
from alora_ts.serve.http.endpoints import (
    audit,
    channels,
    detect,
    docs,
    events,
    fits,
    health,
    incidents,
    models,
    mutes,
    receive,
    rows,
    sources,
    verdicts,
)
from alora_ts.serve.http.endpoints.problems import add_handlers
from alora_ts.serve.http.limits import BodyLimit
from alora_ts.serve.http.request_log import RequestLog
from alora_ts.serve.service import Service
from alora_ts.serve.web import mount_dashboard
from alora_ts.version import __version__

__all__ = ["create_app"]


def create_app(service: Service) -> FastAPI:
    """Put the HTTP interface and the dashboard in front of a service.

    The application runs the service's tasks while it lives and closes the service at its end.
    """

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            yield

    below = service.settings.root_path
    app = FastAPI(
        title="alora-ts",
        version=__version__,
        description="Says when a system of many signals misbehaves and which signals caused it.",
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        servers=[{"url": below}] if below else None,
        # Where to they would lead is known to the proxy only.
        redirect_slashes=not below,
    )
    app.state.service = service
    # The last added is the first to see a request.
    app.add_middleware(BodyLimit, limit_of=lambda path: _body_limit(service, path))
    app.add_middleware(
        Guard,
        settings=lambda: service.settings,
        tokens=service.tokens,
        metrics=service.metrics,
    )
    app.add_middleware(RequestLog, wanted=lambda: service.settings.access_log)
    app.add_middleware(Below, root_path=below)
    add_handlers(app)
    api = APIRouter(prefix="/api/v1")
    for part in (
        sources,
        rows,
        incidents,
        verdicts,
        models,
        detect,
        fits,
        events,
        health,
        audit,
        channels,
        mutes,
    ):
        api.include_router(part.router)
    app.include_router(api)
    app.include_router(health.outside)
    app.include_router(receive.router)
    app.include_router(docs.router)
    mount_dashboard(app)
    return app


def _body_limit(service: Service, path: str) -> int:
    whole = path.rstrip("/") in {"/api/v1/models", "/api/v1/detect"}
    return service.settings.upload_limit if whole else service.settings.body_limit
