"""What becomes of incidents in one step, and what people are notified of."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from alora_ts.diagnosis.stretch import Stretch
from alora_ts.serve.http.describe import show_incident
from alora_ts.serve.incidents.record import anomaly_record
from alora_ts.serve.notify.interface import EventKind
from alora_ts.serve.store.record import Record

__all__ = ["Change", "Changes", "new_incident_id"]


def new_incident_id() -> str:
    """A random id."""
    return f"i_{secrets.token_hex(8)}"


@dataclass
class Change:
    """An incident as it is now.

    Attributes
    ----------
    record : dict
        For the store.
    names : tuple of str
        What to call it on the page, in order: opened, updated, closed or withdrawn.
    told : tuple of str
        What to send to the channels; not every new row of an incident is worth a message.
    flipped : bool
        Whether it was silenced before and alarms now, or the other way round.
    """

    record: dict[str, Any]
    names: tuple[str, ...]
    told: tuple[EventKind, ...]
    flipped: bool = field(default=False, init=False)

    def judged(self, silenced: bool, *, before: bool) -> None:
        """Say whether a verdict on its pattern keeps it from alarming, now and before."""
        self.record["silenced"] = silenced
        self.flipped = silenced != before

    def shown(self, source: str) -> dict[str, Any]:
        """As JSON."""
        return show_incident(self.record, source)


class Changes:
    """Gives stretches of alarm the ids of the incidents they continue.

    Parameters
    ----------
    source_id : int
    model_id : str
    before : record or None
        The incident that may go on.
    after : sequence of records
        Incidents found earlier in the rows about to be scored again; one that is found again
        keeps its id and what people said of it, the others are withdrawn.
    present : Stretch or None
        The stretch that is open before the first row.
    """

    def __init__(
        self,
        *,
        source_id: int,
        model_id: str,
        before: Record | None,
        after: Sequence[Record],
        present: Stretch | None,
    ) -> None:
        self._source_id = source_id
        self._model_id = model_id
        self._earlier = {record.id: record._asdict() for record in after}
        self._known: dict[str, dict[str, Any]] = {}
        self._touched: dict[str, Stretch] = {}
        self._keys: dict[int, str] = {}
        self._begun: set[str] = set()
        self._ended: list[Change] = []
        if before is None:
            return
        if present is not None and present.start_time == before.start_us:
            self._keys[present.start] = before.id
            self._known[before.id] = before._asdict()
        elif before.state == "open":
            closed = before._asdict() | {"state": "closed"}
            self._ended.append(Change(closed, ("closed",), ("closed",)))

    def note(self, stretch: Stretch) -> None:
        """A stretch that is an incident began, went on or ended."""
        key = self._keys.get(stretch.start)
        if key is None:
            key = self._keys[stretch.start] = self._again(stretch) or self._new()
        self._touched[key] = stretch
        if not stretch.open:
            del self._keys[stretch.start]

    def _new(self) -> str:
        key = new_incident_id()
        self._begun.add(key)
        return key

    def _again(self, stretch: Stretch) -> str | None:
        for key, record in list(self._earlier.items()):
            # It may begin a little earlier or later than it did without the late rows.
            if record["start_us"] <= stretch.end_time and record["end_us"] >= stretch.start_time:
                self._known[key] = self._earlier.pop(key)
                return str(key)
        return None

    def take(self) -> list[Change]:
        """All changes since the last call."""
        changes, self._ended = self._ended, []
        for key, stretch in self._touched.items():
            known = self._known.get(key)
            record = {
                "id": key,
                "source_id": self._source_id,
                "model_id": self._model_id,
                "verdict": None if known is None else known["verdict"],
                "silenced": False,
                **anomaly_record(stretch),
            }
            told: list[EventKind] = []
            if key in self._begun:
                told.append("opened")
            elif known is not None and known["severity"] != record["severity"]:
                told.append("updated")
            if not stretch.open and (known is None or known["state"] == "open"):
                told.append("closed")
            names = ["opened"] if key in self._begun else []
            if not stretch.open:
                names.append("closed")
            changes.append(Change(record, tuple(names) or ("updated",), tuple(told)))
            self._known[key] = record
            if not stretch.open:
                del self._known[key]
        self._touched, self._begun = {}, set()
        return changes

    def withdraw(self) -> list[Change]:
        """Incidents that were not found again."""
        gone = [
            Change(
                record | {"state": "withdrawn"},
                ("withdrawn",),
                ("closed",) * (record["state"] == "open"),
            )
            for record in self._earlier.values()
        ]
        self._earlier = {}
        return gone
