"""Choosing pairs among many series: time and memory.

    python benchmarks/speed_pairs.py            # d = 1,000, N = 100,000

CPU seconds of one thread count, because other work on the machine does not touch them; exit
code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from alora_ts.network import choose_pairs

SECONDS, GIBIBYTES = 60.0, 4.0


def main() -> int:
    """Measure and print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--variables", type=int, default=1000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    values = rng.standard_normal((args.rows, args.variables), dtype=np.float32)
    start = time.process_time()
    pairs = choose_pairs(values, limit=512, correlation="spearman")
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{len(pairs)} pairs of d={args.variables:,}, N={args.rows:,}: {seconds:.1f} s of one "
        f"processor, peak {peak:.2f} GiB (bounds {SECONDS:.0f} s, {GIBIBYTES:.0f} GiB)"
    )
    return int(seconds > SECONDS or peak > GIBIBYTES)


if __name__ == "__main__":
    sys.exit(main())
