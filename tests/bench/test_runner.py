"""The runner: limits, failures, resuming, kills; each with real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict

import polars as pl
import pytest
from benchmarks.bench_kills import COMMAND, results, run_with_kills

from alora_ts.bench.plan import read_plan
from alora_ts.bench.record import read_record, read_records
from alora_ts.bench.runner import finished_record, run_all, running_here
from alora_ts.bench.runs import expand
from alora_ts.bench.unit import DISK_FULL
from alora_ts.datasets import add
from alora_ts.errors import AloraError
from alora_ts.version import __version__
from tests.bench.own_data import SMALL, method, write_plan, write_tables
from tests.cli.invoke import invoke

pytestmark = pytest.mark.slow

OURS = method("alora", preset='"default"', parameters=SMALL)
THREE = OURS + method("norm") + method("aerca", parameters="{ epochs = 1 }")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    add(write_tables(folder / "tables"), name="servers", root=folder)
    return folder


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, root):
    """The folder of a plan of `THREE` that ran to its end at once."""
    folder = tmp_path_factory.mktemp("undisturbed")
    plan = write_plan(folder / "plan.toml", THREE)
    done = invoke("bench", "run", plan, "--out", folder / "out", "--data", root)
    assert done.code == 0, done.err
    return folder / "out"


def run(path, root, methods, settings="", workers=2):
    plan = read_plan(write_plan(path / "plan.toml", methods, settings=settings))
    runs = expand(plan, root).runs
    over = run_all(plan, runs, folder=path / "out", root=root, workers=workers)
    return {record.label: record for record in over}


def test_a_run_leaves_scores_measurements_and_surroundings(undisturbed):
    found = {record.label: record for record in read_records(undisturbed / "mine")}
    assert set(found) == {"alora", "norm", "aerca"}
    ours = found["alora"]
    assert ours.status == "done"
    assert 0 < ours.detection["best threshold / affiliation F1"].value <= 1
    assert "given threshold / affiliation F1" in ours.detection
    for choice in ("given threshold", "best threshold"):
        for name in ("incident F1", "false incidents per 1,000 rows", "incident delay (rows)"):
            assert f"{choice} / {name}" in ours.detection
    assert ours.localization["HR@100"].chance == pytest.approx(1 / 3)
    assert ours.facts["learnable"] > ours.facts["embedding"] > 0
    assert ours.data["events"] == 1
    assert ours.measured["peak_mib"] > 50
    assert ours.measured["versions"]["torch"]
    scores = pl.read_parquet(undisturbed / "mine/scores/servers/whole/alora-0.parquet")
    assert scores.height == 300
    assert scores["variable:v1"].is_not_null().sum() == 30
    # One that says only which, not when.
    assert found["aerca"].detection == {}
    assert "HR@100" in found["aerca"].localization


def test_a_failure_is_recorded_and_does_not_stop_the_rest(tmp_path, root):
    # A window longer than the table.
    broken = method("alora", label='"broken"', parameters="{ window = 5000 }")
    found = run(tmp_path, root, broken + method("norm"))
    assert found["norm"].status == "done"
    assert found["broken"].status == "failed"
    assert "5" in found["broken"].error
    assert read_record(tmp_path / "out/runs/servers/whole/broken-0.json").status == "failed"


def test_too_long_and_too_large_runs_are_ended(tmp_path, root):
    long = run(tmp_path, root, method("norm"), "minutes = 0.001")
    assert "more than the 0.001 minutes" in long["norm"].error
    large = run(tmp_path, root, method("pca"), "memory_gib = 0.01")
    assert "GiB of memory" in large["pca"].error


def test_where_there_is_nothing_to_choose_from_the_case_is_left_out(tmp_path, root):
    found = run(tmp_path, root, method("alora", parameters=SMALL, needs_pairs="64"))
    assert found["alora"].status == "left out"
    assert "3 pairs" in found["alora"].error


def test_a_method_that_only_locates_is_left_out_where_nobody_knows_the_variables(tmp_path):
    tables = write_tables(tmp_path / "tables")
    (tables / "affected.csv").unlink()
    add(tables, name="servers", root=tmp_path)
    found = run(tmp_path, tmp_path, method("aerca") + method("norm"))
    assert found["aerca"].status == "left out"
    assert "only locates" in found["aerca"].error
    assert found["norm"].status == "done"


def test_a_file_that_is_damaged_or_from_other_settings_counts_as_none(tmp_path, root):
    run(tmp_path, root, method("norm"))
    plan = read_plan(tmp_path / "plan.toml")
    [one] = expand(plan, root).runs
    path = tmp_path / "out/runs/servers/whole/norm-0.json"
    assert finished_record(one, tmp_path / "out").status == "done"
    whole = path.read_text()
    for damaged in (whole[:100], "", "[]", "{}", json.dumps({"format": 99})):
        path.write_text(damaged)
        assert finished_record(one, tmp_path / "out") is None
        with pytest.raises(AloraError, match=r"norm-0\.json"):
            read_record(path)
    path.write_text(whole.replace(one.digest, "0" * 16))
    assert finished_record(one, tmp_path / "out") is None


def test_two_runners_keep_out_of_one_folder(tmp_path):
    with (
        running_here(tmp_path / "out"),
        pytest.raises(AloraError, match="another"),
        running_here(tmp_path / "out"),
    ):
        pass


def test_the_command_resumes_and_repeats_nothing(tmp_path, root):
    plan = write_plan(tmp_path / "plan.toml", method("norm") + method("random"))
    command = ["bench", "run", plan, "--out", tmp_path / "out", "--data", root]
    first = invoke(*command, "--only", "norm")
    assert "1 runs done" in first.out
    path = tmp_path / "out/mine/runs/servers/whole/norm-0.json"
    before = path.stat().st_mtime_ns
    second = invoke(*command)
    assert "1 finished before" in second.err
    assert "1/1 random on servers" in second.err
    assert path.stat().st_mtime_ns == before
    third = invoke(*command, "--dry-run")
    assert "2 finished before" in third.err
    path.write_text(path.read_text().replace(f'"alora-ts": "{__version__}"', '"alora-ts": "0.0.0"'))
    assert "2 finished before" in invoke(*command, "--dry-run").err  # by settings, not by version
    fourth = invoke(*command, "--renew")
    assert "1 runs done" in fourth.out
    assert read_record(path).measured["versions"]["alora-ts"] == __version__
    assert [one.code for one in (first, second, third, fourth)] == [0, 0, 0, 0]


def test_killed_again_and_again_it_ends_with_the_same_files(tmp_path, root, undisturbed):
    plan = write_plan(tmp_path / "plan.toml", THREE)
    kept = run_with_kills(str(plan), tmp_path / "killed", data=root, kills=2, seed=1, longest=4.0)
    assert kept == sorted(kept)
    assert results(tmp_path / "killed") == results(undisturbed)
    assert len(results(undisturbed)) == 6


def test_a_full_disk_stops_the_plan_and_loses_nothing(tmp_path, root):
    """A real, small file system, where this user may mount one."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if os.geteuid() != 0 or mounted.returncode:
        pytest.skip("only a user who may mount can make a small file system")
    try:
        plan = write_plan(tmp_path / "plan.toml", method("norm"))
        command = [*COMMAND, str(plan), "--out", str(small), "--data", str(root)]
        stopped = subprocess.run(command, capture_output=True, text=True, check=False)
        assert stopped.returncode == 1
        assert "is full; what is finished is kept" in stopped.stderr
        assert not list(small.rglob("*.json"))
        # Room to begin, none to end: the unit says so instead of failing as a method.
        [one] = expand(read_plan(plan), root).runs
        with suppress(OSError), (small / "filling").open("wb", buffering=0) as filling:
            while True:
                filling.write(bytes(512))
        job = {"run": asdict(one), "folder": str(small), "root": str(root)}
        with subprocess.Popen(
            [sys.executable, "-m", "alora_ts.bench.unit"], stdin=subprocess.PIPE, text=True
        ) as unit:
            unit.stdin.write(json.dumps(job) + "\n")
            unit.stdin.flush()
            assert unit.wait(120) == DISK_FULL
        assert not list(small.rglob("*.json"))
    finally:
        subprocess.run(["umount", str(small)], check=True)
