"""Ways for rows to come in without HTTP: MQTT, Prometheus, a directory, standard input."""

from alora_ts.serve.connect.build import build_connectors
from alora_ts.serve.connect.settings import ConnectSettings

__all__ = ["ConnectSettings", "build_connectors"]
