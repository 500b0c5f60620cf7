"""Errors as JSON: a code to program against, a message to read, a hint to follow."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError as SqlDataError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from alora_ts.errors import AloraError
from alora_ts.serve.problems import BacklogError, ConflictError, NotFoundError

__all__ = ["add_handlers", "problem", "store_away"]

_log = logging.getLogger("alora_ts.serve")
_RETRY_AFTER = "5"
_CODES = {
    400: "bad-request",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    408: "too-slow",
    409: "conflict",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid",
    429: "too-many-requests",
    500: "internal",
    503: "unavailable",
}


def problem(
    status: int, message: str, hint: str = "", headers: dict[str, str] | None = None
) -> JSONResponse:
    """An error answer."""
    content = {"code": _CODES.get(status, "error"), "message": message, "hint": hint}
    return JSONResponse({"error": content}, status_code=status, headers=headers)


def store_away() -> JSONResponse:
    """The answer while the store does not answer."""
    return problem(
        503,
        "the store cannot take or give data now",
        "nothing was stored; send it again later",
        {"retry-after": _RETRY_AFTER},
    )


def add_handlers(app: FastAPI) -> None:
    """Let every error of an application be answered in one form."""

    async def ours(_: Request, error: Exception) -> Response:
        status = 422
        if isinstance(error, NotFoundError):
            status = 404
        elif isinstance(error, ConflictError):
            status = 409
        headers = None
        if isinstance(error, BacklogError):
            status, headers = 503, {"retry-after": _RETRY_AFTER}
        message, hint = [*str(error).split("; ", 1), ""][:2]
        return problem(status, message, hint, headers)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first: dict[str, Any] = dict(error.errors()[0])
        place = ".".join(str(part) for part in first["loc"])
        return problem(422, f"{place}: {first['msg']}", "see /docs for what is expected")

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, str(error.detail), headers=dict(error.headers or {}))

    async def storage(request: Request, error: Exception) -> Response:
        request.app.state.service.metrics.storage_failed()
        _log.error("the store failed a request: %s", type(error).__name__)
        return store_away()

    async def unstorable(_: Request, __: Exception) -> Response:
        # PostgreSQL's texts hold no NUL, and its numbers end.
        return problem(422, "a text or number in the request cannot be stored", "leave out NUL")

    app.add_exception_handler(SqlDataError, unstorable)
    app.add_exception_handler(AloraError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(SQLAlchemyError, storage)
