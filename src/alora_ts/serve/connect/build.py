"""From settings to connectors."""

from __future__ import annotations

from alora_ts.serve.connect.settings import ConnectSettings
from alora_ts.serve.rows.interface import Connector

__all__ = ["build_connectors"]


def build_connectors(settings: ConnectSettings) -> list[Connector]:
    """Make the connectors of the settings; packages are imported only for those in use.

    Examples
    --------
    >>> settings = ConnectSettings.model_validate({"stdin": [{"source": "plant"}]})
    >>> [connector.name for connector in build_connectors(settings)]
    ['stdin']
    """
    found = list[Connector]()
    if settings.mqtt:
        from alora_ts.serve.connect.mqtt import MqttConnector

        found += [MqttConnector(section) for section in settings.mqtt]
    if settings.prometheus:
        from alora_ts.serve.connect.prometheus import PrometheusConnector

        found += [PrometheusConnector(section) for section in settings.prometheus]
    if settings.directory:
        from alora_ts.serve.connect.directory import DirectoryConnector

        found += [DirectoryConnector(section) for section in settings.directory]
    if settings.stdin:
        from alora_ts.serve.connect.stdin import StdinConnector

        found += [StdinConnector(section) for section in settings.stdin]
    return found
