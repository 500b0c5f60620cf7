"""Work for engines that workers can import."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil


def double(task: int) -> int:
    if task == 13:
        raise ValueError("thirteen is unlucky")
    return 2 * task


def note(task: tuple[str, float]) -> tuple[float, float]:
    """Write that it began, take a while, say from when to when it ran."""
    path, seconds = task
    Path(path).write_text(str(os.getpid()))
    begun = time.time()
    time.sleep(seconds)
    return begun, time.time()


def die_once(task: str) -> str:
    """Kill the worker the first time; each try leaves a file."""
    path = Path(task)
    tries = len(list(path.parent.glob(f"{path.name}.*")))
    path.with_name(f"{path.name}.{tries}").touch()
    if path.name.startswith("dies") and tries == 0:
        psutil.Process().kill()
    if path.name.startswith("always"):
        os._exit(3)
    return path.name


def write_slowly(task: str) -> None:
    """Be in the middle of writing a file for a long time."""
    from alora_ts.files import write_atomically

    with write_atomically(task) as part:
        part.write_text("half")
        Path(f"{task}.begun").touch()
        time.sleep(60)


def tiny(task: tuple[str, str]) -> int:
    """Read a tiny file and write one back, after a moment."""
    source, target = task
    content = Path(source).read_bytes()
    time.sleep(0.02)
    from alora_ts.fleet.storage import Store

    Store(target).write(content[::-1], f"{Path(source).name}.out")
    return len(content)
