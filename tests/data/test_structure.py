"""Groups and known influences: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from alora_ts.data.structure import group_names, keep_known, read_edges, tell_unknown
from alora_ts.errors import DataError


def test_rules_take_prefixes_and_suffixes() -> None:
    names = ["carts_cpu", "carts-db_cpu", "load", "a_b_c"]
    assert group_names(names, "prefix before _") == ("carts", "carts-db", "load", "a")
    assert group_names(names, "suffix after _") == ("cpu", "cpu", "load", "c")
    assert group_names(["a::b"], "prefix before ::") == ("a",)
    assert group_names(["PetSite latency p99", "cart"], "prefix before  ") == ("PetSite", "cart")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("prefix before /", "matches none of the 2 variables"),
        ("by service", "cannot read the rule"),
        ({"pump": "p"}, "there is no variable 'pump'"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(rule: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        group_names(["pump_1", "pump_2"], rule)  # type: ignore[arg-type]


def test_edges_are_read_as_a_list_or_a_square(tmp_path: Path) -> None:
    listed, square = tmp_path / "list.csv", tmp_path / "square.csv"
    listed.write_text("from,to\na,b\nb,c\n")
    square.write_text(",a,b,c\na,0,1,0\nb,0,0,1.0\nc,,0,0\n")
    assert read_edges(listed) == read_edges(square) == (("a", "b"), ("b", "c"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from,to\na\n", "line 2: expected a cause and an effect"),
        (",a,b\na,0\n", "line 2: 1 numbers under 2 names"),
        (",a,b\na,0,yes\n", "'yes' is not a number"),
        ("", "is empty"),
    ],
)
def test_a_file_that_is_no_graph_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_edges(path)
    with pytest.raises(DataError, match="does not exist"):
        read_edges(tmp_path / "none.csv")


def test_unknown_names_are_left_out_and_told_but_not_all_of_them() -> None:
    edges = (("a", "b"), ("b", "sky"), ("aa", "b"))
    kept, unknown = keep_known(edges, ["a", "b"], where="edges.csv")
    assert (kept, unknown) == ((("a", "b"),), ("sky", "aa"))
    assert "'sky', 'aa' (did you mean 'a'?); left out" in tell_unknown(unknown, ["a", "b"])
    assert tell_unknown([f"n{at}" for at in range(9)], ["flow"]).endswith("and 4 more; left out")
    with pytest.raises(DataError, match=r"edges.csv: unknown name 'sky'"):
        keep_known(edges[1:], ["b"], where="edges.csv")
    assert keep_known((), ["a"], where="edges.csv") == ((), ())
