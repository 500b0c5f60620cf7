"""Samples in, by the protocols of others: Prometheus's remote write and InfluxDB's line protocol.

Senders retry what is answered with 5xx and give up what is answered with 4xx.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Sequence
from typing import Literal
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from alora_ts.errors import DataError
from alora_ts.serve.connect.receiver import Point, Receiver
from alora_ts.serve.http.endpoints.common import ServiceHere
from alora_ts.serve.http.endpoints.problems import problem
from alora_ts.serve.service import Service
from alora_ts.serve.times import now_micros

__all__ = ["router"]

# Not part of our own interface, and described where the protocols are.
router = APIRouter(include_in_schema=False)
_LARGEST = 8 * 2**20  # bytes of lines; Telegraf sends some hundred thousand
_MOST = 100_000  # values in one request
_AT_ONCE = 5000
_QUERY = 10_000
_CREATE = re.compile(r'\s*CREATE\s+DATABASE\s+("(?:\\.|[^"\\])*"|\S+)\s*;?\s*', re.IGNORECASE)


@router.post("/api/v1/write")
async def remote_write(request: Request, service: ServiceHere) -> Response:
    """Take what a Prometheus server writes."""
    receivers = _receivers(service, "remote_write")
    if not receivers:
        return problem(404, "nobody takes remote writes", "add [[connect.remote_write]]")
    from alora_ts.serve.connect.remote_write import read_write_request

    kind, _, rest = request.headers.get("content-type", "").partition(";")
    version = rest.strip().lower()
    if kind.strip().lower() != "application/x-protobuf" or (
        version.startswith("proto=") and version != "proto=prometheus.writerequest"
    ):
        # A sender of version 2 falls back to version 1 at this answer.
        return problem(415, "send application/x-protobuf, remote write of version 1")
    if request.headers.get("content-encoding", "").lower() != "snappy":
        return problem(415, "the body must be compressed: content-encoding snappy")
    points = await run_in_threadpool(read_write_request, await request.body())
    refused = await _take(request, receivers, points)
    if refused:
        return problem(400, _said(list(refused.values())), "the others are stored")
    return Response(status_code=204)


@router.post("/write")
async def write_v1(request: Request, service: ServiceHere) -> Response:
    """Take lines as InfluxDB 1 does; the database's name says nothing here."""
    return await _influx(request, service, 1)


@router.post("/api/v2/write")
async def write_v2(request: Request, service: ServiceHere) -> Response:
    """Take lines as InfluxDB 2 does; organisation and bucket say nothing here."""
    return await _influx(request, service, 2)


@router.post("/query")
async def query_v1(request: Request) -> Response:
    """Agree to the making of a database, with which Telegraf begins; answer nothing else."""
    form = parse_qs((await request.body())[:_QUERY].decode(errors="replace"), max_num_fields=10)
    asked = request.query_params.get("q") or form.get("q", [""])[0]
    if _CREATE.fullmatch(asked):
        return JSONResponse({"results": [{"statement_id": 0}]})
    return JSONResponse({"error": "only CREATE DATABASE is understood here"}, 400)


async def _influx(request: Request, service: Service, version: Literal[1, 2]) -> Response:
    receivers = _receivers(service, "influx")
    if not receivers:
        return _answer(version, 404, "nobody takes line protocol; add [[connect.influx]]")
    from alora_ts.serve.connect.line_protocol import PRECISIONS

    precision = request.query_params.get("precision", "ns")
    if precision not in PRECISIONS:
        return _answer(version, 400, f"invalid precision; use {', '.join(PRECISIONS)}")
    body = await request.body()
    encoding = request.headers.get("content-encoding", "")
    try:
        points, bad = await run_in_threadpool(_read_body, body, encoding, precision)
    except _TooMuchError as error:
        return _answer(version, 413, str(error))
    except DataError as error:
        return _answer(version, 400, str(error))
    refused = await _take(request, receivers, points)
    if not bad and not refused:
        return Response(status_code=204)
    why = _said([*bad, *refused.values()])
    if len(refused) < len(points):
        why = f"partial write: {why} dropped={len(bad) + len(refused)}"
    return _answer(version, 400, why)


class _TooMuchError(DataError):
    def __init__(self) -> None:
        super().__init__(f"more than {_LARGEST:,} bytes or {_MOST:,} values at once; send less")


def _read_body(body: bytes, encoding: str, precision: str) -> tuple[list[Point], list[str]]:
    """Points, and what is wrong with the other lines."""
    from alora_ts.serve.connect.line_protocol import LineError, read_lines

    if encoding.lower() == "gzip":
        unpack = zlib.decompressobj(31)
        try:
            body = unpack.decompress(body, _LARGEST + 1)
        except zlib.error as error:
            raise DataError(f"the body is not gzip: {error}") from error
        if len(body) <= _LARGEST and (not unpack.eof or unpack.unused_data):
            raise DataError("the body is not one whole gzip file")
    elif encoding.lower() not in {"", "identity"}:
        raise DataError("only gzip is understood as content-encoding")
    if len(body) > _LARGEST:
        raise _TooMuchError
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise DataError("the body is not UTF-8") from error
    points, bad = list[Point](), list[str]()
    for line in read_lines(text, precision=precision, now=now_micros()):
        if isinstance(line, LineError):
            bad.append(str(line))
        else:
            points += line
        if len(points) + len(bad) > _MOST:
            raise _TooMuchError
    return points, bad


def _receivers(service: Service, kind: str) -> list[Receiver]:
    return [
        one for one in service.tasks.connectors if isinstance(one, Receiver) and one.kind == kind
    ]


async def _take(
    request: Request, receivers: Sequence[Receiver], points: Sequence[Point]
) -> dict[int, str]:
    """Hand points to all who may want them; why which were refused."""
    only = getattr(request.state, "only_source", None)
    refused = dict[int, str]()
    for receiver in receivers:
        for start in range(0, len(points), _AT_ONCE):
            part = points[start : start + _AT_ONCE]
            found = await receiver.take(part, now=now_micros(), only=only)
            refused |= {start + index: why for index, why in found.items()}
            # Other requests have their turn.
            await asyncio.sleep(0)
    return refused


def _said(reasons: Sequence[str]) -> str:
    others = f" (and {len(reasons) - 1:,} more)" if len(reasons) > 1 else ""
    return f"{reasons[0]}{others}"


def _answer(version: Literal[1, 2], status: int, message: str) -> Response:
    """An error in the form of InfluxDB."""
    if version == 1:
        return JSONResponse({"error": message}, status)
    codes = {404: "not found", 413: "request too large"}
    return JSONResponse({"code": codes.get(status, "invalid"), "message": message}, status)
