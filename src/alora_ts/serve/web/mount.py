"""Serving the dashboard's files, each with headers that forbid everything not our own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from os import PathLike, stat_result

    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.types import Scope

__all__ = ["SECURITY_HEADERS", "mount_dashboard"]

# Scripts, styles and requests from this server only; nothing inline, no frames around the page,
# and (trusted types) no text that is ever parsed as markup.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # Asked for again at every visit and answered by "not modified": an upgraded service never
    # runs beside pages of the version before.
    "cache-control": "no-cache",
}
# The dashboard adds to the report's style sheet.
_HOUSE_STYLE = "report.css"


class _Guarded(StaticFiles):
    """Static files with the security headers."""

    def file_response(
        self,
        full_path: str | PathLike[str],
        stat_result: stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Answer with a file, or that it has not changed."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        answer.headers.update(SECURITY_HEADERS)
        return answer


def mount_dashboard(app: FastAPI) -> None:
    """Add the dashboard to an application: the page at ``/``, its files below ``/web``.

    Call it after all other routes. Nothing here asks for a token: the files are the same for
    everyone, and every number they show comes from the API, which does ask.

    Parameters
    ----------
    app : fastapi.FastAPI
        Its API must live under ``/api/v1`` of the same origin.

    Examples
    --------
    >>> from fastapi import FastAPI
    >>> app = FastAPI()
    >>> mount_dashboard(app)
    >>> [route.path for route in app.routes][-3:]
    ['/', '/web/report.css', '/web']
    """
    folder = Path(str(files("alora_ts.serve.web") / "static"))
    style = Path(str(files("alora_ts.report") / "assets" / _HOUSE_STYLE))

    async def page(request: Request) -> Response:  # noqa: ARG001 - the signature of a route
        return FileResponse(folder / "index.html", headers=SECURITY_HEADERS)

    async def house_style(request: Request) -> Response:  # noqa: ARG001
        return FileResponse(style, headers=SECURITY_HEADERS)

    app.router.routes += [
        Route("/", page),
        Route(f"/web/{_HOUSE_STYLE}", house_style),
        Mount("/web", _Guarded(directory=folder), name="dashboard"),
    ]
