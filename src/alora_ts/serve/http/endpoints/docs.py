"""A page of the interface's endpoints, made on the server: no script, nothing from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

__all__ = ["router"]

router = APIRouter()
_POLICY = (
    "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'"
)


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Every endpoint with its parameters; the machine-readable form is /openapi.json."""
    schema: dict[str, Any] = request.app.openapi()
    parts = [
        f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p><b>{escape(about.get('summary', ''))}.</b> {escape(about.get('description', ''))}</p>"
        f"{_parameters(about)}</section>"
        for path, methods in schema["paths"].items()
        for method, about in methods.items()
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<title>alora-ts: HTTP interface</title><link rel="stylesheet" href="web/report.css">'
        "</head><body><main><h1>HTTP interface</h1><p>Errors are "
        '<code>{"error": {"code", "message", "hint"}}</code>. The same as '
        f'<a href="openapi.json">OpenAPI</a>.</p>{"".join(parts)}</main></body></html>'
    )
    return HTMLResponse(page, headers={"content-security-policy": _POLICY})


def _parameters(about: dict[str, Any]) -> str:
    listed = [
        f"<li><code>{escape(one['name'])}</code> ({escape(one['in'])}) "
        f"{escape(one.get('description', ''))}</li>"
        for one in about.get("parameters", [])
    ]
    bodies = about.get("requestBody", {}).get("content", {})
    listed += [f"<li>body: <code>{escape(kind)}</code></li>" for kind in bodies]
    return f"<ul>{''.join(listed)}</ul>" if listed else ""
