"""The scripts' own reckoning, run in the browser and compared with slow twins in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from alora_ts.diagnosis.incident import DIFFUSE
from alora_ts.report.relations import strongest_ties, strongest_variables
from tests.serve.browser.watching import Watched, open_page


@pytest.fixture(scope="module")
def page(chromium, bare_site) -> Iterator[Any]:
    """A page that may import the dashboard's modules; no service stands behind it."""
    watched: Watched = open_page(chromium, timezone_id="America/New_York")
    # A file without scripts of its own, but of the same origin.
    watched.page.goto(f"{bare_site}/web/icon.svg")
    yield watched.page
    watched.page.context.close()


def run(page: Any, module: str, body: str, argument: Any = None) -> Any:
    return page.evaluate(
        f"async (x) => {{ const m = await import('/web/{module}'); {body} }}", argument
    )


def naive_events(text: str) -> list[dict[str, str]]:
    """The events of a whole stream, by blocks between blank lines."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n")[:-1]:
        name, data = "message", []
        for line in block.split("\n"):
            if line.startswith("event:"):
                name = line[6:].strip()
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
        if data:
            found.append({"name": name, "data": "\n".join(data)})
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_survive_any_cut(page, size, end):
    text = (
        ': hello\n\nevent: reading\ndata: {"a": 1}\n\ndata: x\ndata:  y\nid: 4\n\n'
        "event: incident\n\nevent:fit\ndata:{}\n\nevent: reading\ndata: cut"
    ).replace("\n", end)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    body = "const p = new m.EventParser(); return x.flatMap((piece) => p.give(piece));"
    assert run(page, "events.js", body, pieces) == naive_events(text)


@pytest.mark.parametrize("seed", range(4))
def test_the_strongest_ties_are_those_of_the_report(page, seed):
    d = 1 + 6 * seed
    C = np.random.default_rng(seed).standard_normal((d, d))
    ties = run(
        page,
        "drawings/matrix.js",
        "return m.strongestTies(x).map((t) => t.slice(0, 2));",
        C.tolist(),
    )
    assert [tuple(tie) for tie in ties] == strongest_ties(C)
    chosen = run(page, "drawings/matrix.js", "return m.strongestVariables(x, 5);", C.tolist())
    assert chosen == strongest_variables(C, most=5)


def test_a_line_breaks_where_rows_are_missing(page):
    t = [*range(0, 1000, 10), *range(5000, 6000, 10)]
    times, values = run(page, "charts/lines.js", "return m.broken(x, x.map(() => 1));", t)
    assert [at for at, value in zip(times, values, strict=True) if value is None] == [991]
    even = run(page, "charts/lines.js", "return m.broken(x, x)[0].length;", list(range(50)))
    assert even == 50


@pytest.mark.parametrize("lines", [[[], []], [[5], []], [[1, 2, 3], [2, 3, 4]]])
def test_lines_share_one_axis(page, lines):
    body = "return m.together(x.map((t) => ({t, v: t.map((v) => 10 * v)}))).map((c) => [...c]);"
    axis, *columns = run(page, "charts/lines.js", body, lines)
    assert axis == sorted({t for line in lines for t in line})
    for line, column in zip(lines, columns, strict=True):
        known = [value for value in column if value is not None]
        assert known == [10 * t for t in line]


def test_times_are_local_and_utc(page):
    ms = 1_768_003_200_000  # 2026-01-10 00:00 UTC
    assert run(page, "times.js", "return m.moments(x);", ms) == [
        "2026-01-09 19:00",
        "2026-01-10 00:00:00 UTC",
    ]
    assert run(page, "times.js", "return m.fromInput(m.toInput(x));", ms) == ms
    spans = [0, 999, 61_000, 3_600_000, 90_061_000]
    assert run(page, "times.js", "return x.map(m.span);", spans) == [
        "0 s",
        "1 s",
        "1 min 1 s",
        "1 h",
        "1 d 1 h",
    ]


def test_numbers_have_three_figures(page):
    given = [0, 0.12345, 12.345, -1234.6, 1e9, 1e-7, None]
    said = ["0", "0.123", "12.3", "-1,235", "1.0e+9", "1.0e-7", "–"]
    assert run(page, "numbers.js", "return x.map(m.number);", given) == said


def test_each_signal_is_reached_by_its_strongest_tie(page):
    body = """
    const nodes = ["a", "b", "c"].map((variable) => ({variable, role: variable === "a" ? "origin" : "affected"}));
    const tie = (from, to, weight) => ({from, to, weight});
    return m.strongest({nodes, edges: [tie("a", "b", 1), tie("a", "c", 1), tie("b", "c", -2), tie("c", "a", 9)]})
      .map(({from, to}) => from + to);
    """  # noqa: E501
    assert run(page, "drawings/flow.js", body) == ["ab", "bc"]


@pytest.mark.parametrize(
    ("move", "low", "high"),
    [
        ("v.zoom(0.5)", 250e3, 750e3),
        ("v.zoom(0.5, 0)", 0, 500e3),
        ("v.pan(0.5)", 500e3, 1500e3),
        ("v.pan(-9)", -500e3, 500e3),
        ("v.whole()", -100e3, 10_100e3),
        ("v.zoom(1e9)", -5e6, 6e6),
        ("v.set(10, 11)", -489.5, 510.5),
        ("v.reach(20e6); v.newest()", 19_020e3, 20_020e3),
        ("v.newest(); v.reach(20e6)", 19_020e3, 20_020e3),
    ],
)
def test_a_view_keeps_near_the_history(page, move, low, high):
    body = (
        "const v = new m.View({first: 0, last: 10e6, min: 0, max: 1e6});"
        f"{move}; return [v.min, v.max];"
    )
    assert run(page, "charts/view.js", body) == pytest.approx([low, high])


@pytest.mark.parametrize(
    ("shares", "blamed"),
    [
        ([DIFFUSE, 0.1], "a"),
        ([0.1, DIFFUSE], "a"),
        ([DIFFUSE - 0.001, 0.1], "no single signal"),
        ([], "no single signal"),
    ],
)
def test_a_diffuse_incident_bears_no_signals_name(page, shares, blamed):
    culprits = [{"variable": "ab"[at], "share": share} for at, share in enumerate(shares)]
    incident = {"kind": "anomaly", "culprits": culprits}
    assert run(page, "incidents.js", "return m.blame(x);", incident) == blamed
    silent = {"kind": "silence", "culprits": [{"variable": "a", "share": 1 / 9}] * 9}
    assert run(page, "incidents.js", "return m.blame(x);", silent) == "9 signals"
