"""What a run was made on and with."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from alora_ts.version import __version__

__all__ = ["describe_surroundings", "peak_memory_mib", "processor_name"]

_PACKAGES = ("numpy", "scipy", "torch")


def describe_surroundings(threads: int) -> dict[str, Any]:
    """Machine, versions and commit, for a record's ``measured``.

    Examples
    --------
    >>> sorted(describe_surroundings(1))
    ['commit', 'machine', 'threads', 'versions']
    """
    return {
        "threads": threads,
        "machine": f"{processor_name()}, {os.cpu_count()} cores, {platform.system()}",
        "versions": {
            "alora-ts": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
        "commit": _commit(),
    }


def peak_memory_mib() -> float | None:
    """The most memory this process has held; None where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 2**20 if sys.platform == "darwin" else peak / 2**10, 1)


@cache
def processor_name() -> str:
    """The CPU's name as the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()


@cache
def _commit() -> str | None:
    """The commit of the source in use, "+" when files differ from it; None outside a checkout."""
    source = Path(__file__).resolve().parent
    named = os.environ.get("ALORA_TS_COMMIT")
    if named:
        return named
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=10"],
            cwd=source,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()
