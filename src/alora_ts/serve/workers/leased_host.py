"""The service as a connector sees it that runs on one of several workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from alora_ts.serve.assemble import Keeper
from alora_ts.serve.rows.interface import Receipt, Row
from alora_ts.serve.store.leases import Lease
from alora_ts.serve.store.samples import StoredSamples

if TYPE_CHECKING:
    from alora_ts.serve.service import Service

__all__ = ["LeasedHost"]


class LeasedHost:
    """Stores nothing for a connector that another worker runs by now.

    Parameters
    ----------
    service : Service
    lease : Lease or None
        The connector's; None where it needs none.
    """

    def __init__(self, service: Service, lease: Lease | None) -> None:
        self._service = service
        self._lease = lease

    @property
    def folder(self) -> Path:
        """Where a connector may keep durable state of its own."""
        return self._service.folder

    def keeper(self, connector: str, source: str) -> Keeper | None:
        """Unfinished rows of a connector that may move are kept in the store."""
        if self._lease is None:
            return None
        return StoredSamples(self._service.store, connector, source, self._lease)

    def variables(self, source: str) -> Sequence[str]:
        """Name the variables of a source's active model."""
        return self._service.variables(source)

    def collecting(self, source: str) -> bool:
        """Whether a source has no model yet, so that any variable is welcome."""
        return self._service.collecting(source)

    async def learn(self, source: str, names: Iterable[str]) -> None:
        """Let a source without a model have these variables."""
        await self._service.learn(source, names)

    async def accept(self, source: str, rows: Sequence[Row]) -> Receipt:
        """Store rows; they are durable when this returns."""
        return await self._service.ingest.accept(source, rows, self._lease)

    async def last_row(self, source: str) -> Row | None:
        """Return the newest stored row of a source."""
        return await self._service.last_row(source)

    async def silent(self, source: str, connector: str, signals: Mapping[str, int | None]) -> None:
        """Take note of which signals are silent now."""
        await self._service.silent(source, connector, signals, self._lease)
