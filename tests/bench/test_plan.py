"""Plans: the shipped ones are whole, broken ones are refused with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from alora_ts import baselines
from alora_ts.bench.contestant import check_method, make_contestant
from alora_ts.bench.plan import Plan, PlanError, read_plan, shipped_plans
from alora_ts.bench.runs import Run, expand
from alora_ts.bench.unit import perform

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


def test_the_core_ablation_has_eight_cases_three_seeds_and_the_main_tables_entities():
    plan, main = read_plan("ablation-core"), read_plan("cpu")
    cases = [method for method in plan.methods if method.name == "alora"]
    assert len(cases) == 8
    assert plan.seeds == [0, 1, 2]
    assert all(method.seeds is None for method in cases)
    there = {one.name: set(one.entities) for one in main.datasets}
    assert all(set(one.entities) <= there[one.name] for one in plan.datasets)
    assert sum(bool(one.parameters) for one in cases) == 7


def test_sizes_has_each_side_at_the_size_of_the_other():
    small, full, alora = (
        make_contestant(one.name, one.preset, one.parameters, dataset="ASD", seed=0)
        for one in read_plan("sizes").methods
        if one.row in {"memto", "memto-published", "alora-small"}
    )
    weights = [one.detector.parameter_count(19) for one in (small, full)]
    assert weights[1] > 50 * weights[0]
    found = full.detector
    assert (found.width, found.stride, found.epochs) == (512, 100, 100)
    series = alora.estimator.pairs
    # Three layers of four square matrices.
    assert 0.5 * weights[0] < 3 * 4 * series**2 < 2 * weights[0]


def test_the_published_configuration_is_the_papers():
    [method] = [one for one in read_plan("published").methods if one.row == "alora-published"]
    made = make_contestant(
        method.name, method.preset, method.parameters, dataset="SMD", seed=0
    ).estimator
    training = made.training
    assert (training.learning_rate, training.rate, training.error) == (1e-4, "constant", "mean")
    assert made.epochs > 2 * training.patience  # it can stop early
    assert made.epoch_windows > 10**7  # every window
    assert (made.pairs, made.architecture.layers, made.scoring) == (512, 3, "paper")


@pytest.mark.parametrize("name", ["published", "ablation-core", "sizes"])
def test_every_row_of_alora_runs_at_the_smallest_size(name, tmp_path):
    """The plans themselves take hours."""
    tiny = {"window": 6, "epochs": 1, "epoch_windows": 64, "architecture__heads": 2}
    for method in read_plan(name).methods:
        if method.name != "alora":
            continue
        run = Run(
            plan=name,
            label=method.row,
            method=method.name,
            preset=method.preset,
            parameters={**method.parameters, **tiny},
            dataset="synthetic",
            entity="clear-faults",
            seed=0,
            studies=method.studies,
        )
        record = perform(run, folder=tmp_path, root=tmp_path, report=lambda _: None)
        assert record.status == "done", record.error
        assert record.facts["windows"] > 0
        assert record.facts["held_back_loss_1"] > 0
        assert record.detection
        assert {"LAS / HR@100", "LAS top-k / HR@100", "LAS* / HR@100"} <= set(
            record.localization
        ) or method.parameters.get("scoring") == "error"


def test_a_dataset_may_have_seeds_of_its_own():
    plan = Plan.model_validate(
        {
            "name": "x",
            "datasets": [
                {"name": "synthetic", "entities": ["clear-faults"], "seeds": [0, 1]},
            ],
            "methods": [{"name": "isolation-forest"}, {"name": "knn", "seeds": [3]}],
        }
    )
    runs = expand(plan, Path("nowhere")).runs
    assert [(one.label, one.seed) for one in runs] == [
        ("isolation-forest", 0),
        ("isolation-forest", 1),
        ("knn", 3),
    ]


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
