"""Kill the benchmark's runner again and again: it must end with the results of a quiet run.

    python -m benchmarks.bench_kills                       # the smoke plan, 20 kills
    python -m benchmarks.bench_kills --kills 5 --plan my.toml --data folder

The runner gets SIGKILL after a random while, 20 times; then it may finish. Another runner does the
same plan undisturbed. Afterwards both folders hold the same files: scores byte for byte, records
but for what differs from run to run (times, memory).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-c", "from alora_ts.cli.main import run; run()", "bench", "run"]


def run_with_kills(
    plan: str, out: Path, *, data: Path | None, kills: int, seed: int, longest: float = 8.0
) -> list[int]:
    """Run a plan to its end although it is killed; give the finished runs after each kill."""
    rng = random.Random(seed)
    command = [*COMMAND, plan, "--out", str(out), *(["--data", str(data)] if data else [])]
    finished = []
    for _ in range(kills):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as runner:
            time.sleep(rng.uniform(2.0, longest))
            runner.kill()
        finished.append(len(results(out)))
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return finished


def results(out: Path) -> dict[str, Any]:
    """Every file below a folder by name: scores as bytes, records without what must differ."""
    found: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        name = str(path.relative_to(out))
        if path.suffix == ".json" and not path.name.startswith("."):
            found[name] = {k: v for k, v in json.loads(path.read_text()).items() if k != "measured"}
        elif path.is_file() and path.name != ".lock":
            found[name] = path.read_bytes()
    return found


def main() -> None:
    """Do both and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--plan", default="smoke")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        disturbed, quiet = Path(folder) / "disturbed", Path(folder) / "quiet"
        finished = run_with_kills(
            args.plan, disturbed, data=args.data, kills=args.kills, seed=args.seed
        )
        run_with_kills(args.plan, quiet, data=args.data, kills=0, seed=args.seed)
        ours, theirs = results(disturbed), results(quiet)
    print(f"files after each of {args.kills} kills: {finished}; at the end {len(ours)}")
    different = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
    print("the same files with the same content" if not different else f"different: {different}")
    sys.exit(bool(different) or os.EX_OK)


if __name__ == "__main__":
    main()
