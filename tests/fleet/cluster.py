"""A Ray cluster of several nodes on one computer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_TRIES = 4


@contextmanager
def ray_cluster(nodes: int) -> Iterator[Any]:
    """Start nodes of one core each and connect to them; the cluster can add and remove nodes."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    common = {"num_cpus": 1, "memory": 4 * 2**30, "object_store_memory": 80 * 2**20}
    cluster = Cluster()
    try:
        for number in range(nodes):
            _add(cluster, {**common, "include_dashboard": False} if number == 0 else common)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def _add(cluster: Any, options: dict[str, Any]) -> None:
    """Add a node. Ray gives it 30 s to start, which is short where other work has the cores."""
    for left in reversed(range(_TRIES)):
        try:
            cluster.add_node(**options)
        except Exception as error:
            if not left or "timed out during startup" not in str(error):
                raise
        else:
            return
