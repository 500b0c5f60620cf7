"""How much and how often a client may send."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alora_ts.serve.http.endpoints.problems import problem

__all__ = ["BodyLimit", "RateLimiter"]

_CLIENTS = 10_000
_SECONDS = 30.0
_BYTES_A_SECOND = 50_000.0


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
    """Refuses bodies that are too large or too slow.

    Too large: at once when they say so, else as soon as they are. Too slow: not all there after
    30 s, and 1 s more for every 50 kB that came.

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
        received, complete, began = 0, False, time.monotonic()

        async def counted() -> Message:
            nonlocal received, complete
            if complete:
                # Whoever asks now waits for the client to leave, however long that takes.
                return await receive()
            left = began + _SECONDS + received / _BYTES_A_SECOND - time.monotonic()
            try:
                part = await asyncio.wait_for(receive(), left)
            except TimeoutError:
                raise HTTPException(
                    408, "the body came too slowly", headers={"connection": "close"}
                ) from None
            received += len(part.get("body", b""))
            complete = not part.get("more_body", False)
            if received > limit:
                raise HTTPException(413, message, headers={"connection": "close"})
            return part

        await self._app(scope, counted, send)
