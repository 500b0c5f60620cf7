"""Requests have an id, which logs and answers name."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alora_ts.serve.operate.logs import ACCESS, request_id

__all__ = ["RequestLog"]

_log = logging.getLogger(ACCESS)
_HEADER = "x-request-id"
_FORM = re.compile(r"[A-Za-z0-9._:/+=-]{1,100}")


class RequestLog:
    """Gives each request an id, that of ``X-Request-ID`` if it has one, and logs it if asked to.

    Neither queries nor headers nor bodies are logged: they may hold what is secret.

    Parameters
    ----------
    app : ASGI application
    wanted : callable giving bool
        Whether requests are logged.
    """

    def __init__(self, app: ASGIApp, wanted: Callable[[], bool]) -> None:
        self._app = app
        self._wanted = wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(_HEADER, "")
        # Whatever else stands there could end a line of the log and begin another.
        key = given if _FORM.fullmatch(given) else secrets.token_hex(8)
        token, began, status = request_id.set(key), time.monotonic(), 0

        async def named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[_HEADER] = key
            await send(message)

        try:
            await self._app(scope, receive, named)
        finally:
            if self._wanted():
                fields = {
                    "method": scope["method"],
                    "path": scope["path"][:500],
                    "status": status,
                    "ms": round(1000 * (time.monotonic() - began), 1),
                    "client": (scope.get("client") or ("",))[0],
                }
                text = "{method} {path!r} {status} in {ms} ms from {client}".format(**fields)
                _log.info("%s", text, extra={"fields": fields})
            request_id.reset(token)
