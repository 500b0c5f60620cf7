"""Living below a path of another site, behind a proxy."""

from __future__ import annotations

import re
from typing import Any

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Below", "check_root_path"]

_FORM = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_OURS = {"api", "web", "docs", "metrics", "healthz", "readyz", "openapi.json"}


def check_root_path(path: str) -> str:
    """Return a path that the service can live below, without a slash at its end.

    Examples
    --------
    >>> check_root_path("/alora/"), check_root_path("/")
    ('/alora', '')
    >>> check_root_path("alora")
    Traceback (most recent call last):
    ValueError: give a path such as /alora, of letters, digits, '.', '_', '~' and '-'
    """
    path = path.rstrip("/")
    if not path:
        return ""
    if not _FORM.fullmatch(path) or {".", ".."} & set(path.split("/")):
        raise ValueError("give a path such as /alora, of letters, digits, '.', '_', '~' and '-'")
    if path.split("/")[1] in _OURS:
        raise ValueError(f"{path} is a path of the service itself; choose another such as /alora")
    return path


class Below:
    """Takes the path off that a proxy has put before ours, so that all else need not know.

    Proxies that take it off themselves are fine as well. It comes before anything looks at a
    path: whoever decides by paths must see ours.

    Parameters
    ----------
    app : ASGI application
    root_path : str
        As :func:`check_root_path` gives it.
    """

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app = app
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http" and self._root:
            path: str = scope["path"]
            if path == self._root:
                # The page's own addresses begin at its folder.
                await RedirectResponse(f"{self._root}/", 308)(scope, receive, send)
                return
            if path.startswith(f"{self._root}/"):
                rest: dict[str, Any] = {"path": path[len(self._root) :]}
                raw = scope.get("raw_path")
                if raw is not None and raw.startswith(self._root.encode()):
                    rest["raw_path"] = raw[len(self._root) :]
                scope = {**scope, **rest}
        await self._app(scope, receive, send)
