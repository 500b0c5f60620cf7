"""Channels as an operator sees them: how they are, tried out, set going again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.serve_programs import free_port

from alora_ts.serve.settings import Settings
from tests.serve.core.conftest import Plant
from tests.serve.core.test_old_news import rows
from tests.serve.notify.alertmanager import Alertmanager
from tests.serve.notify.servers import webhook

API = "/api/v1"
Start = Callable[[Settings], Plant]


def notifying(settings: Settings, **notify: Any) -> Settings:
    return Settings.model_validate({**settings.model_dump(), "notify": notify})


def health(here: Plant, *, until: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    limit = time.monotonic() + 240
    while True:
        found: dict[str, Any] = here.client.get(f"{API}/health").json()
        if until(found["channels"][0]):
            return found
        assert time.monotonic() < limit, found["channels"]
        time.sleep(0.05)


def test_a_channel_that_fails_is_seen_and_told_again(serve: Start, settings: Settings) -> None:
    port = free_port()
    hook = {"name": "pager", "url": f"http://127.0.0.1:{port}/"}
    here = serve(notifying(settings, webhook=[hook]))
    here.send(rows(5, count=100, fault=slice(80, 100)))
    shown = health(here, until=lambda one: one["failing_since"])
    assert shown["wrong"] == [
        "the channel pager cannot be reached: the receiver does not answer: "
        "All connection attempts failed"
    ]
    metrics = here.client.get("/metrics").text
    assert 'alora_channel_up{channel="pager"} 0.0' in metrics
    assert 'alora_channel_notifications{channel="pager",state="pending"} 1.0' in metrics
    with webhook(404, port=port) as receiver:
        shown = health(here, until=lambda one: one["dead"])
        assert shown["wrong"][-1] == (
            "1 notifications by pager were given up: the receiver answered 404; check its `url`"
        )
        assert here.client.post(f"{API}/channels/pager/retry").json() == {"count": 1}
        shown = health(here, until=lambda one: one["sent"])
        assert shown["wrong"] == []
    assert [json.loads(body)["event"] for _, body in receiver.requests] == ["opened", "opened"]
    actions = [one["action"] for one in here.client.get(f"{API}/audit").json()]
    assert "notifications retried" in actions


def test_a_channel_is_tried_out(serve: Start, settings: Settings) -> None:
    with webhook(200, 500) as receiver:
        hook = {"name": "pager", "url": f"http://127.0.0.1:{receiver.port}/", "template": "$story"}
        here = serve(notifying(settings, webhook=[hook]))
        assert here.client.post(f"{API}/channels/pager/test").json() == {"error": None}
        said = here.client.post(f"{API}/channels/pager/test").json()["error"]
        assert said == "the receiver answered 500"
        assert receiver.requests[0][1].startswith(b"a test of the channel pager: all is well")
    missing = here.client.post(f"{API}/channels/pagr/test")
    assert missing.status_code == 404
    assert "pager" in missing.json()["error"]["hint"]


@pytest.mark.slow
def test_an_incident_fires_in_alertmanager_until_it_closes(
    serve: Start, settings: Settings, tmp_path: Path
) -> None:
    manager = Alertmanager(tmp_path / "manager")
    section = {"name": "am", "url": manager.url, "resend": 0.5}
    page = "https://alora.example.org"
    with manager.running():
        here = serve(notifying(settings, page=page, alertmanager=[section]))
        every = rows(0, count=140, fault=slice(80, 110))
        here.send(every[:100])
        here.settle()
        [incident] = here.client.get(f"{API}/incidents").json()["items"]
        limit = time.monotonic() + 240
        while not (alerts := manager.alerts()):
            assert time.monotonic() < limit
            time.sleep(0.05)
        [alert] = alerts
        assert alert["labels"]["incident"] == incident["id"]
        assert alert["generatorURL"] == f"{page}/#/incidents/{incident['id']}"
        # Longer than Alertmanager keeps what it hears of once.
        time.sleep(3)
        assert len(manager.alerts()) == 1
        here.send(every[100:])
        here.settle()
        while manager.alerts():
            assert time.monotonic() < limit
            time.sleep(0.05)
