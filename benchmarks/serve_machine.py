"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform

__all__ = ["describe_machine"]


def describe_machine() -> str:
    """CPU, cores and versions in one line."""
    import torch

    from alora_ts.bench.surroundings import processor_name
    from alora_ts.version import __version__

    load = os.getloadavg()[0]
    return (
        f"{processor_name()}, {os.cpu_count()} cores (shared with other work; load average "
        f"{load:.1f} at the end), Linux, Python {platform.python_version()}, "
        f"torch {torch.__version__}, alora-ts {__version__}"
    )
