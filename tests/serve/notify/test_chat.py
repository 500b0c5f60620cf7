"""Chat and paging services by Apprise, against a receiver on this machine."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import pytest
from apprise import Apprise
from pydantic import ValidationError

from alora_ts.errors import AloraError
from alora_ts.serve.check import check_settings
from alora_ts.serve.notify import IncidentEvent, NotifySettings, build_channels
from alora_ts.serve.notify.webhook import DeliveryError
from alora_ts.serve.settings import Settings
from tests.serve.notify.servers import webhook
from tests.serve.notify.test_channels import EVENT, INCIDENT

KEY = "s3cretkey"

with warnings.catch_warnings():
    # It imports what Python 3.13 no longer has, where it is there.
    warnings.simplefilter("ignore")
    Apprise().add("json://127.0.0.1")


def channel(url: str, **changes: Any) -> Any:
    given = {"name": "chat", "url": url, "page": "https://alora.example.org", **changes}
    [made] = build_channels(NotifySettings.model_validate({"apprise": [given]}))
    return made.notifier


def test_a_message_has_a_title_a_text_and_a_link() -> None:
    with webhook() as hook:
        chat = channel(f"json://127.0.0.1:{hook.port}/{KEY}")
        asyncio.run(chat.notify(EVENT))
        asyncio.run(chat.notify(IncidentEvent("2", "closed", INCIDENT)))
    opened, closed = (json.loads(body) for _, body in hook.requests)
    assert opened["title"] == "plant: anomaly began, first suspect pump – süd"
    assert opened["message"].startswith("began: 2026-05-01")
    assert opened["message"].endswith("https://alora.example.org/#/incidents/42")
    assert (opened["type"], closed["type"]) == ("failure", "success")


def test_a_template_replaces_the_text() -> None:
    with webhook() as hook:
        text = "$signal: $link"
        asyncio.run(channel(f"json://127.0.0.1:{hook.port}", template=text).notify(EVENT))
    [(_, body)] = hook.requests
    assert json.loads(body)["message"] == "pump – süd: https://alora.example.org/#/incidents/42"


def test_a_failure_says_why_and_keeps_the_key() -> None:
    with webhook(503) as hook:
        chat = channel(f"json://127.0.0.1:{hook.port}/{KEY}")
        with pytest.raises(DeliveryError, match="503") as caught:
            asyncio.run(chat.notify(EVENT))
    assert KEY not in str(caught.value)
    with pytest.raises(DeliveryError, match="Connection error"):
        asyncio.run(chat.notify(EVENT))


def test_the_address_can_be_in_a_file(tmp_path: Path) -> None:
    with webhook() as hook:
        file = tmp_path / "address"
        file.write_text(f"json://127.0.0.1:{hook.port}\n")
        asyncio.run(channel(None, url_file=file).notify(EVENT))  # type: ignore[arg-type]
    assert len(hook.requests) == 1


def test_an_address_that_cannot_be_used_is_refused_without_repeating_it() -> None:
    with pytest.raises(AloraError, match="does not understand the address of the channel 'chat'"):
        channel(f"nonsense://{KEY}")
    with pytest.raises(ValidationError, match="either `url` or `url_file`") as caught:
        channel(None)  # type: ignore[arg-type]
    assert KEY not in str(caught.value)
    given = {"apprise": [{"name": "chat", "url": f"slack://{KEY}"}]}
    # Apprise would log it. Not by caplog, which also hears what goes nowhere.
    heard = logging.StreamHandler(log := io.StringIO())
    logging.getLogger().addHandler(heard)
    with pytest.raises(AloraError, match="does not understand"):
        check_settings(Settings.model_validate({"notify": given}))
    logging.getLogger().removeHandler(heard)
    assert KEY not in log.getvalue()
