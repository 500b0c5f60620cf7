"""Incidents as signed HTTP requests."""

from __future__ import annotations

import hashlib
import hmac
import ssl
import time

import httpx

from alora_ts.errors import AloraError
from alora_ts.serve.notify.interface import IncidentEvent
from alora_ts.serve.notify.message import as_json
from alora_ts.serve.notify.settings import HttpSection, WebhookSettings
from alora_ts.serve.notify.template import render
from alora_ts.serve.operate.secrets import read_secret

__all__ = ["DeliveryError", "Post", "RefusedError", "WebhookNotifier", "sign"]


class DeliveryError(AloraError):
    """A receiver could not be notified; another attempt may succeed."""


class RefusedError(DeliveryError):
    """A receiver understood and refused; another attempt would be refused as well."""


def sign(secret: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a request: HMAC-SHA256 over ``timestamp.body``, in hex.

    The time is part of what is signed, so that a receiver can refuse old requests sent again.

    Examples
    --------
    >>> sign("key", 1, b"{}")[:16]
    '1ba6b8171186efc6'
    """
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


class Post:
    """Sends requests with the headers, the trust and the patience of a channel.

    Parameters
    ----------
    settings : HttpSection

    Notes
    -----
    An answer of 2xx is success; 4xx except 408, 409, 425 and 429 is final; all else is worth
    another attempt. Redirections are not followed.
    """

    def __init__(self, settings: HttpSection) -> None:
        self._settings = settings
        self._trust = ssl.create_default_context(cafile=settings.ca_file)

    async def send(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        """POST JSON.

        Raises
        ------
        DeliveryError
            When the receiver did not take it.
        """
        settings = self._settings
        headers = {"Content-Type": "application/json", **headers}
        # Names of headers are the same in any case of letters; what the user says wins.
        for name, value in settings.headers.items():
            headers = {had: v for had, v in headers.items() if had.lower() != name.lower()}
            headers[name] = value.get_secret_value()
        try:
            async with httpx.AsyncClient(
                timeout=settings.timeout, verify=self._trust, trust_env=False
            ) as client:
                answer = await client.post(url, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise DeliveryError(_why_not(error)) from error
        if not answer.is_success:
            final = answer.is_client_error and answer.status_code not in (408, 409, 425, 429)
            kind = RefusedError if final else DeliveryError
            hint = {
                401: "; check its `headers`",
                403: "; check its `headers`",
                404: "; check its `url`",
            }.get(answer.status_code, "")
            raise kind(f"the receiver answered {answer.status_code}{hint}")


def _why_not(error: BaseException) -> str:
    """Say why no answer came; a certificate that is not accepted is named as such."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the receiver's certificate is not accepted: {cause.verify_message}"
        cause = cause.__cause__ or cause.__context__
    return f"the receiver does not answer: {str(error) or type(error).__name__}"


class WebhookNotifier:
    """POSTs each event as JSON.

    Parameters
    ----------
    settings : WebhookSettings

    Notes
    -----
    ``Idempotency-Key`` is the same at every attempt; ``X-Alora-Signature`` is
    ``t=<seconds>,v1=<hex>``, see :func:`sign`.
    """

    def __init__(self, settings: WebhookSettings) -> None:
        self._settings = settings
        self.name = settings.name
        self._secret = read_secret(settings.secret, settings.secret_file)
        self._post = Post(settings)

    async def notify(self, event: IncidentEvent) -> None:
        """Send one event.

        Raises
        ------
        DeliveryError
            When the receiver did not take it.
        """
        settings = self._settings
        if settings.template is None:
            body = as_json(event, page=settings.page)
        else:
            body = render(settings.template, event, page=settings.page).encode()
        headers = {"Idempotency-Key": event.id}
        if self._secret is not None:
            now = int(time.time())
            headers["X-Alora-Signature"] = f"t={now},v1={sign(self._secret, now, body)}"
        await self._post.send(str(settings.url), body, headers)
