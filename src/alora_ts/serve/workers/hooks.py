"""What a service does as one of several that share a store."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from alora_ts.serve.http.describe import show_incident, show_readings
from alora_ts.serve.operate.events import News
from alora_ts.serve.problems import NotFoundError
from alora_ts.serve.store.incidents import find_incident, open_incidents
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.rows import read_readings
from alora_ts.serve.times import now_micros
from alora_ts.serve.workers.telling import Telling, announce

if TYPE_CHECKING:
    from alora_ts.serve.scoring.source import Source
    from alora_ts.serve.service import Service

__all__ = ["ServiceHooks"]

_AT_ONCE = 200


class ServiceHooks:
    """Ties a service to the others.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._scored: set[str] = set()
        self._telling = Telling(service.store, lambda: service.share.id)

    def start(self) -> None:
        """Begin to tell others, where there are any."""
        if self._service.share.id is not None:
            self._telling.start()

    def close(self) -> None:
        """Tell nothing more."""
        self._telling.close()

    def offered(self) -> Mapping[str, Sequence[str] | None]:
        """Sources, connectors, and tasks that one process does for all."""
        return {"source": None, **self._service.tasks.offered()}

    def status(self) -> Mapping[str, Any]:
        """What the health page of any process shows of this one."""
        import psutil  # comes with the extra `postgresql`

        service, now = self._service, now_micros()
        mine = [one for one in service.sources.all() if service.share.holds("source", one.name)]
        return {
            "sources": len(mine),
            "unscored": sum(one.unscored for one in mine),
            "lag": max((one.lag(now) for one in mine), default=0.0),
            "memory": psutil.Process().memory_info().rss,
            "models": service.models.loaded,
            "rows": service.metrics.counters["rows"],
            "readings": service.metrics.counters["readings"],
            "troubles": dict(service.crew.troubles),
            "settings_error": service.settings_error,
            "connectors": [
                asdict(one.status())
                for one in service.tasks.connectors
                if service.tasks.runs(one.name)
            ],
            "channels": {
                name: asdict(state)
                for name, state in service.tasks.channel_states().items()
                if service.share.holds("task", "notifications")
            },
        }

    def follow(self) -> None:
        """See what others stored and changed; score what waits."""
        self._service.registry.follow()
        for source in self._service.sources.all():
            if source.unscored:
                self._service.wake(source)

    def moved(self, gained: Sequence[Lease], lost: Sequence[Lease]) -> None:
        """Score what was gained, forget what was lost, start and stop connectors and tasks."""
        service = self._service
        service.forget([one.name for one in lost if one.kind == "source"])
        if any(one.kind != "source" for one in (*gained, *lost)):
            service.silences.reload()
            service.tasks.follow_from_outside()
        for lease in gained:
            if lease.kind == "source":
                # What has nothing to score needs no model until its next row.
                with contextlib.suppress(NotFoundError):
                    if (source := service.sources.get(lease.name)).unscored:
                        service.wake(source)

    def heard(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Take in what other processes announced.

        When thousands of sources change together, or fall silent, what is asked of the store for
        each of them is asked once for as many as have been announced by then.
        """
        service, others = self._service, defaultdict[str, list[Mapping[str, Any]]](list)
        for message in messages:
            if message.get("from") != service.share.id:
                others[message["kind"]].append(message)
        if others["changed"]:
            self._changed({message["source"] for message in others["changed"]})
        if any(message["what"] == "silence" for message in others["incident"]):
            service.silences.reload()
        for message in others["incident"]:
            self._incident(message)
        for message in others["fit"]:
            service.fits.heard(message)
        for message in others["rows"]:
            for source in self._known(message["sources"]):
                self._more_rows(source)
        if service.bus.listeners:
            with self._lock:
                for message in others["reading"]:
                    self._scored.update(message["sources"])

    def _more_rows(self, source: Source) -> None:
        if not source.collecting:
            source.note_waiting(max(1, source.unscored))
            self._service.wake(source)

    def _changed(self, names: Collection[str]) -> None:
        service = self._service
        service.registry.load()
        for source in service.sources.all():
            if source.name in names and not source.collecting:
                service.registry.see_threshold(source)
                service.wake(source)

    def tell_of(self, kind: Literal["rows", "reading"], source: str) -> None:
        """Announce soon that a source has rows to score, or a reading to show."""
        if self._service.share.id is not None:
            self._telling.add(kind, source)

    def tell(self, kind: str, **said: Any) -> None:
        """Announce something to the others; live pages and waiting scorers are all that need it."""
        message = {"kind": kind, "from": self._service.share.id, **said}
        if self._service.share.id is not None:
            self._service.store.writer.submit(lambda c: announce(c, message))

    def relay(self, news: News) -> None:
        """Announce what pages here are told."""
        if self._service.share.id is None:
            return
        if news.kind == "incident":
            said = {name: news.data[name] for name in ("id", "change", "kind")}
            self.tell("incident", id=said["id"], change=said["change"], what=said["kind"])
        elif news.kind == "fit":
            said = {name: news.data[name] for name in ("id", "progress", "message")}
            self.tell("fit", **said)

    def publish_readings(self) -> None:
        """Tell pages here of the last readings of sources that others score."""
        with self._lock:
            names = [self._scored.pop() for _ in range(min(_AT_ONCE, len(self._scored)))]
        if not names:
            return
        with self._service.store.reading() as connection:
            for source in self._known(names):
                found = read_readings(
                    connection, source.id, start=-(2**62), end=2**62, limit=1, newest_first=True
                )
                if not found:
                    continue
                opened = open_incidents(connection, source.id).get(source.id, [])
                lasts = any(one.kind == "anomaly" for one in opened)
                state = "alarm" if lasts else "warm-up" if found[0].warm_up else "ok"
                last = show_readings(list(found), source.variables)[0]
                data = {"source": source.name, "state": state, **last}
                self._service.bus.deliver(News("reading", source.name, data))

    def _incident(self, message: Mapping[str, Any]) -> None:
        service = self._service
        if not service.bus.listeners:
            return
        with service.store.reading() as connection:
            record = find_incident(connection, message["id"])
        if record is not None:
            shown = show_incident(record._asdict(), record.source)
            data = {"change": message["change"], **shown}
            service.bus.deliver(News("incident", record.source, data))

    def _known(self, names: Sequence[str]) -> list[Source]:
        """Sources by name; those that another process has just made are looked up."""
        found: list[Source] = []
        looked = False
        for name in names:
            try:
                found.append(self._service.sources.get(name))
            except NotFoundError:
                if not looked:
                    self._service.registry.load()
                    looked = True
                with contextlib.suppress(NotFoundError):
                    found.append(self._service.sources.get(name))
        return found
