"""What can be set, with its default and its limits."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    field_validator,
    model_validator,
)

from alora_ts.serve.connect import ConnectSettings
from alora_ts.serve.http.below import check_root_path
from alora_ts.serve.incidents.structure import StructureSettings
from alora_ts.serve.notify import NotifySettings
from alora_ts.serve.operate.logs import LogFormat
from alora_ts.serve.operate.retention import KeepSettings
from alora_ts.serve.scoring.source import check_source_name

__all__ = ["Settings"]

_Seconds = Annotated[float, Field(ge=0, le=10 * 366 * 86_400)]
_Bytes = Annotated[int, Field(ge=1024, le=16 * 2**30)]


class Settings(BaseModel):
    """The settings of the service.

    Attributes
    ----------
    host, port
        Where to listen. Anything but loopback needs tokens.
    tls_cert, tls_key
        A certificate (with those between it and its authority) and its key, in PEM: browsers then
        reach the service by https. A renewed file is taken up by itself.
    root_path
        Below which path of a site a proxy shows the service, such as ``/alora``.
    proxies
        Addresses of proxies whose word on a client's address is taken.
    log_format, access_log
        Lines for people or JSON, and whether every request is one.
    folder
        Where the embedded store and the connectors keep their files.
    store
        A path or ``postgresql://…``; by default ``store.db`` in the folder.
    models
        Source names with the model files they begin with.
    collect
        Sources that are to store rows before they have a model.
    hosts
        Names under which browsers may reach the service, besides loopback.
    late_limit
        Seconds that a row may be older than the newest of its source.
    future_limit
        Seconds that a row may be ahead of this machine's clock. A row from the future makes all
        that follow late, so a sender's clock must be set.
    backlog_limit
        Rows of one source that may wait to be scored; while more wait, new ones are refused and
        connectors stop acknowledging.
    silent_after
        Seconds without a row after which a source counts as silent; 0 for never. Connectors that
        watch every signal have a setting of their own.
    workers
        Processes that score. 1: this one. More (PostgreSQL only): this one answers requests, and
        so many beside it score. 0: this one only answers requests, others score.
    threads
        Threads that score in each of them.
    sources_in_memory
        Sources that a process keeps ready to score, each with its model; those not heard of for
        longest make room for others.
    connections
        Connections at a time; more are closed at once.
    body_limit, upload_limit
        Bytes of a request; the second for models and whole tables.
    detect_cells
        Cells of a table that is judged in one call.
    rate_limit
        Requests a second from one client; twice as many at once.
    recalibrate_every
        Hours between recalibrations of every source's alarm level; 0 for never.
    recalibrate_limit
        How many times the model's own level a recalibrated one lies above or below it at most.
    recalibrate_rows, drift_rows
        How many of the newest rows they look at.
    runbooks
        Where people read what to do, by source; ``*`` for every other one.
    structure
        What is known of who acts on whom, by source; ``*`` for every other one.
    keep
        How many days things are kept.
    connect, notify
        Other inputs, and who is notified; see the how-to guides.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    tls_cert: Path | None = None
    tls_key: Path | None = None
    root_path: Annotated[str, AfterValidator(check_root_path)] = ""
    proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    log_format: LogFormat = "text"
    access_log: bool = False
    folder: Path = Path("alora-data")
    store: str | None = None
    models: dict[str, Path] = Field(default_factory=dict)
    collect: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    late_limit: _Seconds = 3600.0
    future_limit: _Seconds = 10.0
    backlog_limit: Annotated[int, Field(ge=1000, le=10**9)] = 100_000
    silent_after: _Seconds = 300.0
    workers: Annotated[int, Field(ge=0, le=64)] = 1
    threads: Annotated[int, Field(ge=1, le=64)] = 1
    sources_in_memory: Annotated[int, Field(ge=1, le=10**6)] = 1000
    connections: Annotated[int, Field(ge=1, le=100_000)] = 1000
    body_limit: _Bytes = 16 * 2**20
    upload_limit: _Bytes = 512 * 2**20
    detect_cells: Annotated[int, Field(ge=1000, le=10**10)] = 10_000_000
    rate_limit: Annotated[float, Field(gt=0, le=1e6)] = 500.0
    recalibrate_every: Annotated[float, Field(ge=0, le=10_000)] = 0.0
    recalibrate_limit: Annotated[float, Field(ge=1, le=100)] = 3.0
    recalibrate_rows: Annotated[int, Field(ge=200, le=1_000_000)] = 20_000
    drift_rows: Annotated[int, Field(ge=200, le=100_000)] = 5_000
    runbooks: dict[str, HttpUrl] = Field(default_factory=dict)
    structure: dict[str, StructureSettings] = Field(default_factory=dict)
    keep: KeepSettings = KeepSettings()
    connect: ConnectSettings = ConnectSettings()
    notify: NotifySettings = NotifySettings()

    @field_validator("models")
    @classmethod
    def _names(cls, models: dict[str, Path]) -> dict[str, Path]:
        for name in models:
            check_source_name(name)
        return models

    @field_validator("collect")
    @classmethod
    def _collecting(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(check_source_name(name) for name in names)

    @model_validator(mode="after")
    def _whole_pair(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("TLS needs both `tls_cert` and `tls_key`")
        return self

    @property
    def address(self) -> str:
        """Where the store is."""
        return self.store or str(self.folder / "store.db")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
