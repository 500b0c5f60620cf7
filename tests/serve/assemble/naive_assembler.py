"""The slow twin of the assembler: everything is recomputed from a complete log."""

from __future__ import annotations

from collections.abc import Mapping

from alora_ts.serve.assemble import Grid, Sample
from alora_ts.serve.rows.interface import Row


class NaiveAssembler:
    """Keeps every call ever made and looks through all of them each time."""

    def __init__(
        self, signals: list[str], grid: Grid, *, held: Mapping[str, Sample] | None = None
    ) -> None:
        self.signals = signals
        self.grid = grid
        self.seen = list((held or {}).values())
        self.taken: list[tuple[int, int, Sample]] = []  # row, arrival, sample
        self.made: list[int] = []

    def add(self, sample: Sample, *, now: int) -> str | None:
        grid = self.grid
        if sample.signal not in self.signals:
            return "unknown signal"
        if sample.time - now > grid.ahead:
            return "from the future"
        near = [
            point
            for point in range(
                sample.time // grid.step * grid.step, sample.time + grid.step + 1, grid.step
            )
            if abs(sample.time - point) <= grid.tolerance
        ]
        point = max(near) if near else None
        if self.taken:
            newest = max(row for row, _, _ in self.taken)
            if newest - (sample.time if point is None else point) > grid.late:
                return "too late"
        if not any(s.signal == sample.signal and s.time == sample.time for s in self.seen):
            self.seen.append(sample)
        if point is None:
            return None
        if point in self.made:
            return "row already made"
        self.taken.append((point, now, sample))
        return None

    def take(self, *, now: int) -> list[Row]:
        rows = list[Row]()
        for point in sorted({row for row, _, _ in self.taken} - set(self.made)):
            mine = [(arrival, sample) for row, arrival, sample in self.taken if row == point]
            complete = {sample.signal for _, sample in mine} == set(self.signals)
            if not complete and now - mine[0][0] < self.grid.wait:
                break
            rows.append(Row(point, {name: self.value(name, point) for name in self.signals}))
            self.made.append(point)
        return rows

    def value(self, name: str, point: int) -> float | None:
        mine = [s for row, _, s in self.taken if row == point and s.signal == name]
        if mine:
            best = mine[0]
            for sample in mine[1:]:
                nearer = abs(sample.time - point) < abs(best.time - point)
                equal = abs(sample.time - point) == abs(best.time - point)
                if nearer or (equal and sample.time > best.time):
                    best = sample
            return best.value
        before = [s for s in self.seen if s.signal == name and s.time <= point]
        if not before:
            return None
        last = max(before, key=lambda s: s.time)
        return last.value if point - last.time <= self.grid.hold else None
