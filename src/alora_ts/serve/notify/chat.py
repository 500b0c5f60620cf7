"""Incidents in chat and paging services, by Apprise."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from alora_ts.errors import AloraError
from alora_ts.serve.notify.interface import IncidentEvent
from alora_ts.serve.notify.message import headline, story
from alora_ts.serve.notify.settings import AppriseSettings
from alora_ts.serve.notify.template import render
from alora_ts.serve.notify.webhook import DeliveryError
from alora_ts.serve.operate.secrets import read_secret

if TYPE_CHECKING:
    from apprise import Apprise

__all__ = ["AppriseNotifier"]

_TYPES = {"opened": "failure", "updated": "warning", "closed": "success", "missed": "info"}


class AppriseNotifier:
    """Sends each event as a title and a text.

    One address is one channel, so that what one service took is not sent to it again because
    another failed.

    Parameters
    ----------
    settings : AppriseSettings

    Raises
    ------
    AloraError
        When Apprise is not installed or does not know the address.
    """

    def __init__(self, settings: AppriseSettings) -> None:
        self._settings = settings
        self.name = settings.name
        self._url = read_secret(settings.url, settings.url_file) or ""
        self._service = _service(self._url, settings.name)

    async def notify(self, event: IncidentEvent) -> None:
        """Send one event.

        Raises
        ------
        DeliveryError
            When the service did not take it; with what Apprise said about it.
        """
        page = self._settings.page
        if self._settings.template is None:
            # The first line is the title.
            text = story(event, page=page).partition("\n")[2].strip()
        else:
            text = render(self._settings.template, event, page=page)
        # Apprise asks with a package that blocks.
        said = await asyncio.to_thread(self._send, headline(event), text, _TYPES[event.kind])
        if said is not None:
            raise DeliveryError(f"Apprise could not send it: {said}")

    def _send(self, title: str, text: str, kind: str) -> str | None:
        said = list[str]()

        def hear(entry: Any, service: object) -> None:
            del service
            said.append(str(entry.message))

        taken = self._service.notify(
            title=title,
            body=text,
            notify_type=kind,
            timeout=self._settings.timeout,
            log_callback=hear,
            log_level=logging.WARNING,
        )
        if taken:
            return None
        told = "; ".join(dict.fromkeys(said)) or "it gave no reason"
        return told.replace(self._url, "…")


def _service(url: str, name: str) -> Apprise:
    try:
        from apprise import Apprise
    except ImportError as error:
        raise AloraError(
            f"the channel {name!r} needs Apprise; install it with: pip install 'alora-ts[apprise]'"
        ) from error
    # It logs addresses that it does not understand, keys and all; what it has to say otherwise is
    # in our own errors.
    logging.getLogger("apprise").propagate = False
    service = Apprise()
    if not service.add(url):
        # Not repeated: it holds keys.
        raise AloraError(
            f"Apprise does not understand the address of the channel {name!r}; "
            "`apprise --details` lists the forms it knows"
        )
    return service
