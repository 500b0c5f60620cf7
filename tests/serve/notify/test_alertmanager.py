"""Incidents are alerts of a real Alertmanager: firing while they last, then resolved."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from alora_ts.serve.notify import IncidentEvent
from alora_ts.serve.notify.alertmanager import AlertmanagerNotifier
from alora_ts.serve.notify.settings import AlertmanagerSettings
from alora_ts.serve.notify.webhook import DeliveryError, RefusedError
from tests.serve.notify.alertmanager import Alertmanager
from tests.serve.notify.servers import Hook, webhook

INCIDENT: dict[str, Any] = {
    "id": "i_42",
    "source": "plant",
    "kind": "anomaly",
    "severity": "medium",
    "start": "2026-05-01T12:00:00.000000Z",
    "end": None,
    "peak": 2.5,
    "culprits": [{"variable": "pump – süd", "share": 0.75, "direction": "below"}],
}


def wait(happened: Callable[[], object]) -> None:
    until = time.monotonic() + 240
    while not happened():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def heard() -> Iterator[Hook]:
    with webhook() as hook:
        yield hook


@pytest.fixture(scope="module")
def manager(heard: Hook, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alertmanager]:
    folder: Path = tmp_path_factory.mktemp("alertmanager")
    made = Alertmanager(folder, receiver=f"http://127.0.0.1:{heard.port}/")
    with made.running():
        yield made


def channel(url: str, **changes: Any) -> AlertmanagerNotifier:
    given = {"name": "am", "url": url, "page": "https://alora.example.org/below", **changes}
    return AlertmanagerNotifier(AlertmanagerSettings.model_validate(given))


def told(heard: Hook, incident: str) -> list[str]:
    """What Alertmanager said of an incident, in order."""
    alerts = [alert for _, body in heard.requests for alert in json.loads(body)["alerts"]]
    mine = [alert for alert in alerts if alert["labels"]["incident"] == incident]
    return [f"{alert['status']} {alert['labels']['severity']}" for alert in mine]


def test_an_alert_fires_and_is_resolved(manager: Alertmanager, heard: Hook) -> None:
    pager = channel(manager.url, labels={"team": "night"})
    asyncio.run(pager.notify(IncidentEvent("1", "opened", INCIDENT)))
    [alert] = manager.alerts()
    assert alert["labels"] == {
        "alertname": "AloraIncident",
        "source": "plant",
        "severity": "medium",
        "incident": "i_42",
        "team": "night",
    }
    link = "https://alora.example.org/below/#/incidents/i_42"
    assert alert["generatorURL"] == alert["annotations"]["link"] == link
    assert alert["annotations"]["summary"] == "plant: anomaly began, first suspect pump – süd"
    assert "75 % of the deviation, too low" in alert["annotations"]["description"]
    assert alert["startsAt"] == "2026-05-01T12:00:00.000Z"
    wait(lambda: told(heard, "i_42") == ["firing medium"])
    over = {**INCIDENT, "end": "2026-05-01T12:05:00.000000Z"}
    asyncio.run(pager.notify(IncidentEvent("2", "closed", over)))
    wait(lambda: told(heard, "i_42") == ["firing medium", "resolved medium"])
    assert manager.alerts() == []


def test_an_alert_lasts_only_while_it_is_said_again(manager: Alertmanager) -> None:
    pager = channel(manager.url, resend=0.5)
    event = IncidentEvent("1", "opened", {**INCIDENT, "id": "i_43"})

    async def lasting() -> list[IncidentEvent]:
        return [event]

    async def story() -> None:
        await pager.notify(event)
        until = time.monotonic() + 4
        while time.monotonic() < until:
            await pager.keep(lasting)
            await asyncio.sleep(0.5)
            assert manager.alerts()

    asyncio.run(story())
    # A service that is gone says nothing more.
    wait(lambda: not manager.alerts())


def test_another_severity_replaces_the_alert(manager: Alertmanager, heard: Hook) -> None:
    pager = channel(manager.url)
    worse = {**INCIDENT, "id": "i_44", "severity": "high"}

    async def story() -> None:
        await pager.notify(IncidentEvent("1", "opened", {**worse, "severity": "low"}))
        await pager.notify(IncidentEvent("2", "updated", worse))

    asyncio.run(story())
    [alert] = manager.alerts()
    assert alert["labels"]["severity"] == "high"
    asyncio.run(pager.notify(IncidentEvent("3", "closed", worse)))
    wait(lambda: "resolved high" in told(heard, "i_44"))


def test_the_template_is_the_description(manager: Alertmanager) -> None:
    pager = channel(manager.url, template="$signal of $source: $link")
    asyncio.run(pager.notify(IncidentEvent("1", "opened", {**INCIDENT, "id": "i_45"})))
    [alert] = manager.alerts()
    assert alert["annotations"]["description"].startswith("pump – süd of plant: https://alora")
    asyncio.run(pager.notify(IncidentEvent("2", "closed", {**INCIDENT, "id": "i_45"})))


def test_a_wrong_address_shows_before_it_is_needed(manager: Alertmanager) -> None:
    async def nothing() -> list[IncidentEvent]:
        return []

    asyncio.run(channel(manager.url).keep(nothing))
    with pytest.raises(RefusedError, match="answered 404; check its `url`"):
        asyncio.run(channel(f"{manager.url}/wrong").keep(nothing))
    with pytest.raises(DeliveryError, match="does not answer"):
        asyncio.run(channel("http://127.0.0.1:1").keep(nothing))


def test_a_sender_whose_clock_is_ahead_is_no_trouble(manager: Alertmanager) -> None:
    ahead = {**INCIDENT, "id": "i_46", "start": "2999-01-01T00:00:00Z"}
    asyncio.run(channel(manager.url).notify(IncidentEvent("1", "closed", ahead)))
