"""Fit, judge, resume: the same files whoever does the work, and bad machines harm no other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from alora_ts.data import FileForm
from alora_ts.errors import AloraError, ArtifactError, DataError, NotFittedError
from alora_ts.fleet import Fleet, LocalEngine
from alora_ts.grouped import GroupedALoRa
from tests.fleet.machines import BAD, files, machine, quick, write_machines
from tests.fleet.naive_engine import OneByOne


@pytest.mark.slow
def test_processes_write_what_one_by_one_writes_and_bad_machines_are_reported(
    tmp_path: Path,
) -> None:
    source = write_machines(tmp_path / "in", 3, bad=True)
    later = write_machines(tmp_path / "later", 4, fault=60)
    made = {}
    for name, engine in (("naive", OneByOne()), ("local", LocalEngine(workers=2))):
        fleet = Fleet(quick(), engine=engine).fit(source, output=tmp_path / name, progress=False)
        assert (fleet.tally_.done, fleet.tally_.failed) == (3, 3)
        assert set(fleet.tally_.reasons) == BAD
        view = fleet.diagnose(later, progress=False)
        made[name] = files(tmp_path / name)
    assert made["naive"] == made["local"]
    assert {entity.name for entity in view.failed} == {"m3"}  # was never fitted
    reasons = {entity.name: entity.reason for entity in fleet.status().failed}
    assert "12 rows are too few" in str(reasons["short"])
    assert "missing: flow; extra: flux" in str(reasons["other"])
    assert "none of its 3 variables ever changes" in str(reasons["constant"])
    assert "no model for it" in str(reasons["m3"])
    assert [each.variable for each in view.recurring][:1] == ["heat"]
    assert view.together[0].entities == ("m0", "m1", "m2")


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", 3, bad=True)
    out = tmp_path / "fleet"

    def run(**changes: object) -> tuple[int, int, int]:
        estimator = quick().set_params(**changes)
        fleet = Fleet(estimator, engine=OneByOne()).fit(source, output=out, progress=False)
        return fleet.tally_.done, fleet.tally_.skipped, fleet.tally_.failed

    assert run() == (3, 0, 3)
    first = files(out)
    assert run() == (0, 3, 3)
    # Half-written or foreign files do not count as done, and leftovers are swept away.
    (out / "entities/m0/model.alora").write_bytes(b"half")
    (out / "entities/m1/fit.json").write_text("{")
    (out / "entities/m2/.model.xyz.part.alora").write_bytes(b"")
    assert run() == (2, 1, 3)
    assert files(out) == first
    # Other rows, other choices: done again.
    machine(77).write_parquet(source / "m1.parquet")
    assert run() == (1, 2, 3)
    assert run(seed=5) == (3, 0, 3)
    # A machine that turned bad keeps no model of its better days.
    machine(1).head(3).write_parquet(source / "m1.parquet")
    assert run(seed=5) == (0, 2, 4)
    assert not (out / "entities/m1/model.alora").exists()
    fleet = Fleet.load(out, engine=OneByOne())
    with pytest.raises(NotFittedError, match="3 rows are too few"):
        fleet.model("m1")
    with pytest.raises(DataError, match="did you mean 'm2'"):
        fleet.model("m22")


def test_a_judgement_is_renewed_when_rows_or_model_change(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", 2)
    fleet = Fleet(quick(), engine=OneByOne()).fit(source, output=tmp_path / "fleet", progress=False)
    assert len(fleet.diagnose(source, progress=False)) == 2
    assert fleet.tally_.done == 2
    fleet.diagnose(source, progress=False)
    assert (fleet.tally_.done, fleet.tally_.skipped) == (0, 2)
    machine(0, fault=40).write_parquet(source / "m0.parquet")
    fleet.diagnose(source, progress=False)
    assert (fleet.tally_.done, fleet.tally_.skipped) == (1, 1)
    fleet.diagnose(source, variables=True, progress=False)
    assert fleet.tally_.done == 2
    assert "localization:heat" in fleet.scores("m0").columns
    # The kept scores are those of the model itself.
    own = fleet.model("m0").diagnose(source / "m0.parquet", progress=False)
    np.testing.assert_array_equal(fleet.scores("m0")["score"].to_numpy(), own.score)


@pytest.mark.parametrize("kind", ["polars", "pandas", "csv", "parquet", "partitions", "dates"])
def test_every_kind_of_input_gives_the_same_models(kind: str, tmp_path: Path) -> None:
    names = ["007", "a/../b", ".."]
    frames = [machine(at).with_columns(host=pl.lit(name)) for at, name in enumerate(names)]
    rows = [frame.slice(start, 30) for start in range(0, 120, 30) for frame in frames]
    table = pl.concat(rows)
    source: object = table
    if kind == "pandas":
        source = table.to_pandas()
    elif kind == "csv":
        table.write_csv(tmp_path / "all.csv")
        source = tmp_path / "all.csv"
    elif kind == "parquet":
        table.write_parquet(tmp_path / "all.parquet")
        source = str(tmp_path / "all.parquet")
    elif kind in ("partitions", "dates"):
        source = tmp_path / "set"
        for frame, name in zip(frames, ("007", "a%2F..%2Fb", ".."), strict=True):
            day = "" if kind == "partitions" else "date=2026-03-01/"
            folder = tmp_path / "set" / f"{day}host={name}"
            folder.mkdir(parents=True)
            frame.drop("host").write_parquet(folder / "part-0.parquet")
    fleet = Fleet(quick(), engine=OneByOne()).fit(
        source, group="host", output=tmp_path / "out", ignore=["host"][:0], progress=False
    )
    assert [each.name for each in fleet.status().entities] == sorted(names)
    assert fleet.tally_.failed == 0
    for frame, name in zip(frames, names, strict=True):
        expected = quick().fit(frame.drop("host"), progress=False).score(frame.drop("host"))
        np.testing.assert_allclose(fleet.model(name).score(frame.drop("host")), expected, rtol=1e-6)
    inside = {path.name for path in (tmp_path / "out" / "entities").iterdir()}
    assert inside == {"007", "a%2F..%2Fb", "%2E."}
    assert not (tmp_path / "out" / "staging").exists()


def test_a_fleet_lives_anywhere_fsspec_reaches(tmp_path: Path) -> None:
    import fsspec  # type: ignore[import-untyped]

    source = write_machines(tmp_path / "in", 2, bad=True)
    memory = fsspec.filesystem("memory")
    memory.put(str(source), "memory://rows", recursive=True)
    try:
        fleet = Fleet(quick(), engine=OneByOne())
        fleet.fit("memory://rows", output="memory://fleet", progress=False)
        view = fleet.diagnose("memory://rows", progress=False)
        assert {each.name for each in view.failed} == BAD
        fleet.fit("memory://rows", output="memory://fleet", progress=False)
        assert fleet.tally_.skipped == 2
        # The same models as on disk, and a copy that can be used.
        local = Fleet(quick(), engine=OneByOne()).fit(
            source, output=tmp_path / "local", progress=False
        )
        fleet.save(tmp_path / "copy")
        local.diagnose(source, progress=False)
        assert files(tmp_path / "copy") == files(tmp_path / "local")
    finally:
        memory.rm("/rows", recursive=True)
        memory.rm("/fleet", recursive=True)


def test_without_a_folder_it_lives_in_a_temporary_one_and_can_be_saved(tmp_path: Path) -> None:
    table = pl.concat([machine(at).with_columns(host=pl.lit(f"m{at}")) for at in range(2)])
    fleet = Fleet(quick(), engine=OneByOne()).fit(table, group="host", progress=False)
    fleet.save(tmp_path / "kept")
    loaded = Fleet.load(tmp_path / "kept", engine=OneByOne())
    view = loaded.diagnose(table, group="host", progress=False)
    # Its small sister, in this process and in memory, says the same.
    grouped = GroupedALoRa(quick(), group="host").fit(table, progress=False)
    expected = grouped.diagnose(table, progress=False)
    for entity in view.entities:
        assert entity.score == pytest.approx(expected[entity.name].score[-1])
        assert len(entity.incidents) == len(expected[entity.name].incidents)


def test_progress_counts_every_machine(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", 2, bad=True)
    seen = []
    fleet = Fleet(quick(), engine=OneByOne())
    fleet.fit(source, output=tmp_path / "out", progress=seen.append)
    assert [step.done for step in seen] == [0, 1, 2, 3, 4, 5]
    assert (seen[-1].total, seen[-1].facts["failed"]) == (5, 3)


def test_mistakes_are_named(tmp_path: Path) -> None:
    fleet = Fleet(quick(), engine=OneByOne())
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match="no such folder"):
        fleet.fit(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no"):
        fleet.fit(empty)
    with pytest.raises(DataError, match="group="):
        fleet.fit(machine(0))
    with pytest.raises(DataError, match="did you mean 'load'"):
        fleet.fit(machine(0), group="laod")
    with pytest.raises(DataError, match="row 2: the group is missing"):
        fleet.fit(pl.DataFrame({"host": ["a", "b", None], "x": [1.0, 2.0, 3.0]}), group="host")
    with pytest.raises(AloraError, match="window=1"):
        Fleet(quick().set_params(window=1), engine=OneByOne()).fit(empty)
    with pytest.raises(NotFittedError, match="not fitted"):
        fleet.status()
    with pytest.raises(ArtifactError, match="holds no fleet"):
        Fleet.load(empty)
    with pytest.raises(AloraError, match="cannot reach"):
        fleet.fit("nonsense://x")
    machine(0).write_csv(empty / "a.csv")
    machine(0).write_parquet(empty / "a.parquet")
    with pytest.raises(DataError, match="two files are named 'a'"):
        fleet.fit(empty)
    (empty / "a.parquet").unlink()
    machine(0).head(5).write_csv(empty / "a.csv")
    with pytest.raises(DataError, match="no entity could be fitted; 'a': 5 rows"):
        fleet.fit(empty, progress=False)
    with pytest.raises(AloraError, match="it is a file"):
        fleet.fit(empty, output=empty / "a.csv")


def test_a_damaged_or_later_fleet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_text("{}")
    with pytest.raises(ArtifactError, match="damaged"):
        Fleet.load(tmp_path)
    (tmp_path / "fleet.json").write_text(json.dumps({"format": 99, "settings": {}}))
    with pytest.raises(ArtifactError, match="format version 99"):
        Fleet.load(tmp_path)


def test_every_kind_of_trouble_stays_with_its_machine(tmp_path: Path) -> None:
    source = write_machines(tmp_path / "in", 1)
    (source / "torn.parquet").write_bytes((source / "m0.parquet").read_bytes()[:200])
    (source / "words.csv").write_text("time,load,heat,flow\n1,a,b,c\n")
    (source / "empty.csv").write_text("")
    machine(5).with_columns(load=pl.lit(float("inf"))).write_parquet(source / "endless.parquet")
    fleet = Fleet(quick(), engine=OneByOne())
    fleet.fit(source, output=tmp_path / "out", progress=False)
    assert (fleet.tally_.done, fleet.tally_.failed) == (1, 4)
    assert all("/" not in reason for reason in fleet.tally_.reasons.values())


def test_a_fleet_of_files_as_others_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alora_ts.data.csv_blocks.BLOCK_BYTES", 2_000)
    monkeypatch.setattr("alora_ts.fleet.staging._SPILL_CELLS", 200)
    frames = [machine(at).with_columns(host=pl.lit(f"m{at}"), truth=pl.lit(0)) for at in (0, 1)]
    table = pl.concat(frames).with_columns(time=pl.col("time").dt.strftime("%d/%m/%Y %H:%M"))
    text = table.write_csv(separator=";").replace(".", ",")
    lines = text.splitlines()
    lines[100] = lines[100].replace(lines[100].split(";")[1], "void")
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    form = FileForm(time_format="%d/%m/%Y %H:%M", na=("void",))
    fleet = Fleet(quick(), engine=LocalEngine(workers=1))
    fleet.fit(tmp_path / "all.csv", group="host", output=tmp_path / "fleet", label="truth",
              form=form, progress=False)  # fmt: skip
    assert fleet.tally_.done == 2
    fitted = fleet.model("m0").model_.preparation
    assert fitted.variables == ("load", "heat", "flow")
    assert fitted.fitted.label == "truth"
    assert fitted.step == 60
    again = Fleet.load(tmp_path / "fleet", engine=LocalEngine(workers=1))
    view = again.diagnose(tmp_path / "all.csv", group="host", progress=False)
    assert {each.name for each in view.entities} == {"m0", "m1"}
