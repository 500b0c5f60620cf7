"""The interface as its own description says it is; live updates; the page of endpoints."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis import GenerationMode

from alora_ts.serve.http.endpoints.events import _stream
from alora_ts.serve.operate.events import News
from alora_ts.serve.settings import Settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

EXAMPLES = 4
# The stream of events never ends, and fits of a real source would start processes.
APART = {("GET", "/api/v1/events"), ("POST", "/api/v1/sources/{source}/fits")}


def real_names(here: Plant) -> dict[str, str]:
    """What exists, so that requests get past the first look-up."""
    incidents = here.client.get("/api/v1/incidents").json()["items"]
    return {"source": "plant", "model": here.source.model_id, "incident": incidents[0]["id"]}


@pytest.mark.slow
def test_no_request_makes_the_service_fail(
    serve: Callable[[Settings], Plant], settings: Settings
) -> None:
    here = serve(settings.model_copy(update={"rate_limit": 1e6}))
    table = plant.values(60)
    table[40:50, 1] += 90
    here.send(plant.rows(table))
    here.settle()
    names = real_names(here)
    schema = schemathesis.openapi.from_dict(here.client.get("/openapi.json").json())
    seen = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        known = set() if (operation.method.upper(), operation.path) in APART else set(names)
        if operation.path == "/api/v1/events":
            continue
        modes = [GenerationMode.POSITIVE]
        if operation.body or not all(map(_any_name, operation.iter_parameters())):
            modes.append(GenerationMode.NEGATIVE)
        for mode in modes:
            seen += _try(here, operation.as_strategy(generation_mode=mode), names, known)
    assert seen > 100
    assert here.client.get("/readyz").status_code == 200
    assert not here.service.crew.troubles


def _any_name(parameter: Any) -> bool:
    """Whether any text will do: hypothesis tries hundreds before it sees that none is wrong."""
    schema = parameter.definition["schema"]
    return parameter.definition["in"] == "path" and set(schema) <= {"type", "title", "description"}


def _try(
    here: Plant, strategy: st.SearchStrategy[Any], names: dict[str, str], known: set[str]
) -> int:
    seen = 0

    @hypothesis.settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=strategy, real=st.booleans())
    def run(case: Any, real: bool) -> None:
        nonlocal seen
        if real:
            case.path_parameters.update(
                {name: names[name] for name in known & set(case.path_parameters)}
            )
        try:
            request = requests.Request(**case.as_transport_kwargs(base_url="http://127.0.0.1"))
            prepared = request.prepare()
        except (ValueError, UnicodeError, requests.RequestException):
            return  # no client could send this
        headers = {k: v for k, v in prepared.headers.items() if k.lower() != "content-length"}
        answer = here.client.request(
            str(prepared.method), str(prepared.url), headers=headers, content=prepared.body
        )
        seen += 1
        assert answer.status_code < 500, (answer.status_code, prepared.method, prepared.url)
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) == {"code", "message", "hint"}

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of hypothesis and jsonschema about odd schemas
            run()
    except hypothesis.errors.Unsatisfiable:
        pass  # there is no wrong way to ask for this
    return seen


def test_events_tell_the_last_reading_and_every_incident(here: Plant) -> None:
    table = plant.values(100)
    table[40:50, 1] += 90

    async def listen() -> list[tuple[str, dict[str, Any]]]:
        service = here.service
        service.bus.attach(asyncio.get_running_loop())
        stream = _stream(service, "plant")
        await anext(stream)
        assert service.bus.listeners == 1
        await asyncio.to_thread(here.send, plant.rows(table))
        heard = []
        while True:
            text = (await anext(stream)).decode()
            kind, data = text.split("\n")[:2]
            heard.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
            if heard[-1][0] == "reading":
                break
        service.bus.publish(News("incident", "other", {}))
        service.stop_streams()
        async for _ in stream:
            pass
        assert service.bus.listeners == 0
        return heard

    heard = asyncio.run(listen())
    changes = [data["change"] for kind, data in heard if kind == "incident"]
    assert changes[:2] == ["opened", "closed"]
    assert heard[-1][1]["source"] == "plant"
    assert heard[-1][1]["values"].keys() == set(plant.VARIABLES)


def test_the_page_of_endpoints_needs_nothing_from_elsewhere(here: Plant) -> None:
    page = here.client.get("/docs").text
    assert "/api/v1/sources/{source}/rows" in page
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page


def test_silent_signals_become_incidents(here: Plant) -> None:
    service = here.service

    def silences(state: str) -> dict[str, list[str]]:
        found = here.client.get("/api/v1/incidents", params={"state": state}).json()["items"]
        return {one["connector"]: [c["variable"] for c in one["culprits"]] for one in found}

    async def hear(connector: str, *signals: str) -> None:
        await service.silent("plant", connector, dict.fromkeys(signals, 5))

    asyncio.run(hear("a", "flow", "heat"))
    asyncio.run(hear("a", "flow", "heat"))
    asyncio.run(hear("b", "level"))
    assert silences("open") == {"a": ["flow", "heat"], "b": ["level"]}
    shown = here.client.get("/api/v1/sources/plant").json()
    assert shown["silent_signals"] == ["flow", "heat", "level"]
    assert (
        'alora_silent_signals{connector="a",source="plant"} 2.0' in here.client.get("/metrics").text
    )
    asyncio.run(hear("a", "heat"))
    assert silences("open") == {"a": ["heat"], "b": ["level"]}
    asyncio.run(hear("b"))
    assert silences("open") == {"a": ["heat"]}
    assert silences("closed") == {"b": ["level"]}
    judged = here.client.get("/api/v1/incidents").json()["items"][0]["id"]
    verdict = here.client.post(f"/api/v1/incidents/{judged}/feedback", json={"verdict": "real"})
    assert verdict.status_code == 409


def test_the_newest_row_for_connectors(here: Plant) -> None:
    assert asyncio.run(here.service.last_row("plant")) is None
    row = plant.rows(plant.values(2))[1]
    row["values"]["heat"] = None
    here.send([row])
    last = asyncio.run(here.service.last_row("plant"))
    assert last is not None
    assert last.values["heat"] is None
    assert last.values["flow"] == row["values"]["flow"]
    assert here.service.variables("plant") == plant.VARIABLES
