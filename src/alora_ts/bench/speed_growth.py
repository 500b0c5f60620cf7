"""How the cost of scoring grows with rows, variables, window and pairs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from alora_ts.bench.speed import Case, Comparison, describe_machine, fitted, wavy_rows
from alora_ts.files import write_atomically
from alora_ts.progress import Report, Step

__all__ = ["Growth", "draw_growth", "measure_growth", "speed_page"]

_BASE = Case(20, 20, 128)
_ROWS = 600
_STEPS: dict[str, tuple[int, ...]] = {
    "rows N": (500, 1000, 2000, 4000),
    "variables d": (10, 20, 40, 80),
    "window T": (10, 20, 40, 80),
    "pairs K": (64, 128, 256, 512),
}


@dataclass(frozen=True)
class Growth:
    """CPU milliseconds of scoring while one size grows and the others stay.

    Attributes
    ----------
    size : str
        Which one grows.
    values : tuple of int
    milliseconds : tuple of float
        Of a whole table where the rows grow, of one row otherwise.
    """

    size: str
    values: tuple[int, ...]
    milliseconds: tuple[float, ...]


def measure_growth(*, report: Report) -> list[Growth]:
    """Score tables of growing sizes; the base is T=20, d=20, K=128 and 600 rows."""
    found = []
    for number, (size, values) in enumerate(_STEPS.items()):
        costs = []
        for value in values:
            case, rows = _BASE, _ROWS
            if size == "rows N":
                rows = value
            elif size == "variables d":
                case = replace(case, variables=value)
            elif size == "window T":
                case = replace(case, window=value)
            else:
                case = replace(case, variables=40, pairs=value)
            seconds = _score_seconds(case, rows)
            costs.append(1e3 * seconds / (1 if size == "rows N" else rows))
        found.append(Growth(size, values, tuple(costs)))
        report(Step("growing", number + 1, len(_STEPS)))
    return found


def _score_seconds(case: Case, rows: int) -> float:
    model = fitted(case)
    table = wavy_rows(rows, case.variables)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        model.score(table, progress=False)
        best = min(best, time.process_time() - start)
    return best


def draw_growth(growth: Sequence[Growth], path: str | os.PathLike[str]) -> None:
    """Draw the curves, both axes logarithmic, with a straight line for linear growth."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    figure = Figure(figsize=(11, 3), layout="constrained")
    for axes, one in zip(figure.subplots(1, len(growth)), growth, strict=True):
        linear = [one.milliseconds[0] * value / one.values[0] for value in one.values]
        axes.loglog(one.values, linear, "--", color="0.7", label="linear")
        axes.loglog(one.values, one.milliseconds, "o-", label="measured")
        axes.set_xlabel(one.size)
        axes.set_ylabel("ms a table" if one.size == "rows N" else "ms a row")
        axes.set_xticks(one.values, [str(value) for value in one.values])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.minorticks_off()
        axes.legend()
    with write_atomically(path) as part:
        figure.savefig(part, dpi=120)


def speed_page(comparisons: Sequence[Comparison], growth: Sequence[Growth], command: str) -> str:
    """The results as Markdown, with the machine and the command that regenerates them."""
    lines = [
        "# Speed",
        "",
        f"`{command}`",
        "",
        f"{describe_machine()}.",
        "",
        "The plain implementation is the network's own forward pass over all rows of every window "
        "with one full SVD a layer. Medians; ours and plain alternate in one run.",
        "",
        "| work | size | ours | plain | ratio in wall time | ratio in CPU time | p99 |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for one in comparisons:
        slowest = "" if one.slowest != one.slowest else f"{one.slowest:.2f} ms"
        lines.append(
            f"| {one.work} | {one.case} | {one.ours:.3f} ms | {one.plain:.3f} ms | "
            f"{one.ratio:.2f}× | {one.processor_ratio:.2f}× | {slowest} |"
        )
    if growth:
        lines += ["", "Growth of scoring, CPU time (base T=20 d=20 K=128):", ""]
        lines += ["| size | values | ms |", "|---|---|---|"]
        for each in growth:
            values = ", ".join(f"{value:,}" for value in each.values)
            costs = ", ".join(f"{cost:.3g}" for cost in each.milliseconds)
            lines.append(f"| {each.size} | {values} | {costs} |")
    return "\n".join(lines) + "\n"
