"""Amazon's PetShop: latency, requests and availability of the parts of a web shop, with issues.

Below ``low_traffic`` and ``high_traffic`` stand ``noissue/metrics.csv``, ``graph.csv`` and for each
issue ``train/issue_*/metrics.csv`` with ``target.json``: where the issue was noticed and
where it began. The tables have three header lines: node, metric, statistic.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alora_ts.data.structure import Edges, read_edges
from alora_ts.datasets.reading import need_file
from alora_ts.errors import DataError

__all__ = ["Column", "Issue", "is_here", "read_issues", "read_metrics"]

Column = tuple[str, str, str]
"""Node, metric, statistic."""

_HEADER = 3
_LEAST_CELLS = 20  # a column with fewer numbers in normal operation has no usual range


@dataclass(frozen=True, eq=False)
class Issue:
    """One issue and the normal rows of its kind of traffic.

    Attributes
    ----------
    name : str
    columns : tuple of (str, str, str)
        Those that both tables have, and that have numbers in normal operation.
    normal, rows : ndarray of shape (N, d) and (M, d)
        NaN where a cell is empty.
    symptom, cause : str
        Nodes.
    edges : tuple of (str, str)
        From the called node to the one that calls it, the way a delay takes.
    """

    name: str
    columns: tuple[Column, ...]
    normal: NDArray[np.float64]
    rows: NDArray[np.float64]
    symptom: str
    cause: str
    edges: Edges


def is_here(root: Path) -> bool:
    """Whether a folder is a copy of the PetShop."""
    return any(root.glob("*_traffic/noissue/metrics.csv"))


def read_issues(root: Path) -> Iterator[Issue]:
    """Every issue of a copy, in the order of names."""
    for traffic in sorted(root.glob("*_traffic")):
        columns, normal = read_metrics(traffic / "noissue" / "metrics.csv")
        graph = traffic / "graph.csv"
        edges = tuple((to, fro) for fro, to in read_edges(graph)) if graph.is_file() else ()
        for folder in sorted(traffic.glob("train/issue_*")):
            own, rows = read_metrics(folder / "metrics.csv")
            told = json.loads(need_file(folder / "target.json").read_text(encoding="utf-8"))
            places = {column: at for at, column in enumerate(own)}
            kept = [
                at
                for at, column in enumerate(columns)
                if column in places and np.isfinite(normal[:, at]).sum() >= _LEAST_CELLS
            ]
            yield Issue(
                name=f"{traffic.name}/{folder.name}",
                columns=tuple(columns[at] for at in kept),
                normal=normal[:, kept],
                rows=rows[:, [places[columns[at]] for at in kept]],
                symptom=told["target"]["node"],
                cause=told["root_cause"]["node"],
                edges=edges,
            )


def read_metrics(path: Path) -> tuple[list[Column], NDArray[np.float64]]:
    """Columns and values of a table with three header lines, empty cells as NaN."""
    with need_file(path).open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    if len(lines) <= _HEADER or len({len(line) for line in lines[:_HEADER]}) != 1:
        raise DataError(f"{path}: expected three header lines (node, metric, statistic) and rows")
    nodes, metrics, statistics = lines[:_HEADER]
    columns = list(zip(nodes[1:], metrics[1:], statistics[1:], strict=True))
    # A line that only names the index may stand between the header and the rows.
    body = [line for line in lines[_HEADER:] if any(line[1:])]
    try:
        cells = [[float(cell) if cell else np.nan for cell in line[1:]] for line in body]
        values = np.array(cells, dtype=np.float64).reshape(len(body), len(columns))
    except ValueError as error:
        raise DataError(f"{path}: {error}; the file is damaged, copy it again") from None
    return columns, values
