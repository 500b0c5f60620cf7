"""Verdicts on incidents, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from alora_ts.diagnosis.incident import Culprit
from alora_ts.diagnosis.repeats import pattern_text
from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.incidents.patterns import WORSE, Standing, announce, review
from alora_ts.serve.operate.events import News
from alora_ts.serve.problems import ConflictError, NotFoundError
from alora_ts.serve.service import Service
from alora_ts.serve.store.audit import Entry
from alora_ts.serve.store.incidents import find_incident, recent_anomalies, set_verdict
from alora_ts.serve.store.judgements import (
    all_judgements,
    judgements_on,
    open_anomalies,
    save_judgement,
    take_back,
)
from alora_ts.serve.store.record import Record
from alora_ts.serve.times import from_micros, now_micros

__all__ = ["LOOKED_BACK", "find", "judge", "preview", "show_pattern", "show_patterns"]

LOOKED_BACK = 30
"""Days of the past that a preview is about."""

_DAY = 86_400_000_000
_MOST = 10_000
_LISTED = 50


def find(connection: Connection, key: str) -> dict[str, Any]:
    """An incident's record."""
    record = find_incident(connection, key)
    if record is None:
        raise NotFoundError(f"there is no incident {key[:60]!r}; GET /incidents lists them")
    return record._asdict()


def judge(service: Service, key: str, verdict: str | None, *, days: float) -> dict[str, Any]:
    """Keep a verdict (None takes it back): "normal" silences the pattern, "real" protects it.

    Parameters
    ----------
    service : Service
    key : str
        The incident.
    verdict : {"normal", "real"} or None
    days : float
        How long "normal" silences the pattern.

    Raises
    ------
    ConflictError
        Where the verdict is not possible; nothing is changed.
    """
    # Here and not on the writer's thread, which acts for everyone.
    who, now = Entry.now("", "").who, now_micros()
    until = now + int(days * _DAY) if verdict == "normal" else None
    channels = service.channels()

    def write(connection: Connection) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        record = find(connection, key)
        touched = {before for before in [take_back(connection, key)] if before is not None}
        if verdict is not None:
            _refuse(connection, record, verdict)
            if record["pattern"] is not None:
                touched.add(record["pattern"])
                save_judgement(
                    connection,
                    {
                        "incident_id": key,
                        "source_id": record["source_id"],
                        "pattern": record["pattern"],
                        "text": _text(record),
                        "verdict": verdict,
                        "peak": record["detail"]["peak"] or 0.0,
                        "who": who,
                        "at_us": now,
                        "until_us": until,
                    },
                )
        set_verdict(connection, key, verdict)
        changed = [
            one
            for pattern in touched
            for one in review(
                connection, open_anomalies(connection, record["source_id"], pattern), channels
            )
        ]
        return find(connection, key), changed

    detail = {"verdict": verdict} | ({} if until is None else {"until": from_micros(until)})
    record, changed = service.store.change("incident judged", key, write, detail)
    shown = show_incident(record, record["source"])
    announce(service, changed)
    service.bus.publish(News("incident", record["source"], {"change": "judged", **shown}))
    with service.store.reading() as connection:
        pattern = show_pattern(connection, record)
    return {"incident": shown, "pattern": pattern}


def preview(service: Service, key: str, verdict: str, *, days: float) -> dict[str, Any]:
    """Say what a verdict would have done to the last 30 days, without giving it.

    They are counted back from the source's newest row.
    """
    with service.store.reading() as connection:
        record = find(connection, key)
        why = None
        try:
            _refuse(connection, record, verdict)
        except ConflictError as error:
            why = str(error)
        newest = service.sources.get(record["source"]).newest or record["end_us"]
        since = newest - LOOKED_BACK * _DAY
        past = recent_anomalies(connection, record["source_id"], since=since, limit=_MOST)
        now_said = _others(connection, record)
    mine = [one for one in past if one.pattern is not None and one.pattern == record["pattern"]]
    peak = max(now_said.peak, record["detail"]["peak"] or 0.0)
    after = Standing(verdict == "real" or now_said.protected, now_micros() + int(days * _DAY), peak)
    quiet = [one for one in mine if after.silences(one.detail["peak"] or 0.0)]
    told = {one.id for one in quiet}
    return {
        "verdict": verdict,
        "allowed": why is None,
        "why": why,
        "pattern": record["pattern"],
        "text": _text(record),
        "until": from_micros(after.until or 0) if verdict == "normal" else None,
        "alarms_above": after.alarms_above if verdict == "normal" else None,
        "days": LOOKED_BACK,
        "incidents": len(past),
        "of_pattern": len(mine),
        "silenced": len(quiet),
        "summary": _summary(verdict, _text(record), len(past), len(mine), len(quiet)),
        "items": [
            {
                "id": one.id,
                "start": from_micros(one.start_us),
                "peak": one.detail["peak"],
                "severity": one.severity,
                "silenced": one.id in told,
            }
            for one in mine[:_LISTED]
        ],
    }


def show_patterns(service: Service) -> list[dict[str, Any]]:
    """The patterns that people said something of and that it still holds for."""
    now = now_micros()
    with service.store.reading() as connection:
        by_pattern: dict[tuple[str, str], list[Record]] = {}
        for one in all_judgements(connection, limit=_MOST):
            if one.until_us is None or one.until_us > now:
                by_pattern.setdefault((one.source, one.pattern), []).append(one)
    return [_show(source, pattern, said, now) for (source, pattern), said in by_pattern.items()]


def _refuse(connection: Connection, record: Mapping[str, Any], verdict: str) -> None:
    """Raise where a verdict is not possible."""
    if record["kind"] != "anomaly":
        raise ConflictError(
            "only anomalies can be judged; a silence ends when the signal comes back"
        )
    if verdict != "normal":
        return
    if record["pattern"] is None:
        raise ConflictError("no signal leads this incident, so there is no pattern to silence")
    real = [
        one.incident_id
        for one in judgements_on(connection, record["source_id"], record["pattern"])
        if one.verdict == "real" and one.incident_id != record["id"]
    ]
    if real:
        raise ConflictError(
            f"the pattern is protected: the incident {real[0]} was a real problem; take that "
            "verdict back first"
        )


def _others(connection: Connection, record: Mapping[str, Any]) -> Standing:
    """What is said of an incident's pattern by judgements on other incidents."""
    if record["pattern"] is None:
        return Standing(False, None, 0.0)
    said = judgements_on(connection, record["source_id"], record["pattern"])
    return Standing.of((one for one in said if one.incident_id != record["id"]), now_micros())


def _text(record: Mapping[str, Any]) -> str:
    """The incident's pattern in words."""
    if record["kind"] != "anomaly":
        return ""
    return pattern_text(
        [
            Culprit(one["variable"], one["share"], one["direction"], 0.0, 0.0)
            for one in record["detail"]["culprits"]
        ]
    )


def _summary(verdict: str, text: str, past: int, mine: int, quiet: int) -> str:
    """The preview in words."""
    counted = (
        f"In the last {LOOKED_BACK} days there {'was' if past == 1 else 'were'} "
        f"{_count(past)}, {mine} with this pattern ({text})."
    )
    if verdict == "real":
        return f"{counted} All of them alarm; the pattern cannot be silenced."
    worse = mine - quiet
    rest = f" {worse} more than {WORSE:g} times as high would have alarmed." if worse else ""
    return (
        f"{counted} {quiet} of them would not have alarmed.{rest} "
        "Everything else, and the alarm level, stay as they are."
    )


def _count(incidents: int) -> str:
    return f"{incidents:,} incident{'' if incidents == 1 else 's'}"


def show_pattern(connection: Connection, record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What people say of the pattern of an incident; None where it has none."""
    if record["pattern"] is None:
        return None
    said = judgements_on(connection, record["source_id"], record["pattern"])
    return _show(record["source"], record["pattern"], said, now_micros(), _text(record))


def _show(
    source: str, pattern: str, said: Any, now: int, text: str | None = None
) -> dict[str, Any]:
    whole = Standing.of(said, now)
    return {
        "source": source,
        "pattern": pattern,
        "text": said[0].text if text is None else text,
        "protected": whole.protected,
        "silenced_until": from_micros(whole.until) if whole.silenced and whole.until else None,
        "alarms_above": whole.alarms_above if whole.silenced else None,
        "verdicts": [
            {
                "incident": one.incident_id,
                "verdict": one.verdict,
                "by": one.who,
                "at": from_micros(one.at_us),
                "until": None if one.until_us is None else from_micros(one.until_us),
            }
            for one in said
        ],
    }
