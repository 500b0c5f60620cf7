"""Ray: the same tasks on any number of computers."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Generator, Iterable
from typing import Any

from alora_ts.devices import usable_cores
from alora_ts.errors import AloraError
from alora_ts.fleet.engine import Finished, Memory, Result, Task

__all__ = ["RayEngine"]

_PER_CORE = 2
"""Tasks handed to Ray at once for each core: enough that none waits, few enough to stay flat."""

_LOOK_AGAIN = 5.0
"""Seconds after which the cluster is asked for its cores again, as nodes come and go."""


class RayEngine:
    """Runs tasks on a Ray cluster.

    Parameters
    ----------
    address : str, optional
        "auto" for the cluster this computer belongs to, or a cluster's address. By default the
        cluster that the program is connected to, or else one of this computer alone, reachable
        from nowhere else and ended with the run.
    workers : int, optional
        Most tasks at once; by default as many as the cluster has cores.
    retries : int
        How often a task is run again after its worker or node was lost.

    Notes
    -----
    Ray places tasks: each asks for one core and for the memory its entity needs. Results do not
    pass through the driver, which holds a few tasks per core and the names that are still to come.
    alora-ts must be installed on every node, in the same version.
    """

    def __init__(
        self, *, address: str | None = None, workers: int | None = None, retries: int = 3
    ) -> None:
        if workers is not None and workers < 1:
            raise AloraError(f"workers={workers} is too small; give at least 1")
        self.address = address
        self.workers = workers
        self.retries = retries

    def map(
        self, work: Callable[[Task], Result], tasks: Iterable[Task], *, memory: Memory[Task]
    ) -> Generator[Finished[Task, Result], None, None]:
        """Run ``work`` on every task; see :class:`~alora_ts.fleet.engine.Engine`."""
        ray = _import_ray()
        ours = not ray.is_initialized()
        if ours:
            self._connect(ray)
        running: dict[Any, Task] = {}
        try:
            remote = ray.remote(_run)
            common = {"num_cpus": 1, "max_retries": self.retries, "retry_exceptions": False}
            coming, more = iter(tasks), True
            most, largest = self._room(ray)
            while True:
                while more and len(running) < most:
                    following = next(coming, _END)
                    if following is _END:
                        more = False
                        break
                    task: Task = following  # type: ignore[assignment]
                    need = min(memory(task), largest)
                    placed = remote.options(memory=need, **common)
                    running[placed.remote(work, task)] = task
                if not running:
                    return
                over, _ = ray.wait(list(running), num_returns=1, timeout=_LOOK_AGAIN)
                if not over:
                    most, largest = self._room(ray)
                for ref in over:
                    yield _finished(ray, running.pop(ref), ref)
                    del ref
        finally:
            for ref in running:
                ray.cancel(ref, force=True)
            if running:
                ray.wait(list(running), num_returns=len(running), timeout=_LOOK_AGAIN)
            if ours:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Without a line on standard error for every worker that starts.
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if self.address is not None:
            try:
                _knock(self.address)
                ray.init(address=self.address, **quiet)
            except (OSError, ValueError, RuntimeError) as error:
                raise AloraError(
                    f"cannot reach a Ray cluster at {self.address!r}: {error}; start one with "
                    "`ray start --head`, or leave out the address"
                ) from error
            return
        try:
            ray.init(
                address="local",
                num_cpus=self.workers or usable_cores(),
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                **quiet,
            )
        except Exception as error:  # Ray raises nothing more special when it cannot start
            raise AloraError(
                f"Ray did not start on this computer: {error}; try again when it is less busy, or "
                "use local processes"
            ) from error

    def _room(self, ray: Any) -> tuple[int, int]:
        """How many tasks to hand out at once, and the memory of the largest node."""
        alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        cores = int(sum(resources.get("CPU", 0) for resources in alive))
        largest = int(max((resources.get("memory", 0) for resources in alive), default=0))
        return self.workers or max(4, _PER_CORE * cores), largest


_END = object()


def _knock(address: str) -> None:
    """Fail at once where nobody listens; Ray itself would keep trying for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_LOOK_AGAIN).close()


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise AloraError("the engine ray needs Ray; install alora-ts[fleet]") from error
    return ray


def _run(work: Callable[[Task], Result], task: Task) -> tuple[str, Result]:
    """On a worker: the result, and the node it was made on."""
    import ray

    return ray.get_runtime_context().get_node_id(), work(task)


def _finished(ray: Any, task: Task, ref: Any) -> Finished[Task, Result]:
    try:
        node, result = ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if error.cause is not None else error
        return Finished(task, None, f"{type(cause).__name__}: {cause}", "")
    except ray.exceptions.RayError as error:
        first = (str(error).strip().splitlines() or [""])[0]
        lost = f"its worker was lost too often ({type(error).__name__}: {first})"
        return Finished(task, None, lost, "")
    return Finished(task, result, None, node)
