"""The service as programs elsewhere see it: its HTTP interface, asked with patience."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx

from alora_ts.errors import AloraError

__all__ = ["RefusedError", "ServiceClient", "UnreachableError", "split_address"]

_LONGEST_PAUSE = 10.0
_BUSY = {429, 502, 503, 504}


class UnreachableError(AloraError):
    """The service does not answer, or has been too busy for too long."""


class RefusedError(AloraError):
    """The service refused a request.

    Attributes
    ----------
    status : int
        Of its answer.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def split_address(text: str) -> tuple[str, str | None]:
    """The service's address, and the source if the text names one.

    The address of a source's page or of its API will do.

    Examples
    --------
    >>> split_address("http://127.0.0.1:8080/")
    ('http://127.0.0.1:8080', None)
    >>> split_address("http://127.0.0.1:8080/#/sources/line-3?from=2026")
    ('http://127.0.0.1:8080', 'line-3')
    >>> split_address("https://example.org/alora/api/v1/sources/plant/rows")
    ('https://example.org/alora', 'plant')
    >>> split_address("localhost")
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: 'localhost' is not the address of a service; give one such as ...
    """
    try:
        parts = urlsplit(text)
        right = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        right = False
    if not right:
        raise AloraError(
            f"{text[:100]!r} is not the address of a service; give one such as "
            "http://127.0.0.1:8080"
        )
    path, _, named = parts.path.partition("/api/v1")
    _, found, rest = f"{named}/{parts.fragment}".partition("sources/")
    source = unquote(rest.split("/")[0].split("?")[0]) if found else None
    return f"{parts.scheme}://{parts.netloc}{path.rstrip('/')}", source or None


class ServiceClient:
    """Asks a service, again where it is away or busy.

    Parameters
    ----------
    url : str
        As :func:`split_address` gives it.
    token : str, optional
    patience : float
        Seconds to go on trying while the service is away or says that it is busy.
    sleep : callable
    told : callable, optional
        Called with words while it waits.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        patience: float = 300.0,
        sleep: Callable[[float], None] = time.sleep,
        told: Callable[[str], None] | None = None,
    ) -> None:
        self.url = url
        self._patience = patience
        self._sleep = sleep
        self._told = told or (lambda _: None)
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        # An answer comes when rows are on the disk, which may take a while on a busy machine.
        self._client = httpx.Client(headers=headers, timeout=60.0, trust_env=False)

    def __enter__(self) -> ServiceClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, *path: str, **query: Any) -> Any:
        """The JSON at ``/api/v1/…``."""
        return self._ask("GET", path, params=query).json()

    def post(self, *path: str, json: Any = None, content: bytes | None = None, **query: Any) -> Any:
        """Send something and return the JSON of the answer."""
        given = {"content": content} if content is not None else {"json": json}
        return self._ask("POST", path, params=query, **given).json()

    def _ask(self, method: str, path: tuple[str, ...], **given: Any) -> httpx.Response:
        url = "/".join([self.url, "api/v1", *(quote(part, safe="") for part in path)])
        began, pause = time.monotonic(), 0.5
        while True:
            try:
                answer = self._client.request(method, url, **given)
            except httpx.TransportError as error:
                why, wait = f"it does not answer ({str(error) or type(error).__name__})", pause
            else:
                if answer.is_success:
                    return answer
                if answer.status_code not in _BUSY:
                    raise RefusedError(answer.status_code, self._explain(answer))
                why, wait = self._explain(answer), _retry_after(answer) or pause
            if time.monotonic() - began + wait > self._patience:
                raise UnreachableError(f"the service at {self.url} is away or too busy: {why}")
            self._told(f"{why}; trying again in {wait:.0f} s")
            self._sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _explain(self, answer: httpx.Response) -> str:
        try:
            error = answer.json()["error"]
            message, hint = str(error["message"]), str(error.get("hint", ""))
        except (ValueError, KeyError, TypeError, AttributeError):
            return f"{self.url} answered {answer.status_code}; is it an alora-ts service?"
        if answer.status_code == 401:
            hint = "give --token, or set ALORA_TS_TOKEN"
        return f"{message}; {hint}" if hint else message


def _retry_after(answer: httpx.Response) -> float | None:
    try:
        return max(0.0, float(answer.headers["retry-after"]))
    except (KeyError, ValueError):
        return None
