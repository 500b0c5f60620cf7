"""From settings to connectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from alora_ts.errors import AloraError
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
    if settings.kafka:
        with _needing("kafka", "kafka"):
            from alora_ts.serve.connect.kafka import KafkaConnector

        found += [KafkaConnector(section) for section in settings.kafka]
    if settings.prometheus:
        from alora_ts.serve.connect.prometheus import PrometheusConnector

        found += [PrometheusConnector(section) for section in settings.prometheus]
    if settings.remote_write:
        with _needing("remote_write", "remote-write"):
            from alora_ts.serve.connect import remote_write  # noqa: F401 - its packages are needed
    if settings.influx:
        with _needing("influx", "telegraf"):
            from alora_ts.serve.connect import line_protocol  # noqa: F401 - the same
    if settings.remote_write or settings.influx:
        from alora_ts.serve.connect.receiver import Receiver

        found += [Receiver(section, "remote_write") for section in settings.remote_write]
        found += [Receiver(section, "influx") for section in settings.influx]
    if settings.directory:
        from alora_ts.serve.connect.directory import DirectoryConnector

        found += [DirectoryConnector(section) for section in settings.directory]
    if settings.stdin:
        from alora_ts.serve.connect.stdin import StdinConnector

        found += [StdinConnector(section) for section in settings.stdin]
    return found


@contextmanager
def _needing(section: str, extra: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise AloraError(
            f"[[connect.{section}]] needs the package {error.name}; install it with: pip install "
            f"'alora-ts[{extra}]'"
        ) from error
