"""From settings to channels."""

from __future__ import annotations

from typing import TypeVar

from alora_ts.serve.notify.dispatcher import Channel
from alora_ts.serve.notify.settings import ChannelSection, NotifySettings

__all__ = ["build_channels"]

Kind = TypeVar("Kind", bound=ChannelSection)


def build_channels(settings: NotifySettings) -> list[Channel]:
    """Make the channels of the settings.

    Raises
    ------
    AloraError
        When a secret cannot be read, or an address cannot be used.

    Examples
    --------
    >>> settings = NotifySettings.model_validate(
    ...     {"webhook": [{"name": "pager", "url": "http://127.0.0.1:9/"}]})
    >>> [channel.name for channel in build_channels(settings)]
    ['pager']
    """
    found = list[Channel]()

    def own(section: Kind) -> Kind:
        return section if section.page else section.model_copy(update={"page": settings.page})

    if settings.webhook:
        from alora_ts.serve.notify.webhook import WebhookNotifier

        found += [Channel(WebhookNotifier(own(section)), section) for section in settings.webhook]
    if settings.alertmanager:
        from alora_ts.serve.notify.alertmanager import AlertmanagerNotifier

        found += [
            Channel(AlertmanagerNotifier(own(section)), section)
            for section in settings.alertmanager
        ]
    if settings.apprise:
        from alora_ts.serve.notify.chat import AppriseNotifier

        found += [Channel(AppriseNotifier(own(section)), section) for section in settings.apprise]
    if settings.mqtt:
        from alora_ts.serve.notify.mqtt import MqttNotifier

        found += [Channel(MqttNotifier(own(section)), section) for section in settings.mqtt]
    if settings.smtp:
        from alora_ts.serve.notify.smtp import SmtpNotifier

        found += [Channel(SmtpNotifier(own(section)), section) for section in settings.smtp]
    return found
