"""Run the service until it is asked to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from alora_ts.errors import AloraError
from alora_ts.serve.check import check_certificate
from alora_ts.serve.http.app import create_app
from alora_ts.serve.http.connection import make_protocol, most_connections
from alora_ts.serve.operate.settings_watch import stamp_of, watch_settings
from alora_ts.serve.rows.interface import Connector
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from alora_ts.serve.workers.process import Workers, refuse_sqlite

__all__ = ["refuse_open_door", "run_service"]

_log = logging.getLogger("alora_ts.serve")


def refuse_open_door(service: Service) -> None:
    """Refuse to listen beyond this machine while nobody could be let in."""
    settings = service.settings
    if not settings.loopback and not service.tokens.any():
        raise AloraError(
            f"refusing to listen on {settings.host} without tokens: nobody who reaches it could "
            "use it; make one first with `alora-ts token create --role admin`, or keep to "
            "--host 127.0.0.1"
        )


def run_service(
    settings: Settings,
    *,
    read: Callable[[], Settings] | None = None,
    file: Path | None = None,
    feeds: Sequence[Connector] = (),
    ready: Callable[[str], None] = lambda url: _log.info("listening on %s", url),
) -> None:
    """Serve until SIGINT or SIGTERM; requests in progress are finished, then the store is closed.

    Parameters
    ----------
    settings : Settings
    read : callable, optional
        Reads the settings again: at SIGHUP, and when the file has changed.
    file : Path, optional
        The file to watch.
    feeds : sequence of Connector
        Ways in for rows beside those of the settings.
    ready : callable
        Called with each address once it is listened on.
    """
    check_certificate(settings)
    if settings.workers != 1:
        refuse_sqlite(settings)
    service = Service(settings, feeds=feeds, scores=settings.workers == 1)
    try:
        refuse_open_door(service)
    except AloraError:
        service.close()
        raise
    app = create_app(service)
    workers: Workers | None = None
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def life(application: FastAPI) -> AsyncIterator[None]:
        async with inner(application):
            if read is None:
                yield
                return
            watch = asyncio.create_task(
                watch_settings(
                    service, read, file, looked=_renewing(settings, config), taken=follow
                )
            )
            try:
                yield
            finally:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch

    def follow(taken: Settings) -> None:
        if workers is not None:
            workers.follow(taken)

    app.router.lifespan_context = life
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=make_protocol(connections=most_connections(settings.connections)),
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        forwarded_allow_ips=list(settings.proxies),
        # As all else is logged, not in a form of its own.
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=30,
    )
    server = _Server(config, service, ready)
    # The server raises the signal again once it has ended in order; being asked to stop is no
    # failure, so that second one means nothing.
    before = {one: signal.signal(one, _ignore) for one in (signal.SIGINT, signal.SIGTERM)}
    if settings.workers > 1:
        workers = Workers(settings, settings.workers)
    try:
        server.run()
    finally:
        if workers is not None:
            workers.close()
        for one, handler in before.items():
            signal.signal(one, handler)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing; unlike SIG_IGN, child processes do not inherit it."""


class _Server(uvicorn.Server):
    """Says where it listens, and ends the live updates before it waits for requests to end."""

    def __init__(
        self, config: uvicorn.Config, service: Service, ready: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        for server in getattr(self, "servers", []):
            for socket in server.sockets:
                host, port = socket.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                scheme = "https" if self.config.is_ssl else "http"
                below = self._service.settings.root_path
                self._ready(f"{scheme}://{shown}:{port}{below}")

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        self._service.stop_streams()
        await super().shutdown(sockets)  # type: ignore[arg-type]


def _renewing(settings: Settings, config: uvicorn.Config) -> Callable[[bool], None]:
    """What looks for a renewed certificate, and always does when it is asked to."""
    certified = stamp_of(settings.tls_cert)

    def look(asked: bool) -> None:
        nonlocal certified
        if certified != (certified := stamp_of(settings.tls_cert)) or asked:
            _renew(settings, config)

    return look


def _renew(settings: Settings, config: uvicorn.Config) -> None:
    """Let connections from now on see the certificate that is in the file now."""
    if settings.tls_cert is None or config.ssl is None:
        return
    try:
        config.ssl.load_cert_chain(settings.tls_cert, settings.tls_key)
    except OSError as error:
        # Both files are replaced, one after the other; the next look may find a pair.
        _log.warning("kept the previous certificate: %s", error)
    else:
        _log.info("took up the certificate %s", settings.tls_cert)
