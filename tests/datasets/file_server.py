"""A small HTTP server on loopback that can misbehave on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """What is served, and how.

    Attributes
    ----------
    files : dict of str to bytes
        Paths and contents; anything else is 404.
    cuts : list of int
        For the next requests, after how many bytes of the answer the connection ends.
    tags : bool
        Whether answers carry an ETag.
    ranges : bool
        Whether Range is honoured.
    asked : list of (str, str)
        The path and Range of each request seen.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)
    tags: bool = True
    ranges: bool = True
    asked: list[tuple[str, str]] = field(default_factory=list)

    def etag(self, path: str) -> str:
        return f'"{hash(self.files[path]) & 0xFFFFFF:x}"'


@contextmanager
def serving() -> Iterator[FileServer]:
    state = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            state.asked.append((self.path, wanted))
            content = state.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start = 0
            fresh = self.headers.get("If-Range") != state.etag(self.path)
            if wanted and state.ranges and not fresh:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(content):
                    self.send_error(416)
                    return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            if state.tags:
                self.send_header("ETag", state.etag(self.path))
            self.end_headers()
            body = content[start:]
            with suppress(ConnectionError):
                # A client whose disk is full hangs up.
                self.wfile.write(body[: state.cuts.pop(0)] if state.cuts else body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
