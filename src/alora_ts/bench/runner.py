"""Does a plan's runs, several at once, and can be stopped and restarted at any time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from alora_ts.bench.plan import Plan
from alora_ts.bench.record import Record, read_record, write_record
from alora_ts.bench.runs import Run
from alora_ts.bench.unit import DISK_FULL, failed
from alora_ts.errors import AloraError

__all__ = ["Moment", "finished_record", "run_all", "running_here"]

_POLL = 0.2
_ROOM_MIB = 50
"""Free space below which no run is begun."""


@dataclass
class Moment:
    """What the runner is doing, for observers.

    Attributes
    ----------
    waiting : int
        Runs not begun.
    active : dict of Run key to Active
        Runs in progress.
    over : list of Record
        Runs ended in this session, oldest first.
    """

    waiting: int
    active: dict[str, Active] = field(default_factory=dict)
    over: list[Record] = field(default_factory=list)


class Active:
    """A run in progress: its process, and what it last said."""

    def __init__(self, run: Run, *, folder: Path, root: Path) -> None:
        import psutil

        self.run = run
        self.began = time.monotonic()
        self.memory_mib = 0.0
        self.step = "starting"
        self.share: float | None = None
        threads = str(run.threads)
        libraries = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "alora_ts.bench.unit"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **dict.fromkeys(libraries, threads)},
            # Ctrl-C is for the runner; it ends its units itself.
            start_new_session=True,
        )
        self._inside = psutil.Process(self.process.pid)
        assert self.process.stdin is not None
        job = {"run": asdict(run), "folder": str(folder.resolve()), "root": str(root.resolve())}
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
        self.complaints: deque[str] = deque(maxlen=20)
        self._readers = [
            threading.Thread(target=work, daemon=True) for work in (self._listen, self._complain)
        ]
        for reader in self._readers:
            reader.start()

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self.began

    def look(self) -> int | None:
        """Note its memory; return its exit code once it has ended."""
        import psutil

        with contextlib.suppress(psutil.Error):
            self.memory_mib = self._inside.memory_info().rss / 2**20
        return self.process.poll()

    def end(self) -> None:
        """Kill it, and wait until nothing of it is left."""
        self.process.kill()
        self.process.wait()
        self.close()

    def close(self) -> None:
        """Read its last output and close the pipes."""
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said = json.loads(line)
            self.step = said["task"]
            self.share = said["done"] / said["total"] if said["total"] else None

    def _complain(self) -> None:
        assert self.process.stderr is not None
        self.complaints.extend(self.process.stderr)


def finished_record(run: Run, folder: Path) -> Record | None:
    """The record of a run that is done, or None where it has to be run.

    A file that cannot be read, or that belongs to other settings, counts as none.
    """
    path = folder / "runs" / f"{run.key}.json"
    if not path.is_file():
        return None
    try:
        record = read_record(path)
    except AloraError:
        return None
    return record if record.digest == run.digest else None


@contextlib.contextmanager
def running_here(folder: Path) -> Iterator[None]:
    """Keep a second runner out of a results folder, and clear what a killed one left unfinished.

    The lock dies with its process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / ".lock", blocking=False).acquire()
    except Timeout:
        raise AloraError(
            f"another `alora-ts bench run` works in {folder}; wait for it or choose --out"
        ) from None
    with lock:
        for kind in ("runs", "scores"):
            for left_over in (folder / kind).rglob(".*.part.*"):
                left_over.unlink(missing_ok=True)
        yield


def run_all(
    plan: Plan,
    runs: Iterable[Run],
    *,
    folder: Path,
    root: Path,
    workers: int,
    watch: Callable[[Moment], Any] = lambda _: None,
) -> list[Record]:
    """Do runs, as many at once as there are workers.

    Parameters
    ----------
    plan : Plan
        Gives the limits.
    runs : iterable of Run
        Those to be done; see :func:`finished_record`.
    folder : Path
        For the results.
    root : Path
        The folder that holds the datasets' folders.
    workers : int
        Processes at once.
    watch : callable
        Called several times a second with the :class:`Moment`.

    Returns
    -------
    list of Record
        In the order they ended, failures included.

    Raises
    ------
    AloraError
        When another runner is active in the folder, or when the disk is full. What is finished
        stays; the rest can be run later.
    """
    try:
        import psutil  # noqa: F401  (asked for here, before a run has begun)
    except ImportError as error:
        raise AloraError(
            "the benchmark needs psutil to watch memory; install alora-ts[bench]"
        ) from error
    waiting = deque(runs)
    moment = Moment(len(waiting))
    active = moment.active
    with running_here(folder), _ended(active):
        while waiting or active:
            while waiting and len(active) < workers:
                _need_room(folder)
                run = waiting.popleft()
                active[run.key] = Active(run, folder=folder, root=root)
            moment.waiting = len(waiting)
            time.sleep(_POLL)
            for key, one in list(active.items()):
                record = _outcome(one, plan, folder)
                if record is not None:
                    del active[key]
                    moment.over.append(record)
            watch(moment)
    return moment.over


@contextlib.contextmanager
def _ended(active: dict[str, Active]) -> Iterator[None]:
    """Leave no process behind, whatever happens."""
    try:
        yield
    finally:
        for one in active.values():
            one.end()


def _outcome(one: Active, plan: Plan, folder: Path) -> Record | None:
    """The record of a run that is over, None while it runs; ends it when it exceeds its limits."""
    code = one.look()
    path = folder / "runs" / f"{one.run.key}.json"
    beyond = _beyond(one, plan)
    if code is None and beyond is None:
        return None
    if code is None:
        one.end()
    else:
        one.close()
    if code == DISK_FULL:
        raise _disk_full(folder)
    if code == 0:
        return read_record(path)
    # A run that wrote its record just before it was ended is done.
    done = finished_record(one.run, folder)
    if done is not None and done.status == "done":
        return done
    last = "".join(one.complaints).strip().splitlines()[-1:] or ["it said nothing"]
    record = failed(one.run, beyond or f"its process ended with code {code}: {last[0]}")
    try:
        write_record(record, path)
    except OSError as error:
        raise _disk_full(folder) from error
    return record


def _beyond(one: Active, plan: Plan) -> str | None:
    if one.seconds > 60 * plan.minutes:
        return f"it took more than the {plan.minutes:g} minutes that the plan allows"
    if one.memory_mib > 1024 * plan.memory_gib:
        return f"it took more than the {plan.memory_gib:g} GiB of memory that the plan allows"
    return None


def _need_room(folder: Path) -> None:
    if shutil.disk_usage(folder).free < _ROOM_MIB * 2**20:
        raise _disk_full(folder)


def _disk_full(folder: Path) -> AloraError:
    return AloraError(
        f"the disk that holds {folder} is full; what is finished is kept: make room and run the "
        "same command again"
    )
