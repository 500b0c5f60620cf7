"""A real Prometheus that has a past."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
from benchmarks.serve_programs import find_program, free_port, wait_for_port

from tests.conftest import need_program

__all__ = ["prometheus_with"]


@contextmanager
def prometheus_with(lines: Sequence[str], folder: Path) -> Iterator[str]:
    """A server whose past are these lines of OpenMetrics; gives its host and port."""
    program = find_program("prometheus") or need_program("prometheus")
    tool = find_program("promtool") or need_program("promtool")
    (folder / "past.txt").write_text("\n".join([*lines, "# EOF", ""]))
    build = [tool, "tsdb", "create-blocks-from", "openmetrics", "past.txt", "data"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    place = f"127.0.0.1:{free_port()}"
    (folder / "prometheus.yml").write_text("global: {}\n")
    process = subprocess.Popen(
        [
            program,
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={place}",
            "--query.lookback-delta=10s",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_port(int(place.rpartition(":")[2]))
        # It listens before it has read its past.
        while httpx.get(f"http://{place}/-/ready", timeout=60).status_code != 200:
            assert process.poll() is None
            time.sleep(0.1)
        yield place
    finally:
        process.terminate()
        process.wait(120)
