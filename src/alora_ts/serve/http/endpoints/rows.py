"""Rows in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from alora_ts.serve.http.endpoints.bodies import ndjson_rows, read_rows
from alora_ts.serve.http.endpoints.common import PROBLEMS, ServiceHere
from alora_ts.serve.http.endpoints.problems import problem
from alora_ts.serve.http.endpoints.table_rows import table_rows
from alora_ts.serve.http.endpoints.tables import TABLES, read_body
from alora_ts.serve.rows.interface import Receipt
from alora_ts.serve.service import Service

__all__ = ["router"]

router = APIRouter(tags=["rows"], responses=PROBLEMS)


class RowBody(BaseModel):
    """The values at one time."""

    time: str | float = Field(
        description="ISO 8601, UTC unless it says otherwise; or seconds since 1970."
    )
    values: dict[str, float | None] = Field(description="By variable; null is missing.")


class RejectionAnswer(BaseModel):
    """A row that was not stored."""

    index: int
    reason: str


class ReceiptAnswer(BaseModel):
    """What became of the rows; all that is not rejected is on the disk."""

    accepted: int
    duplicates: int
    merged: int
    late: int
    rejected: list[RejectionAnswer]
    left_out: list[str] = Field(
        default_factory=list, description="Columns of a table that are no signals of the source."
    )


_SMALL = 1 << 18
_LINES = {"application/x-ndjson", "application/jsonl", "application/ndjson"}
_EXAMPLE = {"rows": [{"time": "2026-05-01T12:00:00Z", "values": {"flow": 3.2, "level": None}}]}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [
                        {
                            "type": "object",
                            "required": ["rows"],
                            "properties": {
                                "rows": {"type": "array", "items": RowBody.model_json_schema()}
                            },
                        },
                        RowBody.model_json_schema(),
                    ]
                },
                "example": _EXAMPLE,
            },
            "application/x-ndjson": {"schema": {"type": "string"}},
            "text/csv": {"schema": {"type": "string"}},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post(
    "/sources/{source}/rows",
    response_model=ReceiptAnswer,
    response_model_exclude_unset=True,
    openapi_extra=_BODY,
    summary="Send rows",
)
async def send_rows(
    source: str,
    request: Request,
    service: ServiceHere,
    time: Annotated[
        str | None, Query(description="The time column of a table.", max_length=200)
    ] = None,
) -> dict[str, Any] | Response:
    """Store rows, or one row alone. Sending one again is harmless: it counts as a duplicate.

    JSON, lines of JSON, CSV or Parquet. The answer comes when the rows are on the disk; scoring
    follows by itself. A row whose time is there already fills what that row is missing. Where
    every row is refused, the answer is 422. Of a table, columns that are no signals of the source
    are left out, and named in the answer.
    """
    receipt, left_out = await _take(source, request, service, time)
    if receipt.rejected and not (receipt.accepted or receipt.duplicates or receipt.merged):
        first, others = receipt.rejected[0].reason, len(receipt.rejected) - 1
        return problem(422, first, f"{others} more were refused as well" if others else "")
    return asdict(receipt) | ({"left_out": left_out} if left_out else {})


async def _take(
    source: str, request: Request, service: Service, time: str | None
) -> tuple[Receipt, list[str]]:
    known = service.sources.get(source)
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if kind == "application/json":
        body = await request.body()
        few = len(body) < _SMALL
        rows = read_rows(body) if few else await run_in_threadpool(read_rows, body)
        return await service.accept(source, rows), []
    receipts, offset, left_out = list[tuple[int, Receipt]](), 0, list[str]()
    if kind in TABLES:
        body, most = await request.body(), service.settings.detect_cells
        frame = await run_in_threadpool(read_body, body, kind=kind, most=most)
        blocks, left_out = table_rows(
            frame, time=time, known=None if known.collecting else known.wanted
        )
        while (block := await run_in_threadpool(next, blocks, None)) is not None:
            receipts.append((offset, await service.accept(source, block)))
            offset += len(block)
    elif kind in _LINES:
        async for rows in ndjson_rows(request):
            receipts.append((offset, await service.accept(source, rows)))
            offset += len(rows)
    else:
        raise HTTPException(415, "send application/json, application/x-ndjson, CSV or Parquet")
    return _together(receipts), left_out


def _together(receipts: list[tuple[int, Receipt]]) -> Receipt:
    return Receipt(
        accepted=sum(receipt.accepted for _, receipt in receipts),
        duplicates=sum(receipt.duplicates for _, receipt in receipts),
        merged=sum(receipt.merged for _, receipt in receipts),
        late=sum(receipt.late for _, receipt in receipts),
        rejected=tuple(
            type(one)(offset + one.index, one.reason)
            for offset, receipt in receipts
            for one in receipt.rejected
        ),
    )
