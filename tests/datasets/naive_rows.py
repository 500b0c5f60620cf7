"""Slow, obvious twins of what datasets/ does with rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.attacks import Attack
from alora_ts.datasets.blocks import Stretch
from alora_ts.datasets.dataset import Segment


def truth(segments: tuple[Segment, ...], rows: int, variables: int) -> list[list[bool]]:
    return [
        [any(s.start <= t < s.end and v in s.variables for s in segments) for v in range(variables)]
        for t in range(rows)
    ]


def runs(label: list[bool]) -> list[tuple[int, int]]:
    found = []
    start = None
    for t, value in enumerate([*label, False]):
        if value and start is None:
            start = t
        if not value and start is not None:
            found.append((start, t))
            start = None
    return found


def hold_last(column: list[float]) -> list[float]:
    known = [value for value in column if math.isfinite(value)]
    last = known[0]
    filled = []
    for value in column:
        last = value if math.isfinite(value) else last
        filled.append(last)
    return filled


def split_at_gaps(clock: list[Any], ids: list[int], longest: Any) -> list[int]:
    numbers = [0]
    for t in range(1, len(clock)):
        new = clock[t] - clock[t - 1] > longest or ids[t] != ids[t - 1]
        numbers.append(numbers[-1] + new)
    return numbers


def block_means(rows: Stretch, seconds: int) -> dict[str, list[Any]]:
    blocks: list[dict[str, Any]] = []
    of_row = []
    for t in range(len(rows.values)):
        stamp = int(rows.timestamps[t].astype("datetime64[s]").astype(int)) // seconds * seconds
        key = (stamp, int(rows.segments[t]))
        if not blocks or blocks[-1]["key"] != key:
            blocks.append({"key": key, "rows": []})
        blocks[-1]["rows"].append(t)
        of_row.append(len(blocks) - 1)
    return {
        "values": [
            np.mean([rows.values[t].astype(np.float64) for t in b["rows"]], axis=0) for b in blocks
        ],
        "timestamps": [b["key"][0] for b in blocks],
        "segments": [b["key"][1] for b in blocks],
        "label": [any(rows.label[t] for t in b["rows"]) for b in blocks],
        "truth": [
            [any(s.start <= t < s.end for t in b["rows"]) for s in rows.interpretation]
            for b in blocks
        ],
    }


def attacked_rows(attack: Attack, clock: NDArray[np.datetime64]) -> list[int]:
    return [t for t in range(len(clock)) if attack.start <= clock[t] <= attack.end]


def read_matrix(text: str) -> list[list[float]]:
    return [[float(cell) for cell in line.split(",")] for line in text.splitlines()]


def msds_rows(
    nodes: list[list[tuple[str, float, float]]],
) -> list[tuple[str, list[float]]]:
    """Join the nodes as the label matrix was counted, position by position."""
    start = max(min(row[0] for row in node) for node in nodes)
    end = min(max(row[0] for row in node) for node in nodes)
    tables = []
    for node in nodes:
        kept = {number: row for number, row in enumerate(node) if row[0] >= start}
        late = [place for place, row in enumerate(kept.values()) if row[0] > end]
        for place in late:
            del kept[place]
        by_second: dict[str, list[tuple[float, float]]] = {}
        for now, cpu, mem in kept.values():
            by_second.setdefault(now, []).append((cpu, mem))
        tables.append({now: np.mean(rows, axis=0).tolist() for now, rows in by_second.items()})
    common = sorted(set.intersection(*(set(table) for table in tables)))
    return [(now, [value for table in tables for value in table[now]]) for now in common]
