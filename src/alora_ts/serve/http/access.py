"""Who may do what: looked at before anything of a request's body is read."""

from __future__ import annotations

import base64
import binascii
import logging
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alora_ts.serve.http.endpoints.problems import problem, store_away
from alora_ts.serve.http.limits import RateLimiter
from alora_ts.serve.http.tokens import Bearer, Role, TokenBook, allows
from alora_ts.serve.operate.logs import request_id
from alora_ts.serve.operate.metrics import Metrics
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.audit import acting

__all__ = ["Guard", "needed_role"]

_log = logging.getLogger("alora_ts.serve")
_SAFE = {"GET", "HEAD", "OPTIONS"}
_ROWS = re.compile(r"/api/v1/sources/([^/]+)/rows/?")
# Where other programs send samples, by paths of their protocols.
_SAMPLES = re.compile(r"/api/v1/write/?|(?P<influx>/api/v2/write/?|/write/?|/query/?)")
_WRITES = re.compile(r"/api/v1/(incidents/[^/]+/(feedback|work)|detect|mutes(/[^/]+)?)/?")
_ADMIN_ONLY = re.compile(r"/api/v1/audit/?")
_FAILURES_A_SECOND = 5.0
_FORWARDED = {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def needed_role(method: str, path: str) -> Role | None:
    """The role a request needs; None for what is open to all.

    Examples
    --------
    >>> needed_role("POST", "/api/v1/sources/plant/rows"), needed_role("GET", "/metrics")
    ('ingest', 'read')
    >>> needed_role("POST", "/api/v1/models"), needed_role("GET", "/")
    ('admin', None)
    """
    if _SAMPLES.fullmatch(path) and method not in _SAFE:
        return "ingest"
    if not path.startswith(("/api/", "/metrics")):
        # Pages hold no data; what they show they ask for by the API.
        return None
    if method in _SAFE:
        return "admin" if _ADMIN_ONLY.fullmatch(path) else "read"
    if _ROWS.fullmatch(path):
        return "ingest"
    return "write" if _WRITES.fullmatch(path) else "admin"


class Guard:
    """Checks host, origin, token, role and rate; adds security headers; counts requests.

    Parameters
    ----------
    app : ASGI application
    settings : callable giving Settings
    tokens : TokenBook
    metrics : Metrics

    Notes
    -----
    A service that listens on loopback only and for which no token was ever made is open to this
    machine. A web page elsewhere must not use the visitor's browser to reach it, so requests must
    name a host of ours (which a page that lets its own name point to 127.0.0.1 cannot) and, where
    they change something, come from our page. In every other case a request needs a token; when
    the last one is revoked or expires, the service is closed, not open.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Callable[[], Settings],
        tokens: TokenBook,
        metrics: Metrics,
    ) -> None:
        self._app = app
        self._settings = settings
        self._tokens = tokens
        self._metrics = metrics
        self._rates = RateLimiter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                # Not on loopback: a browser would ask all else on this machine by https too.
                if self._settings().tls_cert is not None and not self._settings().loopback:
                    headers.setdefault("strict-transport-security", "max-age=31536000")
                self._metrics.answered(scope["method"], message["status"])
            await send(message)

        answer: Bearer | Response | None
        try:
            answer = await self._admit(scope)
        except SQLAlchemyError:
            # Whose token it is stands in the store. Pages and probes need none, and say what is
            # wrong themselves.
            public = needed_role(scope["method"], scope["path"]) is None
            answer = None if public else store_away()
        if isinstance(answer, Response):
            await answer(scope, receive, guarded)
            return
        with acting("this machine" if answer is None else f"{answer.name} ({answer.id})"):
            try:
                await self._app(scope, receive, guarded)
            except Exception:
                # Answered here and not by the server around us, so that the answer has our
                # headers and is counted.
                _log.exception("%s %s failed", scope["method"], scope["path"][:200])
                if started:
                    raise
                why = f"its log says why, at request {request_id.get()}"
                failed = problem(500, "the service failed at this request", why)
                await failed(scope, receive, guarded)

    async def _admit(self, scope: Scope) -> Bearer | Response | None:
        """Who may go on (None: whoever is on this machine), or the refusal."""
        headers, method = Headers(scope=scope), scope["method"]
        client = str((scope.get("client") or ("unknown",))[0])
        needed = needed_role(method, scope["path"])
        bearer: Bearer | None = None
        if self._tokens.stale:
            await run_in_threadpool(self._tokens.ever)
        if self._settings().loopback and not self._tokens.ever():
            if (refusal := self._from_elsewhere(headers)) is not None:
                return refusal
        elif needed is not None:
            bearer = self._tokens.bearer_of(_token_of(headers, scope["path"]))
            if bearer is None:
                return self._unknown(client)
            client = bearer.id
            if not allows(bearer.role, needed):
                return problem(
                    403,
                    f"this needs the role {needed}, the token has {bearer.role}",
                    "make another with `alora-ts token create`",
                )
            rows = _ROWS.fullmatch(scope["path"])
            if _SAMPLES.fullmatch(scope["path"]):
                # Samples name their sources; whoever takes them in looks at each.
                scope.setdefault("state", {})["only_source"] = bearer.source
            elif bearer.source is not None and (rows is None or rows[1] != bearer.source):
                return problem(403, f"the token may only send rows of {bearer.source!r}")
        if method not in _SAFE and not _same_origin(headers):
            return problem(403, "the request comes from a page of another origin")
        wait = self._rates.wait(client, rate=self._settings().rate_limit)
        # Prometheus gives up what is answered with 429 unless it is told otherwise.
        status = 503 if _SAMPLES.fullmatch(scope["path"]) else 429
        return bearer if wait == 0 else _slow_down(wait, status)

    def _unknown(self, client: str) -> Response:
        wait = self._rates.wait(f"failed {client}", rate=_FAILURES_A_SECOND)
        if wait > 0:
            return _slow_down(wait)
        return problem(
            401,
            "this needs a token",
            "send `Authorization: Bearer ...`; `alora-ts token create` makes one",
            {"www-authenticate": "Bearer"},
        )

    def _from_elsewhere(self, headers: Headers) -> Response | None:
        """The refusal of a request that may not come from this machine."""
        settings = self._settings()
        try:
            name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        except ValueError:
            name = ""
        if name in settings.hosts:
            return None
        if _FORWARDED & set(headers.keys()):
            # Whoever reaches a proxy on this machine need not be on it.
            return problem(
                403,
                "requests by a proxy need a token",
                "make one with `alora-ts token create`; the proxy must pass the Host header on",
            )
        if name in _LOOPBACK | {settings.host}:
            return None
        return problem(403, "the service is not reached by this name", "add it to `hosts`")


def _same_origin(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc == headers.get("host", "")
    except ValueError:
        return False


def _token_of(headers: Headers, path: str) -> str:
    """The token of a request, or nothing; InfluxDB's clients send theirs in other forms."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    forms = _SAMPLES.fullmatch(path)
    influx = forms is not None and forms["influx"] is not None
    if kind.lower() == "bearer" or (influx and kind.lower() == "token"):
        return given.strip()
    if influx and kind.lower() == "basic":
        try:
            return base64.b64decode(given, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _slow_down(wait: float, status: int = 429) -> Response:
    return problem(
        status,
        "too many requests",
        "send several rows in one request, or raise `rate_limit`",
        {"retry-after": str(int(wait) + 1)},
    )
