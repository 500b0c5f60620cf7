"""Settings say what is wrong with them, and keep secrets to themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from alora_ts.errors import AloraError
from alora_ts.serve.connect import ConnectSettings, build_connectors
from alora_ts.serve.connect.settings import AssembleSettings, TopicSettings
from alora_ts.serve.connect.topics import TopicMatcher
from alora_ts.serve.operate.secrets import read_secret

MQTT = {"name": "line", "source": "plant", "host": "broker", "assemble": {"step": 1}}
TOPIC = {"topic": "plant/{variable}"}
PROMETHEUS = {"name": "p", "source": "plant", "url": "http://h:9090", "queries": {"a": "up"}}
KAFKA = {
    "name": "k",
    "source": "{key}",
    "brokers": "h:9092",
    "topics": [{"topic": "t", "payload": "row"}],
}
RECEIVER = {"name": "r", "source": "plant", "assemble": {"step": 1}}


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"mqtt": [{**MQTT, "topics": []}]}, "at least 1"),
        ({"mqtt": [{**MQTT, "topics": [TOPIC], "assemble": None}]}, "connect.mqtt.assemble"),
        ({"mqtt": [{**MQTT, "topics": [{"topic": "plant/a"}]}]}, "has no {variable}"),
        ({"mqtt": [{**MQTT, "topics": [{"topic": "plant/x-{a}"}]}]}, "partly in braces"),
        (
            {"mqtt": [{**MQTT, "topics": [{"topic": "a", "payload": "row", "variable": "a"}]}]},
            "whole rows",
        ),
        ({"mqtt": [{**MQTT, "topics": [TOPIC], "name": "../x"}]}, "match pattern"),
        ({"mqtt": [{**MQTT, "topics": [TOPIC], "assemble": {"step": 0}}]}, "greater than 0"),
        (
            {"mqtt": [{**MQTT, "topics": [TOPIC], "assemble": {"step": 1, "tolerance": 2}}]},
            "half the step",
        ),
        ({"prometheus": [{**PROMETHEUS, "url": "http://me:secret@h"}]}, "password_file"),
        ({"prometheus": [PROMETHEUS, PROMETHEUS]}, "several connectors are named p"),
        ({"stdin": [{"source": "a", "name": "x"}, {"source": "b"}]}, "at most 1"),
        ({"stdin": [{"source": "a", "sauce": "b"}]}, "sauce"),
        ({"influx": [{**RECEIVER, "series": []}]}, "at least 1"),
        ({"influx": [{**RECEIVER, "source": "{host"}]}, "braces"),
        ({"remote_write": [{"name": "r", "source": "plant"}]}, "assemble"),
    ],
)
def test_bad_settings_are_refused_in_words(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ConnectSettings.model_validate(sections)


def test_every_kind_is_built() -> None:
    settings = ConnectSettings.model_validate(
        {
            "mqtt": [{**MQTT, "topics": [TOPIC]}],
            "kafka": [KAFKA],
            "prometheus": [PROMETHEUS],
            "remote_write": [{**RECEIVER, "name": "r"}],
            "influx": [{**RECEIVER, "name": "i"}],
            "directory": [{"name": "in", "source": "plant", "path": "/in"}],
            "stdin": [{"source": "plant"}],
        }
    )
    built = build_connectors(settings)
    kinds = ["mqtt", "kafka", "prometheus", "remote_write", "influx", "directory", "stdin"]
    assert [connector.kind for connector in built] == kinds
    assert settings.watched() == {"plant"}
    assert {connector.status().state for connector in built} == {"starting"}


def test_secrets_are_not_shown() -> None:
    settings = ConnectSettings.model_validate(
        {"mqtt": [{**MQTT, "topics": [TOPIC], "username": "u", "password": "hush"}]}
    )
    assert "hush" not in f"{settings!r} {settings.model_dump_json()}"


def test_a_secret_comes_from_one_place(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from the file\n")
    assert read_secret(None, file) == "from the file"
    assert read_secret(None, None) is None
    with pytest.raises(AloraError, match="both"):
        read_secret(SecretStr("x"), file)
    file.write_bytes(b"\xff\xff")
    with pytest.raises(AloraError, match="not text"):
        read_secret(None, file)


def test_durations_become_microseconds() -> None:
    grid = AssembleSettings(step=0.5, hold=3).grid()
    assert (grid.step, grid.tolerance, grid.hold, grid.wait) == (
        500_000,
        250_000,
        3_000_000,
        1_000_000,
    )


@pytest.mark.parametrize(
    ("pattern", "topic", "variable"),
    [
        ("plant/{variable}", "plant/t1", "t1"),
        ("plant/{variable}", "plant/t1/raw", None),
        ("plant/{variable}", "plant", None),
        ("+/{variable}/#", "a/b/c/d", "b"),
        ("+/{variable}/#", "a/b", "b"),
        ("{variable}", "", ""),
        ("a/{variable}", "a/{0.__class__}", "{0.__class__}"),
    ],
)
def test_topics(pattern: str, topic: str, variable: str | None) -> None:
    matcher = TopicMatcher(TopicSettings(topic=pattern))
    words = matcher.match(topic)
    assert (None if words is None else matcher.variable(words)) == variable


def test_a_field_is_part_of_the_name() -> None:
    matcher = TopicMatcher(
        TopicSettings(topic="z/{device}", payload="fields", variable="{device}.{field}")
    )
    assert matcher.variable(matcher.match("z/boiler") or {}, "t") == "boiler.t"
