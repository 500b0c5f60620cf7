"""Events reach receivers as signed requests, messages and mails."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import queue
import ssl
import subprocess
import time
from email import message_from_string, policy
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from benchmarks.serve_programs import Broker, find_program
from paho.mqtt.enums import CallbackAPIVersion
from pydantic import ValidationError

from alora_ts.serve.notify import IncidentEvent, NotifySettings, build_channels
from alora_ts.serve.notify.message import headline
from alora_ts.serve.notify.mqtt import MqttNotifier
from alora_ts.serve.notify.settings import MqttOutSettings, SmtpSettings, WebhookSettings
from alora_ts.serve.notify.smtp import SmtpNotifier, as_mail
from alora_ts.serve.notify.webhook import DeliveryError, RefusedError, WebhookNotifier
from tests.conftest import need_program
from tests.serve.notify.servers import mail_server, webhook

INCIDENT = {
    "id": "42",
    "source": "plant",
    "kind": "anomaly",
    "start": "2026-05-01T12:00:00.000000Z",
    "end": None,
    "peak": 2.5,
    "culprits": [{"variable": "pump – süd", "share": 0.75, "direction": "below"}],
}
EVENT = IncidentEvent("42-1", "opened", INCIDENT)
SECRET = "correct horse"


def hooked(port: int, **changes: Any) -> WebhookNotifier:
    url = f"http://127.0.0.1:{port}/hook?to=night"
    return WebhookNotifier(
        WebhookSettings.model_validate({"name": "pager", "url": url, "timeout": 240, **changes})
    )


def test_a_receiver_can_check_the_signature_and_drop_repetitions() -> None:
    with webhook(500) as hook:
        notifier = hooked(hook.port, secret=SECRET)
        with pytest.raises(DeliveryError, match="answered 500"):
            asyncio.run(notifier.notify(EVENT))
        asyncio.run(notifier.notify(EVENT))
    (first, body), (second, again) = hook.requests
    assert body == again
    assert json.loads(body) == {"event": "opened", "id": "42-1", "incident": INCIDENT}
    assert first["Idempotency-Key"] == second["Idempotency-Key"] == "42-1"
    # As docs/how-to/connect-webhook-mail.md tells receivers to do it.
    stamp, signature = (part.split("=")[1] for part in first["X-Alora-Signature"].split(","))
    wanted = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(signature, wanted)
    assert abs(time.time() - int(stamp)) < 600
    assert SECRET not in f"{first}{body!r}"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RefusedError),
        (404, RefusedError),
        (410, RefusedError),
        (429, DeliveryError),
        (503, DeliveryError),
        (302, DeliveryError),
    ],
)
def test_answers_that_are_final_and_those_that_are_not(
    status: int, kind: type[DeliveryError]
) -> None:
    with webhook(status) as hook, pytest.raises(DeliveryError) as caught:
        asyncio.run(hooked(hook.port).notify(EVENT))
    assert type(caught.value) is kind
    assert len(hook.requests) == 1, "redirections are not followed"
    assert "X-Alora-Signature" not in hook.requests[0][0]


def test_an_absent_receiver_is_a_delivery_error() -> None:
    with pytest.raises(DeliveryError, match="does not answer"):
        asyncio.run(hooked(1).notify(EVENT))


@pytest.mark.slow
def test_mqtt_messages_arrive(tmp_path: Path) -> None:
    if find_program("mosquitto") is None:
        need_program("mosquitto")
    got: queue.Queue[tuple[str, bytes]] = queue.Queue()
    with Broker(tmp_path) as broker:
        listener = mqtt.Client(CallbackAPIVersion.VERSION2)
        listener.on_message = lambda _, __, message: got.put((message.topic, message.payload))
        listener.on_subscribe = lambda *_: got.put(("ready", b""))
        listener.connect("127.0.0.1", broker.port)
        listener.subscribe("alora/#", qos=1)
        listener.loop_start()
        assert got.get(timeout=240)[0] == "ready"
        settings = MqttOutSettings(name="bus", host="127.0.0.1", port=broker.port, timeout=240)
        asyncio.run(MqttNotifier(settings).notify(EVENT))
        tricky = IncidentEvent("2", "closed", {"source": "a/+#"})
        asyncio.run(MqttNotifier(settings).notify(tricky))
        topic, body = got.get(timeout=240)
        assert topic == "alora/plant/incidents"
        assert json.loads(body)["incident"] == INCIDENT
        assert got.get(timeout=240)[0] == "alora/a___/incidents"
        listener.disconnect()
        listener.loop_stop()
    with pytest.raises(DeliveryError, match="no broker answers"):
        asyncio.run(MqttNotifier(settings).notify(EVENT))


@pytest.mark.slow
def test_a_broker_that_refuses_us_is_a_delivery_error(tmp_path: Path) -> None:
    if find_program("mosquitto") is None:
        need_program("mosquitto")
    nobody = tmp_path / "nobody"
    nobody.touch(mode=0o600)
    with Broker(tmp_path / "broker", password_file=nobody) as broker:
        settings = MqttOutSettings.model_validate(
            {
                "name": "bus",
                "host": "127.0.0.1",
                "port": broker.port,
                "username": "me",
                "password": "hush",
                "timeout": 240,
            }
        )
        with pytest.raises(DeliveryError, match="refused us") as caught:
            asyncio.run(MqttNotifier(settings).notify(EVENT))
    assert "hush" not in str(caught.value)


def mailing(port: int, **changes: Any) -> SmtpSettings:
    return SmtpSettings.model_validate(
        {
            "name": "mail",
            "host": "127.0.0.1",
            "port": port,
            "security": "none",
            "sender": "alora@example.org",
            "recipients": ["night@example.org", "day@example.org"],
            "page": "https://alora.example.org/",
            "timeout": 240,
            **changes,
        }
    )


def test_a_mail_describes_the_incident() -> None:
    async def story() -> list[str]:
        async with mail_server() as box:
            await SmtpNotifier(mailing(box.port)).notify(EVENT)
            # From Python 3.13 on smtplib writes them in another case.
            assert [c for c in map(str.lower, box.commands) if c.startswith("rcpt")] == [
                "rcpt to:<night@example.org>",
                "rcpt to:<day@example.org>",
            ]
            return box.mails

    (text,) = asyncio.run(story())
    mail = message_from_string(text, policy=policy.default)
    assert mail["Subject"] == "[alora-ts] plant: anomaly began, first suspect pump – süd"
    assert mail["Auto-Submitted"] == "auto-generated"
    body = mail.get_content()
    assert "pump – süd, 75 % of the deviation, too low" in body
    assert "https://alora.example.org/#/incidents/42" in body
    assert mail["Message-ID"] == as_mail(EVENT, mailing(25))["Message-ID"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificate")
    program = need_program("openssl")
    command = f"{program} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([*command.split(), *names], cwd=folder, check=True, capture_output=True)
    return folder


def test_passwords_travel_only_encrypted(certificate: Path) -> None:
    trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trust.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    secure = {"security": "starttls", "ca_file": certificate / "cert.pem"}

    async def story() -> None:
        async with mail_server(trust=trust, login=("me", "hush")) as box:
            good = mailing(box.port, username="me", password="hush", **secure)
            await SmtpNotifier(good).notify(EVENT)
            assert len(box.mails) == 1
            assert box.encrypted
            words = [command.split()[0].upper() for command in box.commands]
            assert words.index("STARTTLS") < words.index("AUTH")
        async with mail_server(trust=trust, login=("me", "hush")) as box:
            wrong = mailing(box.port, username="me", password="open sesame", **secure)
            with pytest.raises(DeliveryError, match="AuthenticationError") as caught:
                await SmtpNotifier(wrong).notify(EVENT)
            assert "sesame" not in str(caught.value)
        async with mail_server(trust=trust) as box:
            strangers = mailing(box.port, security="starttls")
            with pytest.raises(DeliveryError, match="certificate"):
                await SmtpNotifier(strangers).notify(EVENT)
            assert not box.mails
        async with mail_server() as box:
            plain = mailing(box.port, username="me", password="hush", security="starttls")
            with pytest.raises(DeliveryError, match="STARTTLS"):
                await SmtpNotifier(plain).notify(EVENT)
            assert not any("AUTH" in command for command in box.commands)

    asyncio.run(story())


def test_a_full_mailbox_and_an_absent_server_are_delivery_errors() -> None:
    async def story() -> None:
        async with mail_server(full=True) as box:
            with pytest.raises(DeliveryError, match="no room"):
                await SmtpNotifier(mailing(box.port)).notify(EVENT)
        with pytest.raises(DeliveryError, match="did not take the mail"):
            await SmtpNotifier(mailing(1)).notify(EVENT)

    asyncio.run(story())


def test_a_name_with_line_breaks_adds_no_header() -> None:
    event = IncidentEvent("1", "opened", {"source": "x\r\nBcc: all@example.org"})
    mail = as_mail(event, mailing(25))
    assert mail["Bcc"] is None
    assert "\n" not in mail["Subject"]


SLACK = '{"text": "$headline ($severity)", "link": "$link"}'


def test_messages_link_to_the_incident_and_follow_a_template() -> None:
    page = "https://alora.example.org"
    with webhook() as hook:
        asyncio.run(hooked(hook.port, page=page).notify(EVENT))
        odd = IncidentEvent("1", "opened", {**INCIDENT, "source": 'a "plant"\n'})
        notifier = hooked(
            hook.port, page=page, template=SLACK, headers={"Authorization": "Bearer top-secret"}
        )
        asyncio.run(notifier.notify(odd))
    (_, plain), (headers, formed) = hook.requests
    assert json.loads(plain)["link"] == f"{page}/#/incidents/42"
    assert json.loads(formed) == {
        "text": 'a "plant"\n: anomaly began, first suspect pump – süd ()',
        "link": f"{page}/#/incidents/42",
    }
    assert headers["Authorization"] == "Bearer top-secret"
    assert "top-secret" not in repr(notifier._settings)
    mail = as_mail(EVENT, mailing(25, template="$source: see $link", page=page))
    assert mail.get_content().strip() == f"plant: see {page}/#/incidents/42"


def test_every_channel_has_the_common_page() -> None:
    given = {"page": "https://a.example", "webhook": [{"name": "w", "url": "http://127.0.0.1:9/"}]}
    [channel] = build_channels(NotifySettings.model_validate(given))
    assert str(channel.notifier._settings.page) == "https://a.example/"  # type: ignore[attr-defined]


def test_silence_and_endings_have_their_own_words() -> None:
    silent = {**INCIDENT, "kind": "silence"}
    assert headline(IncidentEvent("1", "opened", silent)).startswith("plant: no value comes of")
    assert headline(IncidentEvent("1", "closed", {"source": "p"})) == "p: incident is over"


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"webhook": [{"name": "a", "url": "http://me:pw@h/"}]}, "secret_file"),
        ({"webhook": [{"name": "a", "url": "ftp://h/"}]}, "URL scheme"),
        ({"webhook": [{"name": "a", "url": "http://h/"}] * 2}, "several channels are named a"),
        ({"mqtt": [{"name": "a", "host": "h", "topic": "x/#"}]}, "match pattern"),
        ({"webhook": [{"name": "a", "url": "http://h/", "events": ["open"]}]}, "opened"),
    ],
)
def test_bad_settings_are_refused(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NotifySettings.model_validate(sections)


def test_all_kinds_are_built_and_choose_their_events() -> None:
    settings = NotifySettings.model_validate(
        {
            "webhook": [{"name": "w", "url": "http://h/", "sources": ["boiler"]}],
            "mqtt": [{"name": "m", "host": "h", "events": ["updated"]}],
            "smtp": [mailing(25).model_dump()],
        }
    )
    channels = {channel.name: channel for channel in build_channels(settings)}
    wanted = [name for name, channel in channels.items() if channel.wants(EVENT)]
    assert (sorted(channels), wanted) == (["m", "mail", "w"], ["mail"])
