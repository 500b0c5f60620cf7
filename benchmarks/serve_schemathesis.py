"""Schemathesis against a running service: no request, right or wrong, makes it fail.

    python -m benchmarks.serve_schemathesis --examples 60 --out results/serve-schemathesis.md

Every operation of `/openapi.json` but the stream of events, which never ends. The service has a
source with rows and incidents; fits are left out, because each would start a process.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from benchmarks.serve_load import SETTINGS, moments, wait_until_scored
from benchmarks.serve_machine import describe_machine
from benchmarks.serve_process import ServiceProcess, make_model, make_rows
from benchmarks.serve_producers import HttpProducer

from alora_ts.files import write_atomically

_LEFT_OUT = r"^/api/v1/(events|sources/\{source\}/fits)$"


def main() -> None:
    """Run it and print or write what schemathesis says at its end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=60)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="alora-api-") as folder:
        path = Path(folder) / "plant.alora"
        make_model(path, 5, window=10, epochs=1, epoch_windows=64)
        settings = f'{SETTINGS}plant = "{path}"\n'
        with ServiceProcess(Path(folder) / "api", settings) as service:
            url = f"{service.url}/api/v1/sources/plant/rows"
            HttpProducer(url, moments(600), make_rows(600, 5, seed=1), batch=200).run()
            wait_until_scored(service.url, 600)
            began = time.monotonic()
            done = subprocess.run(
                [
                    *(str(Path(sys.executable).with_name("schemathesis")), "run"),
                    f"{service.url}/openapi.json",
                    *("--checks", "not_a_server_error"),
                    *("--max-examples", str(given.examples)),
                    *("--exclude-path-regex", _LEFT_OUT),
                    *("--seed", "1", "--no-color", "--request-timeout", "60"),
                ],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
            )
            seconds = time.monotonic() - began
            ready = httpx.get(f"{service.url}/readyz", timeout=60).status_code
    summary = done.stdout[done.stdout.rfind("SUMMARY") :]
    kept = [line.rstrip() for line in summary.splitlines()[1:] if re.search(r"\w", line)]
    lines = [*(f"    {line}" for line in kept), "", f"{seconds:.0f} s; `/readyz` after it: {ready}"]
    print("\n".join(lines))
    if given.out is not None:
        command = f"python -m benchmarks.serve_schemathesis --examples {given.examples}"
        text = "\n".join(lines)
        with write_atomically(given.out) as out:
            out.write_text(
                "# Schemathesis against the service\n\n"
                f"`{command}`\n\n{describe_machine()}\n\n{text}\n",
                encoding="utf-8",
            )
    if done.returncode:
        raise SystemExit(done.stdout[-6000:])


if __name__ == "__main__":
    main()
