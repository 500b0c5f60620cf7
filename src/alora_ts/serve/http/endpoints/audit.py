"""Who changed what."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from alora_ts.serve.http.endpoints.common import PROBLEMS, LimitQuery, ServiceHere
from alora_ts.serve.store.audit import read_audit
from alora_ts.serve.times import from_micros

__all__ = ["router"]

router = APIRouter(tags=["audit"], responses=PROBLEMS)


class AuditAnswer(BaseModel):
    """One change."""

    number: int
    time: str
    who: str
    action: str
    target: str
    detail: dict[str, Any]


@router.get("/audit", response_model=list[AuditAnswer], summary="Who changed what")
def get_audit(
    service: ServiceHere,
    before: Annotated[
        int | None, Query(ge=1, le=2**53, description="Entries before this number.")
    ] = None,
    limit: LimitQuery = 100,
) -> list[dict[str, Any]]:
    """Verdicts, alarm levels, models, fits and tokens, the newest change first. Needs admin."""
    with service.store.reading() as connection:
        found = read_audit(connection, before=before, limit=limit)
    return [
        {
            "number": row.id,
            "time": from_micros(row.at_us),
            "who": row.who,
            "action": row.action,
            "target": row.target,
            "detail": row.detail,
        }
        for row in found
    ]
