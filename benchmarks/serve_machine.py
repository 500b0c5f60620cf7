"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["describe_machine"]


def describe_machine() -> str:
    """Processor, cores and versions in one line."""
    import torch

    from alora_ts.version import __version__

    name = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
            break
    load = os.getloadavg()[0]
    return (
        f"{name}, {os.cpu_count()} cores (shared with other work; load average {load:.1f} at the "
        f"end), Linux, Python {platform.python_version()}, torch {torch.__version__}, "
        f"alora-ts {__version__}"
    )
