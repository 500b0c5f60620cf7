"""Incidents as e-mail."""

from __future__ import annotations

import asyncio
import hashlib
import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate

from alora_ts.serve.notify.interface import IncidentEvent
from alora_ts.serve.notify.message import headline, story
from alora_ts.serve.notify.settings import SmtpSettings
from alora_ts.serve.notify.template import render
from alora_ts.serve.notify.webhook import DeliveryError
from alora_ts.serve.operate.secrets import read_secret

__all__ = ["SmtpNotifier", "as_mail"]


class SmtpNotifier:
    """Sends each event as a short plain mail.

    Parameters
    ----------
    settings : SmtpSettings
    """

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings
        self.name = settings.name
        self._password = read_secret(settings.password, settings.password_file)

    async def notify(self, event: IncidentEvent) -> None:
        """Send one mail.

        Raises
        ------
        DeliveryError
            When the server did not take it.
        """
        await asyncio.to_thread(self._send, as_mail(event, self._settings))

    def _send(self, mail: EmailMessage) -> None:
        settings = self._settings
        trust = ssl.create_default_context(cafile=settings.ca_file)
        try:
            with (
                smtplib.SMTP_SSL(
                    settings.host, settings.port, timeout=settings.timeout, context=trust
                )
                if settings.security == "tls"
                else smtplib.SMTP(settings.host, settings.port, timeout=settings.timeout)
            ) as server:
                if settings.security == "starttls":
                    server.starttls(context=trust)
                if settings.username is not None:
                    server.login(settings.username, self._password or "")
                refused = server.send_message(mail)
        except (OSError, smtplib.SMTPException) as error:
            # The text of a failed login may repeat what was sent, so only the kind is reported.
            kind = type(error).__name__
            why = kind if isinstance(error, smtplib.SMTPAuthenticationError) else f"{kind}: {error}"
            raise DeliveryError(
                f"the mail server {settings.host}:{settings.port} did not take the mail ({why})"
            ) from error
        if refused:
            raise DeliveryError(
                f"the mail server {settings.host}:{settings.port} refused {', '.join(refused)}"
            )


def as_mail(event: IncidentEvent, settings: SmtpSettings) -> EmailMessage:
    """Write the mail; an event keeps its Message-ID, by which mailboxes drop repetitions."""
    mail = EmailMessage()
    mail["Subject"] = " ".join(f"[alora-ts] {headline(event)}".split())
    mail["From"] = settings.sender
    mail["To"] = ", ".join(settings.recipients)
    mail["Date"] = formatdate(localtime=False)
    digest = hashlib.sha256(f"{settings.name}/{event.id}".encode()).hexdigest()[:32]
    mail["Message-ID"] = f"<{digest}@alora-ts>"
    mail["Auto-Submitted"] = "auto-generated"
    if settings.template is None:
        text = story(event, page=settings.page)
    else:
        text = render(settings.template, event, page=settings.page)
    # Not every server takes eight bits.
    mail.set_content(text, cte="quoted-printable")
    return mail
