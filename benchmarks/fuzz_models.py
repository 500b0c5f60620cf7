"""Mutated model files: each must be refused cleanly, or work, within a bound of memory.

python benchmarks/fuzz_models.py --count 10000
"""

from __future__ import annotations

import argparse
import copy
import json
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from alora_ts import ALoRa
from alora_ts.errors import ArtifactError
from alora_ts.serve.models.cache import read_model

__all__ = ["mutations", "rebuilt", "split"]

_STRANGE: tuple[Any, ...] = (
    -1, 0, 1, 2, 3, 64, 1000, 10**6, 10**9, 2**31, 2**63, 10**30, 0.5, -0.0, 1e308, 1e-308,
    None, True, False, "", "x", "pairs", "dense", "\x00", "9" * 50, [], [[]], [1e9], {}, {"a": 1},
)  # fmt: skip


def split(file: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """The tensors' table, the description and the data of a model file."""
    (length,) = struct.unpack("<Q", file[:8])
    table = json.loads(file[8 : 8 + length])
    description = json.loads(table.pop("__metadata__")["alora_ts"])
    return table, description, file[8 + length :]


def rebuilt(table: dict[str, Any], description: dict[str, Any], data: bytes) -> bytes:
    """A file from its parts."""
    whole = {"__metadata__": {"alora_ts": json.dumps(description)}, **table}
    header = json.dumps(whole).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value[:3]))
    for key, inner in items:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def mutations(file: bytes, *, seed: int) -> Iterator[bytes]:
    """Files with one to three odd values in their header, without end."""
    rng = np.random.default_rng(seed)
    parts = split(file)
    while True:
        table, description, data = copy.deepcopy(parts)
        for _ in range(int(rng.integers(1, 4))):
            part = description if rng.random() < 0.8 else table
            places = list(_places(part))
            *outer, last = places[int(rng.integers(len(places)))]
            holder: Any = part
            for key in outer:
                holder = holder[key]
            if isinstance(holder, dict) and rng.random() < 0.1:
                del holder[last]
            else:
                holder[last] = copy.deepcopy(_STRANGE[int(rng.integers(len(_STRANGE)))])
        cut = len(data) if rng.random() < 0.9 else int(rng.integers(len(data)))
        yield rebuilt(table, description, data[:cut])


def main() -> int:
    """Try many and say how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=float, default=256.0, help="MiB that one may take")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = np.random.default_rng(0).normal(size=(200, 4))
        model = ALoRa(window=8, epochs=1, epoch_windows=64).fit(rows, progress=False)
        file = model.save(Path(folder) / "m.alora").read_bytes()
    process, ended = psutil.Process(), Counter[str]()
    read_model(file)
    before = process.memory_info().rss / 2**20
    worst, slowest = 0.0, 0.0
    for number, mutated in enumerate(mutations(file, seed=args.seed)):
        if number == args.count:
            break
        began = time.perf_counter()
        try:
            read_model(mutated)
            ended["works"] += 1
        except ArtifactError:
            ended["refused"] += 1
        except Exception as error:
            ended[f"failed: {type(error).__name__}"] += 1
            print(f"{number}: {type(error).__name__}: {str(error)[:200]}")
        slowest = max(slowest, time.perf_counter() - began)
        worst = max(worst, process.memory_info().rss / 2**20 - before)
    print(dict(ended), f"memory +{worst:.0f} MiB, slowest {slowest:.2f} s")
    return 0 if set(ended) <= {"works", "refused"} and worst <= args.memory else 1


if __name__ == "__main__":
    sys.exit(main())
