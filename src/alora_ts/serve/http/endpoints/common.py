"""What the endpoints share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from pydantic import BaseModel, Field
from pydantic_core import to_json

from alora_ts.errors import DataError
from alora_ts.serve.service import Service
from alora_ts.serve.times import to_micros

__all__ = [
    "PROBLEMS",
    "CursorQuery",
    "EndQuery",
    "LimitQuery",
    "ServiceHere",
    "StartQuery",
    "answer",
    "optional_moment",
    "read_cursor",
]


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceHere = Annotated[Service, Depends(_service)]
StartQuery = Annotated[str | None, Query(description="From this time on, ISO 8601.", max_length=40)]
EndQuery = Annotated[str | None, Query(description="Before this time, ISO 8601.", max_length=40)]
LimitQuery = Annotated[int, Query(ge=1, le=10_000, description="At most so many items.")]
CursorQuery = Annotated[str | None, Query(description="`next` of the page before.", max_length=100)]


class ErrorDetail(BaseModel):
    """What went wrong and what to do."""

    code: str
    message: str
    hint: str = ""


class ErrorAnswer(BaseModel):
    """The body of every answer that is not 2xx."""

    error: ErrorDetail


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "The request cannot be read."},
    401: {"model": ErrorAnswer, "description": "No token, or an unknown one."},
    403: {"model": ErrorAnswer, "description": "The token's role does not allow it."},
    404: {"model": ErrorAnswer, "description": "There is no such thing."},
    409: {"model": ErrorAnswer, "description": "Not possible in the present state."},
    413: {"model": ErrorAnswer, "description": "The body is too large."},
    422: {"model": ErrorAnswer, "description": "A value is not allowed."},
    429: {"model": ErrorAnswer, "description": "Too many requests."},
}


class Named(BaseModel):
    """A body that refuses fields it does not know."""

    model_config = {"extra": "forbid"}


class ModelChoice(Named):
    """Which model."""

    model_id: str = Field(max_length=100)


def answer(content: Any, status: int = 200) -> Response:
    """JSON in which a number that is not finite becomes null."""
    body = to_json(content, inf_nan_mode="null")
    return Response(body, status_code=status, media_type="application/json")


def optional_moment(text: str | None, otherwise: int) -> int:
    """Microseconds of a time given in a query."""
    return otherwise if text is None else to_micros(text)


def read_cursor(cursor: str | None) -> tuple[int, str] | None:
    """The place a page ended at: a time and a key."""
    if cursor is None:
        return None
    time, _, key = cursor.partition(".")
    if not (time.isascii() and time.lstrip("-").isdigit() and len(time) < 19):
        raise DataError("the cursor is none that this service gave; leave it out to begin again")
    return int(time), key
