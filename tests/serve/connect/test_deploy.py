"""The settings in the how-to pages load, and the files for other programs are what these want."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from benchmarks.serve_programs import find_program

from alora_ts.serve.connect import build_connectors
from alora_ts.serve.connect.payload import read_rows, read_value
from alora_ts.serve.connect.settings import ConnectSettings
from alora_ts.serve.notify import NotifySettings
from alora_ts.serve.rows.interface import Receipt
from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from tests.conftest import REPOSITORY, need_program

PAGES = sorted((REPOSITORY / "docs" / "how-to").glob("connect-*.md"))
DEPLOY = REPOSITORY / "deploy"


def blocks(kind: str) -> list[tuple[str, str]]:
    found = list[tuple[str, str]]()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += [
            (page.stem, code)
            for code in re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        ]
    return found


@pytest.mark.parametrize(("page", "code"), blocks("toml"))
def test_settings_of_the_pages_load(page: str, code: str) -> None:
    given = tomllib.loads(code)
    settings = Settings.model_validate(given)
    assert settings.models, page
    connectors = build_connectors(ConnectSettings.model_validate(given.get("connect", {})))
    channels = NotifySettings.model_validate(given.get("notify", {})).channels()
    assert connectors or channels
    named = set().union(*(one.sources() for one in settings.connect.sections()))
    assert named <= set(settings.models)


def test_every_way_in_and_out_has_a_page() -> None:
    told = "\n".join(code for _, code in blocks("toml"))
    for section in (*ConnectSettings.model_fields,):
        assert f"[[connect.{section}]]" in told
    common = ("max_age", "page")
    for section in (*NotifySettings.model_fields,):
        assert (f"\n{section} = " if section in common else f"[[notify.{section}]]") in told


@pytest.mark.parametrize(("page", "code"), blocks("json"))
def test_payloads_of_the_pages_are_read(page: str, code: str) -> None:
    if page == "connect-webhook-mail":
        assert json.loads(code)["event"] == "opened"
    elif '"value"' in code:
        assert read_value(code.encode())[1] == 21.5
    else:
        for line in code.strip().splitlines():
            assert next(read_rows(line.encode())).values.keys() == {"flow", "level"}


def exported(folder: Path) -> set[str]:
    """The names under which Prometheus finds our metrics."""
    service = Service(Settings(folder=folder))
    families = list(service.metrics.registry.collect())
    service.close()
    names = set[str]()
    for family in families:
        ending = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count", ""]}
        names |= {family.name + end for end in ending.get(family.type, [""])}
    return names


def test_pages_and_files_name_metrics_that_exist(tmp_path: Path) -> None:
    known = exported(tmp_path)
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    texts += [
        path.read_text(encoding="utf-8") for path in DEPLOY.rglob("alora-*") if path.is_file()
    ]
    named = set(re.findall(r"\balora_(?!ts\b)[a-z_]+", "\n".join(texts)))
    assert len(named) > 8
    assert named <= known


def promtool(*arguments: str, folder: Path, given: bytes = b"") -> None:
    program = find_program("promtool") or need_program("promtool")
    run = subprocess.run(
        [program, *arguments], cwd=folder, input=given, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_prometheus_finds_nothing_to_object_to_in_our_metrics(tmp_path: Path) -> None:
    service = Service(Settings(folder=tmp_path / "data"))
    metrics = service.metrics
    metrics.received("plant", Receipt(1, 1, 1), ["bad-time"])
    metrics.score.labels("plant").set(2.5)
    metrics.read("plant", [0.1])
    text = metrics.text()
    service.close()
    promtool("check", "metrics", folder=tmp_path, given=text)


@pytest.mark.slow
def test_alert_rules_fire_when_they_should() -> None:
    folder = DEPLOY / "prometheus"
    promtool("check", "rules", "alora-alerts.yml", folder=folder)
    promtool("test", "rules", "alora-alerts-test.yml", folder=folder)


@pytest.mark.slow
def test_panels_ask_in_correct_promql(tmp_path: Path) -> None:
    board = json.loads((DEPLOY / "grafana" / "alora-dashboard.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) > 8
    rules = [
        {"record": f"panel:{number}", "expr": expr.replace("$source", ".*")}
        for number, expr in enumerate(asked)
    ]
    # JSON is YAML, which promtool reads.
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "p", "rules": rules}]}))
    promtool("check", "rules", "panels.yml", folder=tmp_path)
    places = [panel["gridPos"] for panel in board["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)), "panels overlap"
    assert max(x for x, _ in cells) < 24


def test_the_unit_starts_what_exists() -> None:
    unit = (DEPLOY / "systemd" / "alora-ts.service").read_text(encoding="utf-8")
    options = set(re.findall(r"alora-ts serve.*?$", unit, re.MULTILINE))
    assert options
    for line in options:
        assert set(re.findall(r"--[a-z]+", line)) <= {"--config", "--folder", "--check"}
