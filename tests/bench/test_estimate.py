"""How long runs will take: learned from runs, else from what ships, else unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alora_ts import baselines
from alora_ts.bench.estimate import Estimate, _shipped
from alora_ts.bench.runner import Moment
from alora_ts.bench.runs import Run
from alora_ts.bench.unit import failed

RUN = Run(
    plan="p",
    label="knn",
    method="knn",
    preset="cpu",
    parameters={},
    dataset="SMD",
    entity="machine-1-1",
    seed=0,
)
OTHER = replace(RUN, entity="machine-1-2")
ROWS = {"SMD machine-1-1": 10_000, "SMD machine-1-2": 20_000}


def done(run, seconds):
    return replace(failed(run, ""), status="done", measured={"run_processor_seconds": seconds})


def test_runs_of_the_same_method_tell_by_their_rows():
    estimate = Estimate(ROWS, [OTHER])
    estimate.learn([done(RUN, 14.0), failed(RUN, "broken")])
    assert estimate.seconds(OTHER) == 4 + 20


def test_without_them_the_shipped_costs_do_and_else_nobody_knows():
    estimate = Estimate(ROWS, [RUN, replace(RUN, method="strange", label="strange")])
    assert estimate.seconds(RUN) == pytest.approx(4 + _shipped()["knn cpu"])
    assert estimate.total() == (estimate.seconds(RUN), 1)


def test_what_is_left_shrinks_as_runs_end():
    estimate = Estimate(ROWS, [RUN, OTHER])
    estimate.learn([done(RUN, 14.0)])
    assert estimate.left(Moment(2), workers=2) == (14 + 24) / 2
    assert estimate.left(Moment(1, over=[done(RUN, 14.0)]), workers=2) == 24 / 2
    unknown = Estimate(ROWS, [replace(RUN, method="strange", label="strange")])
    assert unknown.left(Moment(1), workers=1) is None


def test_shipped_costs_are_of_methods_that_exist():
    for name in _shipped():
        method, preset = name.split()
        if method != "alora":
            baselines.get(method, preset)
