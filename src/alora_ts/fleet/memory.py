"""How much memory there is, and how much an entity will need."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from alora_ts.errors import AloraError

__all__ = ["available_memory", "estimate_memory"]

_BASE = 512 * 2**20
"""A worker with torch and polars loaded and a model of the default size. With 24,000 rows of 38
signals on top the peak was 549 MiB (benchmarks/fleet.py cost)."""

_COPIES = 10
"""Bytes held at the peak of a diagnosis per byte of the table as 8-byte numbers."""

_UNPACKED = {".parquet": 5.0, ".csv.gz": 4.0, ".csv": 1.0}
"""Bytes of 8-byte numbers per byte of a file; packed files vary, so these are on the safe side."""

_CGROUP = Path("/sys/fs/cgroup")


def estimate_memory(files: Iterable[tuple[str, int]]) -> int:
    """Bytes one worker needs for an entity of these files (name and size).

    Examples
    --------
    >>> estimate_memory([("day.csv", 10 * 2**20)]) // 2**20
    612
    """
    held = 0.0
    for name, size in files:
        known = [factor for suffix, factor in _UNPACKED.items() if name.endswith(suffix)]
        held += size * (known[0] if known else max(_UNPACKED.values()))
    return round(_BASE + _COPIES * held)


def available_memory() -> int:
    """Bytes this process may still take, a container's limit included."""
    try:
        import psutil
    except ImportError as error:
        raise AloraError(
            "fleets need psutil to know how much memory is free; install alora-ts[fleet]"
        ) from error
    free = int(psutil.virtual_memory().available)
    limit, used = _number(_CGROUP / "memory.max"), _number(_CGROUP / "memory.current")
    return free if limit is None or used is None else min(free, max(0, limit - used))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no container, or "max": no limit
        return None
