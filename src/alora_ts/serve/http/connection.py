"""Connections: how many there may be, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["make_protocol", "most_connections"]

_HEADERS_WITHIN = 10.0
_OTHER_FILES = 128


def most_connections(asked: int) -> int:
    """As many as asked for, and as the process may open beside its other files."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return asked
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, asked if files == resource.RLIM_INFINITY else min(asked, files - _OTHER_FILES))


def make_protocol(
    *, connections: int, headers_within: float = _HEADERS_WITHIN
) -> type[asyncio.Protocol]:
    """A protocol for uvicorn that closes what is too many or too slow.

    uvicorn bounds neither: a client that connects and says nothing holds a file for ever, and a
    thousand of them stop the service.

    Parameters
    ----------
    connections : int
        More are closed at once.
    headers_within : float
        Seconds from a request's first byte, or from the connection, to the end of its headers.
        :class:`~alora_ts.serve.http.limits.BodyLimit` looks after the body.
    """

    class Bounded(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None
        _refused = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            if len(self.connections) >= connections:
                self._refused = True
                transport.abort()
                return
            super().connection_made(transport)
            self._expect_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._headers_came()
            if not self._refused:
                super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._refused:
                return
            if self._between_requests() and self._deadline is None:
                self._expect_headers()
            super().data_received(data)
            if not self._between_requests():
                self._headers_came()

        def _between_requests(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _expect_headers(self) -> None:
            self._deadline = self.loop.call_later(headers_within, self._too_slow)

        def _headers_came(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _too_slow(self) -> None:
            self._deadline = None
            if self._between_requests():
                self.transport.close()

    return Bounded
