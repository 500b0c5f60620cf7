"""How much and how often a client may send."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alora_ts.serve.http.endpoints.problems import problem

__all__ = ["BodyLimit", "RateLimiter"]

_CLIENTS = 10_000


class RateLimiter:
    """Lets every client do so much a second, and twice as much at once.

    Parameters
    ----------
    now : callable
        Seconds; for tests.

    Examples
    --------
    >>> limiter = RateLimiter(now=lambda: 0.0)
    >>> [limiter.wait("a", rate=1.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, *, rate: float) -> float:
        """Seconds the client must wait; 0 lets it pass and counts it."""
        now, most = self._now(), max(1.0, 2 * rate)
        left, since = self._left.pop(client, (most, now))
        left = min(most, left + (now - since) * rate)
        passed = left >= 1
        self._left[client] = (left - 1 if passed else left, now)
        if len(self._left) > _CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if passed else (1 - left) / rate


class BodyLimit:
    """Refuses bodies that are too large: at once when they say so, else as soon as they are.

    Parameters
    ----------
    app : ASGI application
    limit_of : callable
        Gives the most bytes for a path.
    """

    def __init__(self, app: ASGIApp, limit_of: Callable[[str], int]) -> None:
        self._app = app
        self._limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope["path"])
        message = f"the body is larger than {limit:,} bytes"
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if not said.isdigit() or int(said) > limit:
            await problem(413, message, "send less at once", {"connection": "close"})(
                scope, receive, send
            )
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            part = await receive()
            received += len(part.get("body", b""))
            if received > limit:
                raise HTTPException(413, message, headers={"connection": "close"})
            return part

        await self._app(scope, counted, send)
