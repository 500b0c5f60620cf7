"""A Ray cluster of several nodes on one computer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def ray_cluster(nodes: int) -> Iterator[Any]:
    """Start nodes of one core each and connect to them; the cluster can add and remove nodes."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Nodes take long to start where other tests share the cores.
    os.environ["RAY_raylet_start_wait_time_s"] = "180"
    import ray
    from ray.cluster_utils import Cluster

    common = {"num_cpus": 1, "memory": 4 * 2**30, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**common, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(**common)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
