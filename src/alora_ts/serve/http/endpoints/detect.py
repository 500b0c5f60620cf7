"""A whole table in one call."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import polars as pl
from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from alora_ts.errors import DataError
from alora_ts.serve.http.endpoints.bodies import read_rows
from alora_ts.serve.http.endpoints.common import PROBLEMS, ServiceHere, answer
from alora_ts.serve.http.endpoints.tables import TABLES, read_body
from alora_ts.serve.rows.table import rows_frame
from alora_ts.serve.rows.values import RowError, read_values
from alora_ts.serve.service import Service

__all__ = ["router"]

router = APIRouter(tags=["detect"], responses=PROBLEMS)
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["rows"],
                    "properties": {"rows": {"type": "array", "items": {"type": "object"}}},
                }
            },
            "text/csv": {"schema": {"type": "string"}},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("/detect", openapi_extra=_BODY, summary="Judge a whole table")
async def detect(
    request: Request,
    service: ServiceHere,
    model_id: Annotated[str, Query(max_length=100)],
) -> Response:
    """Score every row of a table, find the incidents and name their culprits.

    Nothing of it is stored. JSON as for sending rows, CSV or Parquet.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind not in {"application/json", *TABLES}:
        raise HTTPException(415, "send application/json, text/csv or Parquet")
    body = await request.body()
    return answer(await run_in_threadpool(_diagnose, service, model_id, kind, body))


def _diagnose(service: Service, model_id: str, kind: str, body: bytes) -> dict[str, Any]:
    model = service.models.get(model_id)
    variables = model.model_.preparation.variables
    if kind == "application/json":
        if len(body) > service.settings.body_limit:
            # Its objects take many times the memory of its text.
            raise HTTPException(
                413,
                f"JSON is taken up to {service.settings.body_limit:,} bytes; send CSV or Parquet",
            )
        frame = _from_rows(body, variables)
    else:
        frame = read_body(body, kind=kind, most=service.settings.detect_cells)
    if frame.height == 0:
        raise DataError("the table has no rows; send at least one")
    return model.diagnose(frame, progress=False).to_dict()


def _from_rows(body: bytes, variables: tuple[str, ...]) -> pl.DataFrame:
    places = {name: place for place, name in enumerate(variables)}
    times, values = [], []
    for index, row in enumerate(read_rows(body)):
        try:
            if isinstance(row, RowError):
                raise row
            values.append(read_values(row.values, places, variables))
            times.append(row.time)
        except RowError as error:
            raise DataError(f"row {index}: {error}") from error
    table = np.stack(values) if values else np.zeros((0, len(variables)))
    return rows_frame(np.array(times, dtype=np.int64), table, variables)
