"""Scores in the store equal a batch's, whatever way the rows took."""

from __future__ import annotations

import copy
import dataclasses
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.report.counterfactual import counterfactual
from alora_ts.serve.incidents.spread import incident_graph
from alora_ts.serve.settings import Settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant, stored_scores

Start = Callable[[Settings], Plant]


def faulty(rows: int = 300) -> NDArray[np.float64]:
    table = plant.values(rows, seed=3)
    table[120:140, 1] += 60
    table[200:204, 3] -= 90
    return table


def batch(
    model: ALoRa, table: NDArray[np.float64], seconds: NDArray[np.int64]
) -> NDArray[np.float64]:
    return model.score(plant.frame(table, seconds=seconds), progress=False)


def check(found: NDArray[np.float64], wanted: NDArray[np.float64], warm: NDArray[np.bool_]) -> None:
    assert found.shape == wanted.shape
    assert_allclose(found[~warm], wanted[~warm], rtol=2e-4, atol=1e-6)


def warm_up(
    model: ALoRa, table: NDArray[np.float64], seconds: NDArray[np.int64]
) -> NDArray[np.bool_]:
    return model.diagnose(plant.frame(table, seconds=seconds), progress=False).warm_up


@pytest.mark.parametrize("order", ["in order", "one late", "pieces shuffled", "one by one"])
def test_scores_equal_a_batch(here: Plant, model: ALoRa, order: str) -> None:
    table, seconds = faulty(), np.arange(300)
    seconds[180:] += 50  # a gap: the window begins again
    rows = plant.rows(table, seconds=seconds)
    if order == "in order":
        here.send(rows)
    elif order == "one late":
        here.send(rows[:130] + rows[131:])
        here.settle()
        assert here.send([rows[130]])["late"] == 1
    elif order == "pieces shuffled":
        pieces = np.array_split(np.arange(300), 12)
        for piece in np.random.default_rng(0).permutation(12):
            here.send([rows[at] for at in pieces[piece]])
    else:
        here.send(rows[:110])
        for row in rows[110:150]:
            here.send([row])
        here.send(rows[150:])
    check(here.scores(), batch(model, table, seconds), warm_up(model, table, seconds))


def test_missing_cells_are_held_across_a_restart(
    serve: Start, settings: Settings, model: ALoRa
) -> None:
    table, seconds = faulty(), np.arange(300)
    table[20:, 2] = np.nan  # silent for much longer than any window
    first = serve(settings)
    first.send(plant.rows(table[:150], seconds=seconds[:150]))
    first.settle()
    first.client.__exit__(None, None, None)
    second = serve(settings)
    second.send(plant.rows(table[150:], seconds=seconds[150:]))
    check(second.scores(), batch(model, table, seconds), warm_up(model, table, seconds))


def test_incidents_equal_a_batch(here: Plant, model: ALoRa) -> None:
    table, seconds = faulty(), np.arange(300)
    here.send(plant.rows(table, seconds=seconds))
    here.settle()
    wanted = [
        incident
        for incident in model.diagnose(plant.frame(table), progress=False).incidents
        if incident.start >= model.window
    ]
    found = here.client.get("/api/v1/incidents", params={"source": "plant"}).json()["items"][::-1]
    assert len(found) == len(wanted) >= 2
    for one, other in zip(found, wanted, strict=True):
        assert one["start"][:19] == str(other.start_time)[:19]
        assert one["end"][:19] == str(other.end_time)[:19]
        assert one["rows"] == other.rows
        assert one["severity"] == other.severity
        assert_allclose(one["peak"], other.score, rtol=1e-3)
        assert [c["variable"] for c in one["culprits"]] == [c.variable for c in other.culprits]
        assert [c["direction"] for c in one["culprits"]] == [c.direction for c in other.culprits]
        assert_allclose(
            [c["share"] for c in one["culprits"]], [c.share for c in other.culprits], rtol=1e-3
        )
        assert_allclose(
            [c["expected"] for c in one["culprits"]],
            [c.expected for c in other.culprits],
            rtol=1e-3,
        )
        assert [w["name"] for w in one["witnesses"]] == [w.name for w in other.witnesses]
        assert_allclose(
            [w["share"] for w in one["witnesses"]], [w.share for w in other.witnesses], rtol=1e-3
        )
        assert sum(w["share"] for w in one["witnesses"]) == pytest.approx(1)
    detail = here.client.get(f"/api/v1/incidents/{found[0]['id']}").json()
    assert detail["graph"]["nodes"][0]["role"] == "origin"
    assert "seen by" in [fact["label"] for fact in detail["facts"]]
    # Charts have room for a window of rows on both sides, however far rows are apart.
    assert detail["room"] >= model.window * (model.model_.preparation.step or 1.0)


@pytest.mark.parametrize("holes", [False, True])
def test_origins_equal_a_batch(here: Plant, model: ALoRa, holes: bool) -> None:
    table, seconds = faulty(), np.arange(300)
    if holes:
        seconds[180:] += 50
        table[100:125, 2] = np.nan
        table[170:195, 3] = np.nan  # from before the gap into the time after it
        table[199:203, 0] = np.nan
    rows = plant.rows(table, seconds=seconds)
    here.send(rows[:130])
    here.settle()
    here.send(rows[130:])
    here.settle()
    found = here.client.get("/api/v1/incidents").json()["items"]
    wanted = {
        str(incident.start_time)[:19]: incident.origin
        for incident in model.diagnose(
            plant.frame(table, seconds=seconds), progress=False
        ).incidents
    }
    assert len(found) >= 2
    for one in found:
        origin = wanted[one["start"][:19]]
        assert origin is not None
        assert one["origin"]["variable"] == origin.variable
        assert_allclose(one["origin"]["certainty"], origin.certainty, rtol=1e-3)


def test_an_incident_goes_on_after_a_restart(serve: Start, settings: Settings) -> None:
    rows = plant.rows(faulty())
    first = serve(settings)
    first.send(rows[:130])
    first.settle()
    opened = first.client.get("/api/v1/incidents?state=open").json()["items"]
    assert len(opened) == 1
    assert opened[0]["end"] is None
    first.client.__exit__(None, None, None)
    second = serve(settings)
    second.send(rows[130:170])
    second.settle()
    found = second.client.get("/api/v1/incidents").json()["items"]
    assert found[-1]["id"] == opened[0]["id"]
    assert found[-1]["state"] == "closed"
    whole = serve(settings.model_copy(update={"folder": settings.folder / "other"}))
    whole.send(rows[:170])
    whole.settle()
    twins = whole.client.get("/api/v1/incidents").json()["items"]
    assert [one["start"] for one in found] == [twin["start"] for twin in twins]
    for one, twin in zip(found, twins, strict=True):
        assert_allclose(
            [culprit["share"] for culprit in one["culprits"]],
            [culprit["share"] for culprit in twin["culprits"]],
            rtol=1e-5,
        )
        assert one["origin"]["variable"] == twin["origin"]["variable"]
        assert_allclose(one["origin"]["certainty"], twin["origin"]["certainty"], rtol=1e-5)
        assert_allclose(
            [witness["share"] for witness in one["witnesses"]],
            [witness["share"] for witness in twin["witnesses"]],
            rtol=1e-5,
        )


def test_the_dashboard_shows_what_culprits_would_have_been(here: Plant, model: ALoRa) -> None:
    table = faulty()[:150]
    here.send(plant.rows(table))
    here.settle()
    found = here.client.get("/api/v1/incidents").json()["items"][-1]
    lines = here.client.get(f"/api/v1/incidents/{found['id']}/expected").json()
    assert list(lines) == [one["variable"] for one in found["culprits"]]
    batch = model.diagnose(plant.frame(table), progress=False)
    twin = next(one for one in batch.incidents if str(one.start_time)[:19] == found["start"][:19])
    implied = batch.implied(twin, 0, len(table))
    name = found["culprits"][0]["variable"]
    assert batch.timestamps is not None
    millis = batch.timestamps.astype("datetime64[ms]").astype(int).tolist()
    rows = [millis.index(time) for time in lines[name]["t"]]
    assert_allclose(
        lines[name]["v"], implied[rows, batch.variables.index(name)], rtol=1e-4, atol=1e-4
    )


def test_no_signal_of_a_source_is_shown_against_a_bent_expectation(
    here: Plant, model: ALoRa
) -> None:
    table = faulty()[:150]
    here.send(plant.rows(table))
    here.settle()
    batch = model.diagnose(plant.frame(table), progress=False)
    twin = counterfactual(batch)
    assert batch.timestamps is not None
    millis = batch.timestamps.astype("datetime64[ms]").astype(int).tolist()
    query = {"signals": list(batch.variables), "points": 5000}
    shown = here.client.get("/api/v1/sources/plant/series", params=query).json()["signals"]
    for column, name in enumerate(batch.variables):
        rows = [millis.index(time) for time in shown[name]["expected_t"]]
        assert_allclose(
            shown[name]["expected_v"], twin.expected[rows, column], rtol=1e-4, atol=1e-4
        )


def test_a_model_without_rules_still_explains(
    serve: Start, settings: Settings, model: ALoRa, tmp_path: Path
) -> None:
    older = copy.copy(model)
    calibration = model.model_.calibration
    refined = dataclasses.replace(calibration.rule, scoring="refined")
    older.model_ = dataclasses.replace(
        model.model_,
        mechanisms=None,
        usual=None,
        calibration=dataclasses.replace(calibration, rule=refined, bounds=False),
    )
    file = older.save(tmp_path / "older.alora")
    here = serve(settings.model_copy(update={"models": {"plant": file}}))
    here.send(plant.rows(faulty()[:150]))
    here.settle()
    found = here.client.get("/api/v1/incidents").json()["items"]
    assert found
    assert all(one["culprits"] and one["origin"] for one in found)
    assert all("certainty" in one["origin"] for one in found)


def test_where_it_began_comes_first_in_the_graph() -> None:
    culprits = [{"variable": "a", "share": 0.6}, {"variable": "b", "share": 0.35}]
    C = np.array([[1.0, 0.5, 0.2], [0.3, 1.0, 0.2], [0.7, 0.6, 1.0]])

    def roles(**origin: Any) -> list[tuple[str, str, float | None]]:
        graph = incident_graph(culprits, "abc", C, origin=origin or None)
        return [(node["variable"], node["role"], node["share"]) for node in graph["nodes"]]

    both = [("a", "origin", 0.6), ("b", "origin", 0.35)]
    assert roles() == both
    assert roles(variable="c", certainty=0.5) == both
    assert roles(variable="gone", certainty=0.9) == both
    assert roles(variable="b", certainty=0.9) == [("b", "origin", 0.35), ("a", "affected", 0.6)]
    assert roles(variable="c", certainty=0.9) == [
        ("c", "origin", None),
        ("a", "affected", 0.6),
        ("b", "affected", 0.35),
    ]
    graph = incident_graph(culprits, "abc", C, origin={"variable": "c", "certainty": 0.9})
    assert [(edge["from"], edge["to"]) for edge in graph["edges"]] == [
        ("c", "a"),
        ("c", "b"),
        ("a", "b"),
    ]
    assert incident_graph([], "abc", C) == {"nodes": [], "edges": []}


def test_late_rows_keep_an_incidents_id_and_withdraw_what_was_none(here: Plant) -> None:
    calm = plant.values(300, seed=3)
    table = faulty()
    rows, quiet = plant.rows(table), plant.rows(calm)
    here.send(rows[:120] + rows[140:250])
    here.settle()
    # Without the rows of the fault, the model sees only a gap in its past and the second fault.
    before = here.client.get("/api/v1/incidents").json()["items"]
    here.send(quiet[120:140])
    here.settle()
    after = here.client.get("/api/v1/incidents").json()["items"]
    assert {one["id"] for one in after} <= {one["id"] for one in before} | {after[0]["id"]}
    assert before[0]["id"] == after[0]["id"]


def test_models_without_dates_look_for_no_gaps(
    serve: Start, settings: Settings, tmp_path: Path
) -> None:
    bare = ALoRa(window=8, epochs=1, epoch_windows=160).fit(plant.values(600), progress=False)
    file = bare.save(tmp_path / "bare.alora")
    here = serve(settings.model_copy(update={"models": {"plant": file}}))
    table = faulty(60)
    seconds = np.arange(60) * 3600
    rows = [
        {
            "time": row["time"],
            "values": dict(zip(("x0", "x1", "x2", "x3"), row["values"].values(), strict=True)),
        }
        for row in plant.rows(table, seconds=seconds)
    ]
    here.send(rows)
    assert_allclose(here.scores()[8:], bare.score(table, progress=False)[8:], rtol=2e-4, atol=1e-6)


def test_few_sources_and_models_are_kept_in_memory(
    serve: Start, settings: Settings, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The limit holds at any time; a source that had to go scores as if it had stayed."""
    # What is here by now is left out of all the collections below: only what they load is asked.
    gc.freeze()
    request.addfinalizer(gc.unfreeze)
    fitted = {f"s{number}": plant.fit(seed=number) for number in range(5)}
    models = {name: one.save(tmp_path / f"{name}.alora") for name, one in fitted.items()}
    here = serve(settings.model_copy(update={"models": models, "sources_in_memory": 2}))
    table, seconds = faulty(), np.arange(300)
    rows = plant.rows(table)
    for start in range(0, 300, 60):
        for name in models:
            here.send(rows[start : start + 60], name)
            here.settle()
            gc.collect()
            assert len(here.service._scorers) <= 2
            assert here.service.models.loaded <= 2
    for name, model in fitted.items():
        found = stored_scores(here.service, here.service.sources.get(name))
        check(found, batch(model, table, seconds), warm_up(model, table, seconds))


def test_a_model_in_use_is_read_once_however_many_are_kept(
    serve: Start, settings: Settings, model_file: Path, tmp_path: Path
) -> None:
    models = {"one": model_file, "two": model_file, "other": tmp_path / "other.alora"}
    plant.fit(seed=1).save(models["other"])
    here = serve(settings.model_copy(update={"models": models, "sources_in_memory": 3}))
    here.service.models._most = lambda: 1
    for name in models:
        here.send(plant.rows(plant.values(20)), name)
    here.settle()
    used = {name: here.service._scorers[name]._model for name in models}
    assert used["one"] is used["two"] is not used["other"]
    assert here.service.models.get(here.service.sources.get("one").active) is used["one"]
