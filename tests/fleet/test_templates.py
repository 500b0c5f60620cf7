"""The cluster templates have the form that Ray and the operator expect."""

from __future__ import annotations

from typing import Any

import yaml

import alora_ts
from tests.conftest import REPOSITORY

_FOLDER = REPOSITORY / "docs" / "how-to"


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((_FOLDER / name).read_text())
    return content


def test_the_cluster_of_ones_own_computers() -> None:
    cluster = _read("ray-cluster.yaml")
    assert cluster["provider"]["type"] == "local"
    workers = len(cluster["provider"]["worker_ips"])
    assert cluster["min_workers"] == cluster["max_workers"] == workers
    assert f"=={alora_ts.__version__}" in cluster["setup_commands"][0]
    starts = cluster["head_start_ray_commands"] + cluster["worker_start_ray_commands"]
    assert sum("ray start" in each for each in starts) == 2


def test_the_job_of_the_operator() -> None:
    job = _read("ray-kubernetes.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    for group in groups:
        (container,) = group["template"]["spec"]["containers"]
        assert container["image"].endswith(f":{alora_ts.__version__}")
        assert container["volumeMounts"][0]["mountPath"] == "/fleet"
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
