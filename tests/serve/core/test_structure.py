"""What people know of a source, and what an incident's page says with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alora_ts.serve.settings import Settings
from alora_ts.serve.settings_file import read_settings
from tests.serve.core import plant
from tests.serve.core.conftest import Plant

API = "/api/v1"
Start = Callable[[Settings], Plant]


def shown(serve: Start, settings: Settings, known: dict[str, Any]) -> dict[str, Any]:
    """An incident that begins in the level and reaches heat two rows later."""
    named = {**settings.model_dump(), "structure": {"*": known}}
    here = serve(Settings.model_validate(named))
    table = plant.values(60, seed=3)
    table[-10:, 1] += 60
    table[-8:, 3] += 60
    here.send(plant.rows(table))
    here.settle()
    [found] = here.client.get(f"{API}/incidents").json()["items"]
    return dict(here.client.get(f"{API}/incidents/{found['id']}").json())


def test_the_spread_follows_known_influences(
    serve: Start, settings: Settings, tmp_path: Path
) -> None:
    edges = tmp_path / "edges.csv"
    edges.write_text("cause,effect\nlevel,heat\nheat,level\nflow,power\n")
    known = shown(serve, settings, {"influences": edges})["known"]
    assert known["problem"] is None
    assert known["edges"] == [{"from": "level", "to": "heat"}]
    roles = {one["variable"]: one["role"] for one in known["nodes"]}
    assert roles == {"level": "origin", "heat": "affected"}
    first, then = (one["time"] for one in known["nodes"])
    assert first < then


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"text": "cause,effect\nlevle,heat\n"}, "did you mean 'level'"),
        (
            {"text": "cause,effect\n", "groups": "prefix before _"},
            "matches none of the 4 variables",
        ),
        ({}, "does not exist"),
    ],
)
def test_what_is_wrong_with_them_is_said_on_the_page(
    serve: Start, settings: Settings, tmp_path: Path, known: dict[str, str], said: str
) -> None:
    edges = tmp_path / "edges.csv"
    if "text" in known:
        edges.write_text(known["text"])
    found = shown(serve, settings, {"influences": edges, "groups": known.get("groups")})
    assert said in found["known"]["problem"]
    assert found["known"]["edges"] == []


def test_without_them_nothing_is_said(here: Plant) -> None:
    table = plant.values(60, seed=3)
    table[-10:, 1] += 60
    here.send(plant.rows(table))
    here.settle()
    [found] = here.client.get(f"{API}/incidents").json()["items"]
    assert here.client.get(f"{API}/incidents/{found['id']}").json()["known"] is None


def test_a_path_in_the_settings_is_relative_to_their_file(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('[structure.plant]\ninfluences = "edges.csv"\n')
    [known] = read_settings(file, environment={}).structure.values()
    assert known.influences == tmp_path / "edges.csv"
