from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alora_ts.bench import speed_growth
from alora_ts.bench.speed import Case, Comparison, compare_speed, wavy_rows
from alora_ts.bench.speed_growth import Growth, draw_growth, speed_page
from alora_ts.progress import Step


def test_every_work_is_compared_and_reported() -> None:
    steps: list[Step] = []
    found = compare_speed([Case(6, 3, 16)], repetitions=1, fit_rows=200, report=steps.append)
    works = [one.work.split(",")[0] for one in found]
    assert works == ["scoring", "streaming", "training", "a fit of 200 rows (plain: 4 epochs"]
    for one in found:
        assert min(one.ours, one.plain, one.ratio) > 0
    assert np.isfinite(found[1].slowest)
    assert steps[-1].done == steps[-1].total


def test_the_page_shows_ratios_machine_and_command(tmp_path: Path) -> None:
    line = Comparison("scoring, a window", Case(20, 38, 512), 1.0, 3.0, 2.0, 5.0)
    growth = [Growth("rows N", (10, 20), (1.0, 2.0)), Growth("window T", (10, 20), (1.0, 2.5))]
    page = speed_page([line], growth, "alora-ts bench speed")
    assert "| scoring, a window | T=20 d=38 K=512 | 1.000 ms | 3.000 ms | 3.00× | 2.50× |" in page
    assert "cores" in page
    assert "`alora-ts bench speed`" in page
    assert "| rows N | 10, 20 | 1, 2 |" in page
    pytest.importorskip("matplotlib")
    draw_growth(growth, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 1000


def test_growth_changes_one_size_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Case, int]] = []

    def pretend(case: Case, rows: int) -> float:
        asked.append((case, rows))
        return 0.001 * rows

    monkeypatch.setattr(speed_growth, "_score_seconds", pretend)
    found = speed_growth.measure_growth(report=lambda _: None)
    assert [one.size for one in found] == ["rows N", "variables d", "window T", "pairs K"]
    assert found[0].milliseconds == (500, 1000, 2000, 4000)
    assert found[1].milliseconds == (1, 1, 1, 1)
    assert len({case for case, _ in asked[:4]}) == 1


def test_wavy_rows_are_the_same_each_time() -> None:
    np.testing.assert_array_equal(wavy_rows(20, 3), wavy_rows(20, 3))
