from __future__ import annotations

import json
import re

import numpy as np

from alora_ts.report.relations import (
    contribution_map,
    relation_ring,
    strongest_ties,
    strongest_variables,
)


def test_ties_are_those_a_plain_sort_finds():
    C = np.random.default_rng(0).standard_normal((9, 9))
    pairs = [(i, j) for i in range(9) for j in range(9) if i != j]
    wanted = sorted(pairs, key=lambda pair: -abs(C[pair]))[:30]
    assert strongest_ties(C) == wanted
    assert C[0, 0] != 0


def test_odd_matrices_have_no_ties_or_few():
    assert strongest_ties(np.eye(4)) == []
    assert strongest_ties(np.full((2, 2), np.nan)) == []
    assert strongest_variables(np.zeros((3, 3))) == [0, 1, 2]
    assert "No signal" in relation_ring(np.eye(3), ["a", "b", "c"], set())
    assert "<svg" in contribution_map(np.zeros((2, 2)), ["a", "b"])


def test_the_map_shows_the_strongest_forty_and_their_values():
    C = np.random.default_rng(1).standard_normal((100, 100))
    names = [f"</script>{i}" for i in range(100)]
    drawn = contribution_map(C, names)
    assert "</script>" not in drawn
    facts = json.loads(re.search(r"<metadata>(.*)</metadata>", drawn).group(1))
    assert len(facts["names"]) == 40
    chosen = [names.index(name) for name in facts["names"]]
    np.testing.assert_allclose(facts["values"], C[np.ix_(chosen, chosen)], rtol=0.006)


def test_the_ring_marks_culprits_and_directions():
    C = np.array([[1.0, -0.5, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]])
    drawn = relation_ring(C, ["a<b", "c", "alone"], {"c"})
    assert drawn.count('class="tie minus"') == 1
    assert drawn.count('class="tie"') == 1
    assert drawn.count("dot guilty") == 1
    assert "alone" not in drawn
    assert "from a&lt;b to c (-0.5)" in drawn
