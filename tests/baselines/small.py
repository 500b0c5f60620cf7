"""Parameters that shrink each method's ``cpu`` preset so that tests are fast."""

from __future__ import annotations

from typing import Any

from alora_ts import baselines
from alora_ts.baselines import Detector

SMALL: dict[str, dict[str, Any]] = {
    "isolation-forest": {"trees": 20},
}


def small(name: str, **overrides: Any) -> Detector:
    """The smallest sensible detector of a name."""
    return baselines.get(name, "cpu", **{**SMALL.get(name, {}), **overrides})
