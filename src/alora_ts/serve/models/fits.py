"""Training from the service: one fit at a time, watched, cancelled, compared."""

from __future__ import annotations

import multiprocessing
import secrets
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection as Pipe
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from alora_ts.errors import AloraError
from alora_ts.serve.models.fit_process import FitOrder, run_fit
from alora_ts.serve.operate.events import News
from alora_ts.serve.problems import ConflictError, NotFoundError
from alora_ts.serve.store.fits import add_fit, change_fit, find_fit, list_fits, mark_lost
from alora_ts.serve.store.models import model_file
from alora_ts.serve.times import from_micros, now_micros, to_micros

if TYPE_CHECKING:
    from alora_ts.serve.scoring.source import Source
    from alora_ts.serve.service import Service

__all__ = ["Fits"]

_LISTED = 200
_WAITING = 20


class Fits:
    """Runs fits in processes of their own, one after another.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._running: dict[str, SpawnProcess | None] = {}
        self._progress: dict[str, tuple[float, str]] = {}
        self._threads: list[threading.Thread] = []
        service.store.writer.run(mark_lost)

    def start(
        self, source: Source, *, start: int, end: int, name: str, settings: dict[str, Any]
    ) -> dict[str, Any]:
        """Fit a model on a period of a source.

        ``settings`` change the parameters, which are otherwise those of the active model, or the
        defaults where there is none yet.
        """
        from alora_ts.estimator import ALoRa

        model_id = source.model_id
        base = ALoRa() if model_id is None else self._service.models.get(model_id).clone()
        wanted = base.set_params(**{**settings, "threads": 1})
        if end <= start:
            raise AloraError("`end` must lie after `start`")
        if len(self._running) >= _WAITING:
            raise ConflictError(f"{_WAITING} fits wait already; wait for one of them")
        key = f"f_{secrets.token_hex(8)}"
        record = {
            "id": key,
            "source_id": source.id,
            "name": name,
            "created_us": now_micros(),
            "start_us": start,
            "end_us": end,
            "settings": settings,
            "state": "waiting",
            "progress": 0.0,
            "message": "waits for its turn",
            "model_id": None,
            "comparison": None,
            "owner": self._service.share.id,
        }
        self._service.store.change(
            "fit started", source.name, lambda c: add_fit(c, record), {"fit": key}
        )
        with self._service.store.reading() as connection:
            file = None if model_id is None else model_file(connection, model_id)
        order = FitOrder(
            store=self._service.store.address,
            source=source.id,
            variables=source.variables,
            start=start,
            end=end,
            parameters=wanted.plain_params(),
            active=file,
            recent=self._service.settings.drift_rows,
        )
        with self._lock:
            self._running[key] = None
        thread = threading.Thread(target=self._run, args=(key, name, order), daemon=True)
        self._threads.append(thread)
        thread.start()
        return self.show(key)

    def show(self, key: str) -> dict[str, Any]:
        """The state of a fit."""
        with self._service.store.reading() as connection:
            record = find_fit(connection, key)
        if record is None:
            raise NotFoundError(f"there is no fit {key[:60]!r}; GET /fits lists them")
        return self._show(record._asdict())

    def list(self) -> list[dict[str, Any]]:
        """The newest fits."""
        with self._service.store.reading() as connection:
            return [self._show(record._asdict()) for record in list_fits(connection, _LISTED)]

    def cancel(self, key: str) -> dict[str, Any]:
        """End a fit that waits or runs."""
        state = self.show(key)["state"]
        with self._lock:
            if key not in self._running:
                elsewhere = " in another process" if state in {"waiting", "running"} else ""
                raise ConflictError(
                    f"the fit is {state}{elsewhere}; only one that waits or runs here can be ended"
                )
            process = self._running.pop(key)
        self._service.store.change(
            "fit cancelled",
            key,
            lambda c: change_fit(c, key, state="cancelled", message="cancelled"),
        )
        self._progress.pop(key, None)
        self._publish(key)
        if process is not None:
            process.terminate()
        return self.show(key)

    def activate(self, key: str) -> dict[str, Any]:
        """Let the fit's source use its model."""
        shown = self.show(key)
        if shown["model_id"] is None:
            raise ConflictError(f"the fit is {shown['state']}; only a finished one has a model")
        source = self._service.registry.activate(
            shown["source"], shown["model_id"], since=to_micros(shown["end"])
        )
        since = source.scored_from
        return shown | {"scored_from": None if since is None else from_micros(since)}

    def heard(self, message: Mapping[str, Any]) -> None:
        """Show what another process says of a fit that it runs."""
        key = message["id"]
        self._progress[key] = (message["progress"], message["message"])
        shown = self.show(key)
        if shown["state"] not in {"waiting", "running"}:
            self._progress.pop(key, None)
            shown = self.show(key)
        self._service.bus.deliver(News("fit", shown["source"], shown))

    def close(self) -> None:
        """End all fits."""
        with self._lock:
            processes = list(self._running.values())
            self._running.clear()
        for process in processes:
            if process is not None:
                process.terminate()
        for thread in self._threads:
            thread.join()

    def _run(self, key: str, name: str, order: FitOrder) -> None:
        with self._turn:
            context = multiprocessing.get_context("spawn")
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=run_fit, args=(order, theirs), daemon=True)
            with self._lock:
                if key not in self._running:
                    return
                process.start()
                self._running[key] = process
                # Before anyone can cancel it, or this would undo that.
                self._set(key, state="running", message="starting")
            theirs.close()
            try:
                self._follow(key, name, mine)
            finally:
                mine.close()
                # All it had to say was heard, and an interpreter with torch takes long to end.
                process.terminate()
                process.join()

    def _follow(self, key: str, name: str, pipe: Pipe) -> None:
        while True:
            try:
                kind, *rest = pipe.recv()
            except (EOFError, OSError):
                kind, rest = "failed", ["the process of the fit ended"]
            if kind == "progress":
                self._progress[key] = (rest[0], rest[1])
                self._publish(key)
                continue
            with self._lock:
                # Whoever takes it out says how it ended: this, or a cancellation.
                if self._running.pop(key, None) is None:
                    return
            if kind == "failed":
                self._set(key, state="failed", message=rest[0])
            else:
                self._keep(key, name, *rest)
            return

    def _keep(self, key: str, name: str, file: bytes, comparison: dict[str, Any]) -> None:
        model = self._service.registry.add(file, name=name, origin="fit")
        self._set(
            key,
            state="done",
            progress=1.0,
            message="done; compare, then activate",
            model_id=model,
            comparison=comparison,
        )

    def _set(self, key: str, **values: Any) -> None:
        def write(connection: Connection) -> None:
            change_fit(connection, key, **values)

        self._progress.pop(key, None)
        self._service.store.writer.run(write)
        self._publish(key)

    def _publish(self, key: str) -> None:
        shown = self.show(key)
        self._service.bus.publish(News("fit", shown["source"], shown))

    def _show(self, record: dict[str, Any]) -> dict[str, Any]:
        progress, message = self._progress.get(
            record["id"], (record["progress"], record["message"])
        )
        return {
            "id": record["id"],
            "source": record["source"],
            "name": record["name"],
            "created": from_micros(record["created_us"]),
            "start": from_micros(record["start_us"]),
            "end": from_micros(record["end_us"]),
            "settings": record["settings"],
            "state": record["state"],
            "progress": progress,
            "message": message,
            "model_id": record["model_id"],
            "comparison": record["comparison"],
        }
