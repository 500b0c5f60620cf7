"""Parameters that shrink each method's ``cpu`` preset so that tests are fast."""

from __future__ import annotations

from typing import Any

from alora_ts import baselines
from alora_ts.baselines import Detector

SMALL: dict[str, dict[str, Any]] = {
    "aerca": {"width": 8, "epochs": 3, "chunk_rows": 50},
    "dcdetector": {"window": 12, "patch_sizes": (2, 3), "width": 8, "layers": 1, "stride": 20},
    "interfusion": {
        "window": 8,
        "convolutions": 1,
        "width": 8,
        "flows": 2,
        "flow_width": 4,
        "pretrain_epochs": 1,
        "epochs": 1,
        "iterations": 1,
        "draws": 2,
    },
    "omnianomaly": {"window": 8, "width": 8, "flows": 2, "epochs": 2},
    "d3r": {"window": 8, "width": 8, "heads": 2, "feed_forward": 8, "reach": 3, "epochs": 1},
    "sarad": {"window": 8, "width": 8, "heads": 2, "feed_forward": 8, "epochs": 1},
    "isolation-forest": {"trees": 20},
    "kmeans-ad": {"window": 8, "clusters": 4},
    "cnn": {"window": 12, "channels": (4, 6), "epochs": 2},
    "memto": {"window": 20, "stride": 10, "width": 8, "heads": 2, "epochs": 2, "items": 4},
    "npsr": {"point_window": 20, "sequence_window": 16, "gap": 4, "epochs": 2},
    "daemon": {"window": 16, "base": 4, "latent": 8, "epochs": 2, "path_steps": 4},
    "anomaly-transformer": {"window": 20, "stride": 10, "width": 8, "heads": 2, "epochs": 2},
}


def small(name: str, **overrides: Any) -> Detector:
    """The smallest sensible detector of a name."""
    return baselines.get(name, "cpu", **{**SMALL.get(name, {}), **overrides})
