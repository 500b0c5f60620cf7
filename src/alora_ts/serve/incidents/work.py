"""What people do about an incident: acknowledge it, take it on, note what they found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.incidents.feedback import find
from alora_ts.serve.operate.events import News
from alora_ts.serve.problems import ConflictError
from alora_ts.serve.service import Service
from alora_ts.serve.store.audit import Entry
from alora_ts.serve.store.incidents import set_work
from alora_ts.serve.times import from_micros, now_micros

__all__ = ["MOST_NOTES", "work_on"]

MOST_NOTES = 100


def work_on(service: Service, key: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what a person says of an incident.

    Parameters
    ----------
    service : Service
    key : str
    said : mapping
        Any of ``acknowledged`` (bool), ``assignee`` (str, empty for nobody) and ``note`` (str).
    """
    # Here and not on the writer's thread, which acts for everyone.
    who, at = Entry.now("", "").who, from_micros(now_micros())

    def write(connection: Connection) -> dict[str, Any]:
        record = find(connection, key)
        work = dict(record["work"] or {})
        if "acknowledged" in said:
            work["acknowledged"] = {"by": who, "at": at} if said["acknowledged"] else None
        if "assignee" in said:
            work["assignee"] = said["assignee"] or None
        if said.get("note"):
            notes = [*work.get("notes", []), {"by": who, "at": at, "text": said["note"]}]
            if len(notes) > MOST_NOTES:
                raise ConflictError(f"an incident has room for {MOST_NOTES} notes")
            work["notes"] = notes
        set_work(connection, key, work)
        return record | {"work": work}

    record = service.store.change("incident worked on", key, write, dict(said))
    shown = show_incident(record, record["source"])
    service.bus.publish(News("incident", shown["source"], {"change": "updated", **shown}))
    return shown
