"""Plans: the shipped ones are whole, broken ones are refused with the line."""

from __future__ import annotations

import pytest

from alora_ts import baselines
from alora_ts.bench.contestant import check_method
from alora_ts.bench.plan import PlanError, read_plan, shipped_plans

HONEST = {"random", "always-alarm", "norm"}


@pytest.mark.parametrize("name", sorted(shipped_plans()))
def test_shipped_plans_name_what_exists_and_have_the_honest_rows(name):
    plan = read_plan(name)
    assert plan.name == name
    assert {method.name for method in plan.methods} >= HONEST
    for method in plan.methods:
        check_method(method.name, method.preset, method.parameters)
        for changes in method.per_dataset.values():
            check_method(method.name, method.preset, changes)


@pytest.mark.parametrize("name", ["cpu", "paper"])
def test_the_big_plans_have_every_method(name):
    here = {method.name for method in read_plan(name).methods}
    assert here >= {"alora", *baselines.names()}


def test_the_paper_plan_has_five_seeds_and_the_published_levels():
    plan = read_plan("paper")
    assert plan.seeds == [0, 1, 2, 3, 4]
    [published] = [one for one in plan.methods if one.row == "alora-published-h1"]
    levels = {name: one["calibration__rank_level"] for name, one in published.per_dataset.items()}
    assert levels == {"SMD": 1e-2, "PSM": 1e-3, "MSL": 3e-2, "SWaT": 3e-2, "HAI": 2e-1}


def test_every_ablation_changes_something_against_the_base():
    plan = read_plan("ablation")
    cases = [method for method in plan.methods if method.name == "alora"]
    base = next(method for method in cases if method.row == "base")
    for case in cases:
        assert case.studies
        if case is not base:
            assert case.parameters or case.preset != base.preset
    windows = {case.studies["window"] for case in cases if "window" in case.studies}
    assert windows == {"10", "20", "50", "100", "150"}


GOOD = 'name = "x"\n[[datasets]]\nname = "SMD"\n[[methods]]\nname = "knn"\n'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name = \n", 1, "not TOML"),
        (GOOD + "sed = [1]\n", 6, "did you mean 'seeds'"),
        ("thread = 2\n" + GOOD, 1, "did you mean 'threads'"),
        (GOOD.replace('"SMD"', "3"), 3, "valid string"),
        ("minutes = -1\n" + GOOD, 1, "greater than 0"),
        (GOOD + '[[methods]]\nname = "knn"\n', 1, "'knn' stands for several methods"),
        (GOOD + 'label = "a/b"\n', 1, "cannot be a file's name"),
        ('name = "x"\n[[datasets]]\nname = "SMD"\n', 1, "methods"),
        (GOOD.replace('"x"', '"../x"'), 1, "pattern"),
    ],
)
def test_a_broken_plan_is_refused_with_its_line(tmp_path, text, line, words):
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(PlanError) as refused:
        read_plan(path)
    assert f"line {line}" in str(refused.value)
    assert words in str(refused.value)
    assert "broken.toml" in str(refused.value)


def test_a_plan_that_is_not_there(tmp_path):
    with pytest.raises(PlanError, match="there is no plan file"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(PlanError, match="did you mean 'ablation'"):
        read_plan("ablations")
