"""The channels by which people are notified: tried out, and set going again."""

from __future__ import annotations

import secrets

from fastapi import APIRouter
from pydantic import BaseModel

from alora_ts.errors import nearest
from alora_ts.serve.http.endpoints.common import PROBLEMS, ServiceHere
from alora_ts.serve.notify import Channel, IncidentEvent
from alora_ts.serve.problems import NotFoundError
from alora_ts.serve.service import Service
from alora_ts.serve.store.outbox import revive
from alora_ts.serve.times import from_micros, now_micros

__all__ = ["router"]

router = APIRouter(tags=["channels"], responses=PROBLEMS)


class RetryAnswer(BaseModel):
    """How many notifications are tried again."""

    count: int


class TrialAnswer(BaseModel):
    """How a test message went; ``error`` is null when it was taken."""

    error: str | None


def _channel(service: Service, name: str) -> Channel:
    found = service.tasks.channel(name)
    if found is None:
        known = service.channels()
        raise NotFoundError(f"there is no channel {name[:60]!r}{nearest(name, known)}")
    return found


@router.post("/channels/{channel}/retry", response_model=RetryAnswer, summary="Send again")
def retry(channel: str, service: ServiceHere) -> RetryAnswer:
    """Try again what a channel gave up; what is over by then is summed up in one message."""
    name = _channel(service, channel).name
    done = service.store.change("notifications retried", name, lambda c: revive(c, name))
    return RetryAnswer(count=done)


@router.post("/channels/{channel}/test", response_model=TrialAnswer, summary="Send a test")
async def try_out(channel: str, service: ServiceHere) -> TrialAnswer:
    """Send a test message by a channel, at once and once."""
    found = _channel(service, channel)
    incident = {
        "id": "test",
        "source": found.name,
        "kind": "test",
        "severity": "low",
        "start": from_micros(now_micros()),
        "culprits": [],
    }
    event = IncidentEvent(f"test-{secrets.token_hex(4)}", "opened", incident)
    try:
        await found.notifier.notify(event)
    except Exception as error:
        return TrialAnswer(error=str(error) or type(error).__name__)
    return TrialAnswer(error=None)
