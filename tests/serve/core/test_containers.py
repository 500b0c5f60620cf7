"""The container files are what their tools want. No container is built or run here."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.serve_programs import find_program

from alora_ts.serve.settings_file import PREFIX, read_settings
from tests.conftest import REPOSITORY, need_program

DOCKER = REPOSITORY / "deploy" / "docker"
DOCKERFILE = DOCKER / "Dockerfile"
COMPOSE = sorted(DOCKER.glob("compose*.yml"))


def tool(name: str) -> str:
    """A program that came with a Python package."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name) or need_program(name)


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def loaded(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def test_the_linter_has_nothing_to_say_of_the_dockerfile() -> None:
    run(tool("hadolint"), str(DOCKERFILE))


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_compose_files_keep_the_schema(path: Path) -> None:
    schema = ["--builtin-schema", "vendor.compose-spec"]
    run(tool("check-jsonschema"), *schema, str(path))


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_what_compose_files_mount_and_build_exists(path: Path) -> None:
    services = loaded(path)["services"]
    alora = services["alora"]
    assert (DOCKER / alora["build"]["context"] / alora["build"]["dockerfile"]).samefile(DOCKERFILE)
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (DOCKER / source).exists(), volume
        # Nothing is open to the network by itself.
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert alora["command"][0] == "serve"


def test_the_image_runs_as_nobody_in_particular_and_is_watched() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    last = text.rsplit("\nFROM ", 1)[1]
    assert text.count("\nFROM ") == 2
    assert "USER 10001:10001" in last
    assert "gcc" not in last
    [check] = re.findall(r"^    CMD (\[.*\])$", last, re.MULTILINE)
    command = json.loads(check)
    assert command[0] == "python"
    compile(command[2], "healthcheck", "exec")
    for name in re.findall(r"^COPY ([\w. ]+) \S+$", text, re.MULTILINE):
        for part in name.split():
            assert (REPOSITORY / part).exists(), part


def test_the_image_sets_what_can_be_set() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    given = dict(re.findall(rf"({PREFIX}[A-Z_]+)=(\S+)", text))
    settings = read_settings(DOCKER / "config" / "serve.toml", environment=given)
    assert (settings.host, str(settings.folder)) == ("0.0.0.0", "/data")
    assert settings.log_format == "json"
    assert settings.models == {"plant": (DOCKER / "config" / "plant.alora").resolve()}


@pytest.mark.slow
def test_prometheus_takes_its_settings() -> None:
    program = find_program("promtool") or need_program("promtool")
    run(program, "check", "config", "--syntax-only", str(DOCKER / "prometheus.yml"))
