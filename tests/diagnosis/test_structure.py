"""Incidents seen through groups and known influences."""

from __future__ import annotations

import numpy as np
import pytest

from alora_ts.diagnosis.structure import group_parts, known_ways
from alora_ts.errors import DataError
from tests.report.example import diagnosis_of


def found():
    """carts_cpu jumps, orders_cpu follows three rows later."""
    values = np.zeros((120, 3))
    values[60:80, 0] += 9
    values[63:80, 1] += 6
    names = ("carts_cpu", "orders_cpu", "orders_mem")
    return diagnosis_of(values, np.zeros((120, 3)), variables=names)


def test_groups_are_ranked_by_their_strongest() -> None:
    diagnosis = found()
    parts = group_parts(diagnosis.incidents[0], diagnosis.variables, "prefix before _")
    assert [part.name for part in parts] == ["carts", "orders"]
    assert parts[1].variables == ("orders_cpu",)
    assert sum(part.share for part in parts) == pytest.approx(1, abs=0.01)


def test_known_influences_are_those_that_time_allows() -> None:
    diagnosis = found()
    (incident,), names = diagnosis.incidents, diagnosis.variables
    both = (("orders_cpu", "carts_cpu"), ("carts_cpu", "orders_cpu"))
    assert known_ways(incident.spread, names, both) == (("carts_cpu", "orders_cpu"),)
    grouped = known_ways(incident.spread, names, (("carts", "orders"),), "prefix before _")
    assert grouped == (("carts", "orders"),)
    assert known_ways(incident.spread, names, (("cart", "orders_cpu"),)) == ()


def test_what_nobody_measures_is_told_and_left_out(tmp_path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("cause,effect\ncarts_cpu,orders_cpu\norders_cpu,queue\n")
    known = found().with_structure(influences=path)
    assert known.structure.influences == (("carts_cpu", "orders_cpu"),)
    assert known.health[-1] == "influences: no signal or group is called 'queue'; left out"


def test_a_diagnosis_tells_them(tmp_path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("cause,effect\ncarts_cpu,orders_cpu\norders_mem,carts_cpu\n")
    told = found().with_structure(groups="prefix before _", influences=path)
    said = {fact.label: fact.text for fact in told.facts(told.incidents[0])}
    assert said["groups"].startswith("carts (")
    assert said["known influences"] == "carts_cpu → orders_cpu"
    assert said["onset"].startswith("carts_cpu, above normal from 60")
    assert "→ orders_cpu (63)" in said["spread"]
    told.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Known influences" in page
    # The spread is drawn as well: an arrow from the first to the one three rows later.
    drawing = page[page.index('<figure class="spread">') :].partition("</figure>")[0]
    assert 'aria-label="carts_cpu to orders_cpu"' in drawing
    assert (
        drawing.index("carts_cpu<") < drawing.index("orders_cpu<") < drawing.index("3 rows later")
    )
    assert drawing.count('class="tie"') == 1
    found().report(tmp_path / "plain.html")
    plain = (tmp_path / "plain.html").read_text(encoding="utf-8")
    assert '<figure class="spread">' not in plain
    none = found().with_structure(influences=(("orders_mem", "carts_cpu"),))
    assert none.facts(none.incidents[0])[-1].text == "none between the signals it reached"
    with pytest.raises(DataError, match="matches none"):
        found().with_structure(groups="prefix before /")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; give two columns"),
        ("cause,effect\n", "names no influence; give two columns"),
        ("a,b,c\n", "names no influence"),
        (
            "cause,effect,weight\ncarts_cpu,orders_cpu,1\n",
            "line 2: 'orders_cpu' is not a number; give",
        ),
        ("cause,effect\ncarts,orders\n", "unknown name 'carts'.* if it is a group, give the rule"),
        ("cause,effect\ncarts_cup,orders_cpu\n", "did you mean 'carts_cpu'"),
    ],
)
def test_influences_that_cannot_be_used_are_refused_in_clear_words(tmp_path, text, said) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        found().with_structure(influences=path)
