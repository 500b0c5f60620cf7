"""Live updates by server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic_core import to_json

from alora_ts.serve.http.endpoints.common import PROBLEMS, ServiceHere
from alora_ts.serve.service import Service

__all__ = ["router"]

router = APIRouter(tags=["events"], responses=PROBLEMS)
_PAUSE = 0.25  # at most four readings a second
_SIGN_OF_LIFE = 15.0


@router.get("/events", summary="Live updates", response_class=StreamingResponse)
async def events(
    service: ServiceHere, source: Annotated[str | None, Query(max_length=200)] = None
) -> StreamingResponse:
    """Server-sent events: `reading` (the last of each source), `incident`, `fit`, `health`."""
    if source is not None:
        service.sources.get(source)
    return StreamingResponse(
        _stream(service, source),
        media_type="text/event-stream",
        headers={"cache-control": "no-store", "x-accel-buffering": "no"},
    )


async def _stream(service: Service, source: str | None) -> AsyncIterator[bytes]:
    with service.bus.subscribe() as subscription:
        # Only now, so that whoever has received this misses nothing.
        yield b"retry: 2000\n\n"
        while not service.closing.is_set():
            news = await subscription.take(_SIGN_OF_LIFE)
            told = [one for one in news if source is None or one.source in {None, source}]
            for one in told:
                data = to_json(one.data, inf_nan_mode="null")
                yield b"event: " + one.kind.encode() + b"\ndata: " + data + b"\n\n"
            if not news:
                yield b": still here\n\n"
            await asyncio.sleep(_PAUSE)
