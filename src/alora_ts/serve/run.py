"""Run the service until it is told to stop."""

from __future__ import annotations

import uvicorn

from alora_ts.serve.app import create_app
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings

__all__ = ["run_service"]


def run_service(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; requests at work are finished, then the store is closed."""
    service = Service(settings)
    config = uvicorn.Config(
        create_app(service),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run()
