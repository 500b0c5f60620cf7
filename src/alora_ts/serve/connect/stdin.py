"""Rows from standard input, one JSON object a line."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import BinaryIO

from alora_ts.serve.connect.payload import MAX_PAYLOAD, MalformedError, read_rows
from alora_ts.serve.connect.settings import StdinSettings
from alora_ts.serve.connect.storing import store
from alora_ts.serve.rows.interface import ConnectorStatus, Host, Progress, Row

__all__ = ["StdinConnector"]

_BATCH = 1000
_BLOCKS = 4  # read ahead of the store
_CHUNK = 65_536


class StdinConnector:
    """Reads lines until the input ends.

    Parameters
    ----------
    settings : StdinSettings
    stream : binary file, optional
        Read instead of standard input.
    """

    kind = "stdin"

    def __init__(self, settings: StdinSettings, *, stream: BinaryIO | None = None) -> None:
        self._settings = settings
        self.name = settings.name
        self._progress = Progress(settings.name, self.kind, settings.source)
        self._stream = stream

    def status(self) -> ConnectorStatus:
        """Say whether the input is still open and what was counted."""
        return self._progress.status()

    async def run(self, host: Host) -> None:
        """Store rows until the input ends."""
        stream = sys.stdin.buffer if self._stream is None else self._stream
        blocks: asyncio.Queue[list[bytes] | None] = asyncio.Queue(_BLOCKS)
        # A daemon, for a read that waits for input cannot be interrupted at the end of the service.
        threading.Thread(
            target=_pump,
            args=(stream, blocks, asyncio.get_running_loop()),
            name=f"read-{self.name}",
            daemon=True,
        ).start()
        self._progress.enter("connected")
        while (lines := await blocks.get()) is not None:
            rows = self._read(lines)
            for start in range(0, len(rows), _BATCH):
                await store(host, self._progress, rows[start : start + _BATCH])
        self._progress.enter("done")

    def _read(self, lines: list[bytes]) -> list[Row]:
        rows = list[Row]()
        for line in filter(bytes.strip, lines):
            self._progress.received(1)
            try:
                rows += read_rows(
                    line, time_key=self._settings.time_key, unit=self._settings.time_unit
                )
            except MalformedError as error:
                self._progress.reject(str(error))
        return rows


def _pump(
    stream: BinaryIO,
    blocks: asyncio.Queue[list[bytes] | None],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Hand over the lines that are there, as fast as they are stored; None at the end."""
    rest = b""
    try:
        while chunk := stream.read1(_CHUNK):  # type: ignore[attr-defined]
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > MAX_PAYLOAD:
                # Refused as too big, and so is what follows of the same line.
                lines.append(rest)
                rest = b""
            _put(lines, blocks, loop)
        _put([rest], blocks, loop)
        _put(None, blocks, loop)
    except RuntimeError:
        return  # the service ended


def _put(
    lines: list[bytes] | None,
    blocks: asyncio.Queue[list[bytes] | None],
    loop: asyncio.AbstractEventLoop,
) -> None:
    work = blocks.put(lines)
    try:
        asyncio.run_coroutine_threadsafe(work, loop).result()
    except RuntimeError:
        work.close()
        raise
