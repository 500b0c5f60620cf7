"""Ways for rows to come in besides our own API: MQTT, Kafka, Prometheus, Telegraf, files."""

from alora_ts.serve.connect.build import build_connectors
from alora_ts.serve.connect.settings import ConnectSettings

__all__ = ["ConnectSettings", "build_connectors"]
