"""Receivers on this machine that remember what they got: HTTP and SMTP."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.server
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Hook:
    """An HTTP receiver; answers with the statuses in order, then 200."""

    port: int = 0
    statuses: list[int] = field(default_factory=list)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextlib.contextmanager
def webhook(*statuses: int, port: int = 0) -> Iterator[Hook]:
    hook = Hook(statuses=list(statuses))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:
                # A sender that stops in the middle of a request has sent nothing.
                self.close_connection = True
                return
            hook.requests.append((dict(self.headers), body))
            self.send_response(hook.statuses.pop(0) if hook.statuses else 200)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    hook.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Mailbox:
    """What an SMTP server received."""

    port: int = 0
    commands: list[str] = field(default_factory=list)
    mails: list[str] = field(default_factory=list)
    encrypted: bool = False


@contextlib.asynccontextmanager
async def mail_server(
    *, trust: ssl.SSLContext | None = None, login: tuple[str, str] | None = None, full: bool = False
) -> AsyncIterator[Mailbox]:
    """As much of SMTP as a client needs, with STARTTLS when there is a certificate."""
    box = Mailbox()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
            await _converse(box, reader, writer, trust=trust, login=login, full=full)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield box
    finally:
        server.close()
        await server.wait_closed()


async def _converse(
    box: Mailbox,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    trust: ssl.SSLContext | None,
    login: tuple[str, str] | None,
    full: bool,
) -> None:
    async def say(text: str) -> None:
        writer.write(f"{text}\r\n".encode())
        await writer.drain()

    await say("220 here")
    while line := (await reader.readline()).decode().rstrip("\r\n"):
        box.commands.append(line)
        word = line.split()[0].upper()
        if word == "EHLO":
            extra = "250-STARTTLS\r\n" if trust is not None and not box.encrypted else ""
            await say(f"250-here\r\n{extra}250 AUTH PLAIN")
        elif word == "STARTTLS" and trust is not None:
            await say("220 go on")
            await writer.start_tls(trust)
            box.encrypted = True
        elif word == "AUTH":
            _, name, password = base64.b64decode(line.split()[2]).decode().split("\0")
            await say("235 welcome" if (name, password) == login else f"535 not {password}")
        elif word == "DATA":
            await say("354 go on")
            body = await reader.readuntil(b"\r\n.\r\n")
            if full:
                await say("452 no room")
            else:
                box.mails.append(body.decode().removesuffix(".\r\n"))
                await say("250 taken")
        elif word == "QUIT":
            await say("221 bye")
            return
        else:
            await say("250 fine")
