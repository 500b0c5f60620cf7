"""The fleet at a glance: who misbehaves together, which culprits recur, the page."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.fleet.page import render_fleet
from alora_ts.fleet.together import Stretches, find_company, overlap
from alora_ts.fleet.view import EntityView, FleetView, Trouble
from tests.conftest import need_program
from tests.fleet.naive_together import naive_overlap

_Moments = st.integers(0, 30)
_Stretch = st.tuples(_Moments, st.integers(1, 10)).map(lambda at: (float(at[0]), float(sum(at))))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(_Stretch, max_size=4), min_size=1, max_size=6))
def test_overlap_is_the_naive_one(entities: list[list[tuple[float, float]]]) -> None:
    laid = Stretches.of({f"m{at}": each for at, each in enumerate(entities)})
    found = overlap(laid, slice(0, len(entities)))
    for i, one in enumerate(entities):
        for j, other in enumerate(entities):
            assert found[i, j] == pytest.approx(naive_overlap(one, other))


def test_a_coarse_grid_stays_close() -> None:
    rng = np.random.default_rng(0)
    when = {
        f"m{at}": [(begin, begin + 400) for begin in rng.uniform(0, 50_000, 30)] for at in range(30)
    }
    exact, coarse = Stretches.of(when), Stretches.of(when, finest=1000)
    rows = slice(0, 30)
    assert coarse.within.shape[1] == 1000
    np.testing.assert_allclose(overlap(coarse, rows), overlap(exact, rows), atol=0.1)


def test_odd_fleets_have_no_company() -> None:
    assert find_company(Stretches.of({})) == []
    assert find_company(Stretches.of({"a": []})) == []
    assert find_company(Stretches.of({"a": [(5.0, 5.0)], "b": [(9.0, 9.0)]})) == []
    assert find_company(Stretches.of({"a": [(0.0, 1.0)], "b": [(1.0, 2.0)]})) == []


def test_a_chain_without_a_common_moment_is_no_company() -> None:
    chain = {f"m{at}": [(float(at), at + 3.5)] for at in range(20)}
    assert find_company(Stretches.of(chain), alike=0.5) == []
    assert find_company(Stretches.of(dict(list(chain.items())[:3])))[0].at_once == 3


def _trouble(begin: float, *culprits: str) -> Trouble:
    blamed = tuple((name, 0.5, "above") for name in culprits)
    return Trouble(begin, begin + 9, begin, begin + 10, 4.0, "medium", blamed)


def _view() -> FleetView:
    return FleetView(
        (
            EntityView("a<b>", "diagnosed", score=2.5, rows=9, incidents=(_trouble(0, "x", "y"),)),
            EntityView("c", "diagnosed", score=0.5, rows=9, incidents=(_trouble(1, "x"),)),
            EntityView("d", "diagnosed", score=0.1, rows=9, incidents=(_trouble(70, "z"),)),
            EntityView("e", "failed", "</script> is not a number"),
            EntityView("f", "fitted", rows=9),
        )
    )


def test_recurring_culprits_and_company() -> None:
    view = _view()
    (recurring,) = view.recurring
    assert (recurring.variable, recurring.entities, recurring.incidents) == ("x", ("a<b>", "c"), 2)
    (company,) = view.together
    assert company.entities == ("a<b>", "c")
    frame = view.to_frame()
    assert frame["culprits"].to_list() == ["x, y", "x", "z", "", ""]
    assert frame["incidents"].to_list() == [1, 1, 1, None, None]
    assert FleetView(()).to_frame().is_empty()


def test_the_page_holds_every_entity_and_no_foreign_markup(tmp_path: Path) -> None:
    text = render_fleet(_view(), tmp_path / "fleet.html", title="A & B").read_text()
    assert "<title>A &amp; B</title>" in text
    assert "a<b>" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    data = re.search(r'<script type="application/json" id="rows">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    rows = json.loads(data[1])
    assert [row[0] for row in rows] == ["a<b>", "c", "d", "e", "f"]
    empty = render_fleet(FleetView(()), tmp_path / "none.html").read_text()
    assert "No entity had an incident." in empty


@pytest.mark.slow
def test_the_page_of_ten_thousand_runs_in_a_browser(tmp_path: Path) -> None:
    browser = need_program("chromium")
    many = tuple(
        EntityView(f"host-{at:05}", "diagnosed", score=at / 5000, rows=9) for at in range(10_000)
    )
    path = render_fleet(FleetView(many), tmp_path / "fleet.html")
    assert path.stat().st_size < 2_000_000
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    run = subprocess.run(
        [
            browser,
            *flags.split(),
            "--virtual-time-budget=3000",
            "--dump-dom",
            f"--user-data-dir={tmp_path / 'profile'}",
            path.as_uri(),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    # The script orders the rows by score and shows fifty of them.
    assert "10,000 of 10,000" in run.stdout
    assert "page 1 of 200" in run.stdout
    shown = re.findall(r'<td data-label="Entity"><span>(host-\d+)', run.stdout)
    assert shown[:2] == ["host-09999", "host-09998"]
    assert len(shown) == 50
