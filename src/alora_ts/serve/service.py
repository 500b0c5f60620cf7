"""The service: its parts, put together, started and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from alora_ts.diagnosis.shares import shares
from alora_ts.errors import AloraError
from alora_ts.serve.http.describe import show_reading
from alora_ts.serve.http.tokens import TokenBook
from alora_ts.serve.incidents.silences import Silences
from alora_ts.serve.models.cache import LoadedModels
from alora_ts.serve.models.fits import Fits
from alora_ts.serve.models.registry import Registry
from alora_ts.serve.operate.background import Tasks
from alora_ts.serve.operate.collector import ServiceCollector
from alora_ts.serve.operate.events import Bus, News
from alora_ts.serve.operate.metrics import Metrics
from alora_ts.serve.rows.ingest import Ingest
from alora_ts.serve.rows.interface import Connector, Receipt, Row
from alora_ts.serve.rows.values import RowError
from alora_ts.serve.scoring.scorer import Scored, Scorer
from alora_ts.serve.scoring.source import Source, Sources
from alora_ts.serve.scoring.threads import Crew
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.leases import Lease, LeaseLostError
from alora_ts.serve.store.rows import rows_before
from alora_ts.serve.store.store import Store
from alora_ts.serve.times import now_micros
from alora_ts.serve.workers.hooks import ServiceHooks
from alora_ts.serve.workers.share import Alone, Member, Share

__all__ = ["Service"]

_LIVE = 0.25
_FIXED = (
    "host",
    "port",
    "tls_cert",
    "tls_key",
    "root_path",
    "proxies",
    "log_format",
    "folder",
    "store",
    "workers",
    "threads",
    "connections",
)


class Service:
    """Everything behind the HTTP interface.

    Parameters
    ----------
    settings : Settings
    web : bool
        Whether it answers requests; a worker does not, and makes no sources of its own.
    scores : bool
        Whether it scores, runs connectors and notifies; other processes must where it does not.
    feeds : sequence of Connector
        Ways in for rows beside those of the settings.

    Attributes
    ----------
    settings : Settings
        The current ones; a reload replaces them.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        feeds: Sequence[Connector] = (),
        web: bool = True,
        scores: bool = True,
    ) -> None:
        self.settings = settings
        self.feeds = feeds
        self.web, self.scores = web, scores
        self.started = now_micros()
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.store = Store(settings.address)
        self.tokens = TokenBook(self.store)
        self.hooks = ServiceHooks(self)
        shared = self.store.kind == "postgresql"
        self.share: Share = (
            Member(self.store, self.hooks, scores=scores, pages=web) if shared else Alone()
        )
        self.bus = Bus(self.hooks.relay)
        self.metrics = Metrics()
        self.metrics.registry.register(ServiceCollector(self))
        self.models = LoadedModels(self.store, most=lambda: self.settings.sources_in_memory)
        self.sources = Sources()
        self._scorers: OrderedDict[str, Scorer] = OrderedDict()
        self._room = threading.Lock()
        self.closing = asyncio.Event()
        self.settings_error: str | None = None
        self.tasks = Tasks(self)
        self.fits = Fits(self)
        self.crew = Crew(self._step, workers=settings.threads)
        self.registry = Registry(
            self.store,
            self.models,
            self.sources,
            changed=self._changed,
        )
        self.ingest = Ingest(
            self.store,
            self.sources,
            self.metrics,
            late_limit=lambda: self.settings.late_limit,
            future_limit=lambda: self.settings.future_limit,
            backlog_limit=lambda: self.settings.backlog_limit,
            wake=self._arrived,
        )
        self.silences = Silences(self.store, self.bus, self.metrics, self.channels)
        try:
            self.tasks.prepare()
            with self.store.starting():
                self.registry.load()
                if web:
                    self.registry.import_files(settings.models)
                    self.registry.collect_once(settings.collect)
        except BaseException:
            self.close()
            raise
        for source in self.sources.all():
            if not source.collecting:
                self.metrics.threshold.labels(source.name).set(source.threshold)
                self.wake(source)

    @property
    def folder(self) -> Path:
        """Where connectors may keep durable state of their own."""
        return self.settings.folder

    def variables(self, source: str) -> Sequence[str]:
        """Name the variables of a source's active model."""
        return self.sources.get(source).wanted

    async def learn(self, source: str, names: Iterable[str]) -> None:
        """Let a source without a model have these variables."""
        await self.ingest.learn(self.sources.get(source), names)

    def collecting(self, source: str) -> bool:
        """Whether a source has no model yet, so that any variable is welcome."""
        return self.sources.get(source).collecting

    async def accept(self, source: str, rows: Sequence[Row | RowError]) -> Receipt:
        """Store rows; they are durable when this returns."""
        return await self.ingest.accept(source, rows)

    async def last_row(self, source: str) -> Row | None:
        """Return the newest stored row of a source."""
        return await asyncio.to_thread(self._last_row, self.sources.get(source))

    def _last_row(self, source: Source) -> Row | None:
        with self.store.reading() as connection:
            block = rows_before(connection, source.id, len(source.variables), end=2**62, limit=1)
        if len(block) == 0:
            return None
        named = zip(source.variables, block.values[0].tolist(), strict=True)
        return Row(
            int(block.times[0]),
            {name: None if v != v else v for name, v in named},  # noqa: PLR0124
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run what belongs to the service's life: connectors, notifications, housekeeping."""
        self.bus.attach(asyncio.get_running_loop())
        self.tasks.start()
        self.hooks.start()
        await asyncio.to_thread(self.share.start)
        live = asyncio.create_task(self._tell_readings())
        try:
            yield
        finally:
            self.closing.set()
            live.cancel()
            await self.tasks.stop()
            await asyncio.to_thread(self.close)

    async def reload(self, settings: Settings) -> None:
        """Apply other settings without losing a row; all of them or none.

        Raises
        ------
        AloraError
            When they cannot be used; the old ones stay.
        """
        old = self.settings
        fixed = [name for name in _FIXED if getattr(settings, name) != getattr(old, name)]
        if fixed:
            raise AloraError(f"a change of {', '.join(fixed)} needs a restart")
        if self.web:
            await asyncio.to_thread(self.registry.import_files, settings.models)
            await asyncio.to_thread(self.registry.collect_once, settings.collect)
        self.settings = settings
        shared = ("connect", "notify", "recalibrate_every")
        if any(getattr(settings, name) != getattr(old, name) for name in shared):
            fresh = Tasks(self)
            try:
                fresh.prepare()
            except AloraError:
                self.settings = old
                raise
            await self.tasks.stop()
            self.tasks = fresh
            fresh.start()
        self.settings_error = None

    def stop_streams(self) -> None:
        """End the live updates, which would otherwise hold up the end of the service."""
        self.closing.set()
        self.bus.wake()

    async def silent(
        self,
        source: str,
        connector: str,
        signals: Mapping[str, int | None],
        lease: Lease | None = None,
    ) -> None:
        """Take note of which signals are silent now, each with its last time (None: never seen)."""
        known = self.sources.get(source)
        await asyncio.to_thread(self.silences.hear, known, connector, signals, lease)

    def wake(self, source: Source) -> None:
        """Score what waits of a source, if that is this process's to do."""
        if self.share.holds("source", source.name):
            self.crew.wake(source)

    def forget(self, names: Sequence[str]) -> None:
        """Drop the scorers, and with them the models, of sources that others score now."""
        with self._room:
            for name in names:
                self._scorers.pop(name, None)

    async def _tell_readings(self) -> None:
        """Tell pages here, now and then, of what others have scored."""
        while True:
            await asyncio.sleep(_LIVE)
            with contextlib.suppress(SQLAlchemyError):
                await asyncio.to_thread(self.hooks.publish_readings)

    def close(self) -> None:
        """Finish what is in progress and close the store."""
        self.bus.attach(None)
        self.fits.close()
        self.crew.close()
        self.hooks.close()
        self.share.close()
        self.store.close()

    def channels(self) -> list[str]:
        """Who is notified of incidents."""
        return self.tasks.channels

    def _changed(self, source: Source) -> None:
        self.hooks.tell("changed", source=source.name)
        if not source.collecting:
            self.metrics.threshold.labels(source.name).set(source.threshold)
            self.wake(source)

    def _arrived(self, source: Source) -> None:
        self.wake(source)
        if not self.share.holds("source", source.name):
            self.hooks.tell_of("rows", source.name)

    def _step(self, source: Source) -> bool:
        lease = self.share.lease("source", source.name)
        if source.collecting:
            return False
        if not self.share.holds("source", source.name):
            self.forget([source.name])
            return False
        scorer = self._scorers.get(source.name)
        if scorer is None or scorer.lease != lease:
            scorer = Scorer(
                self.store,
                self.models,
                source,
                self.channels,
                max_age=lambda: self.settings.notify.max_age,
                lease=lease,
            )
        self._keep(source.name, scorer)
        try:
            scored = scorer.step()
        except LeaseLostError:
            self.forget([source.name])
            return False
        if scored is None:
            return False
        self._publish(source, scored)
        return True

    def _keep(self, name: str, scorer: Scorer) -> None:
        """Keep a scorer ready; those not used for longest make room and are made again."""
        with self._room:
            self._scorers[name] = scorer
            self._scorers.move_to_end(name)
            while len(self._scorers) > self.settings.sources_in_memory:
                self._scorers.popitem(last=False)

    def _publish(self, source: Source, scored: Scored) -> None:
        reading, name = scored.last, source.name
        time = int(scored.block.times[-1])
        self.metrics.read(name, scored.latencies)
        self.metrics.score.labels(name).set(scored.score)
        self.metrics.last_row.labels(name).set(time / 1e6)
        self.metrics.alarmed(
            name,
            scored.lasts,
            dict(zip(reading.variables, shares(reading.localization).tolist(), strict=True)),
        )
        for change in scored.changes:
            shown = change.shown(name)
            for what in change.names:
                if what == "opened":
                    self.metrics.opened(name, "anomaly")
                said = "judged" if what == "updated" and change.flipped else what
                self.bus.publish(News("incident", name, {"change": said, **shown}))
        self.hooks.tell_of("reading", name)
        if self.bus.listeners:
            columns = [source.variables.index(variable) for variable in reading.variables]
            last = show_reading(
                time=time,
                score=scored.score,
                raw=reading.raw,
                rank=reading.rank,
                novelty=reading.novelty,
                alarm=scored.alarm,
                warm_up=reading.warm_up,
                variables=reading.variables,
                values=scored.block.values[-1, columns],
                expected=reading.expected,
                error=reading.error,
            )
            state = "alarm" if scored.lasts else "warm-up" if reading.warm_up else "ok"
            self.bus.publish(News("reading", name, {"source": name, "state": state, **last}))
