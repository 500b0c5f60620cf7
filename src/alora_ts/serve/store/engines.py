"""Connections: one writer, many readers, SQLite and PostgreSQL alike."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from alora_ts.errors import AloraError

__all__ = ["make_engines", "make_shared_engine", "store_url"]

_READERS = 8
_IDLE = 10_000  # milliseconds: less than a worker lives without a sign
# A server that is cut off without a word is noticed as fast; the address may say otherwise.
_PATIENCE = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
}


def store_url(text: str) -> URL:
    """The database meant by ``--store``: a path is SQLite, ``postgresql://`` is PostgreSQL.

    Examples
    --------
    >>> store_url("plant.db").drivername, store_url("postgresql://h/db").drivername
    ('sqlite', 'postgresql+psycopg')
    """
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).expanduser()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        # The text may hold a password, so it is not repeated.
        raise AloraError(
            "cannot read the address of the store; give a path or "
            "postgresql://user:password@host:port/database"
        ) from error
    kind = url.get_backend_name()
    if kind == "sqlite" and url.database:
        return url
    if kind in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg", query={**_PATIENCE, **url.query})
    raise AloraError(
        f"cannot keep a store in {kind!r}; give a path (SQLite) or "
        "postgresql://user:password@host:port/database"
    )


def make_engines(url: URL) -> tuple[Engine, Engine]:
    """An engine with the one connection that writes, and one with those that read."""
    if url.get_backend_name() == "sqlite":
        folder = Path(str(url.database)).parent
        if not folder.is_dir():
            raise AloraError(
                f"cannot open the store {url.database}: the folder {folder} does not "
                "exist; create it first"
            )
        _make_private(Path(str(url.database)))
        writer = create_engine(url, pool_size=1, max_overflow=0)
        reader = create_engine(url, pool_size=_READERS, max_overflow=0, pool_timeout=30)
        _tune_sqlite(writer, begin="BEGIN IMMEDIATE", query_only=False)
        _tune_sqlite(reader, begin="BEGIN", query_only=True)
        return writer, reader
    reader = create_engine(url, pool_size=_READERS, max_overflow=0, pool_pre_ping=True)
    return make_shared_engine(url, connections=1), reader


def make_shared_engine(url: URL, *, connections: int) -> Engine:
    """An engine whose transactions end when their process does not go on with them.

    A process that is stopped in the midst of a transaction would keep its locks, and with them
    others from its sources, for as long as it is stopped.
    """
    engine = create_engine(url, pool_size=connections, max_overflow=0, pool_pre_ping=True)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        connection.execute(f"SET idle_in_transaction_session_timeout = {_IDLE}")
        connection.commit()

    return engine


def _make_private(path: Path) -> None:
    """Let only the owner read the store; SQLite gives its other files the same mode."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
    except OSError as error:
        raise AloraError(f"cannot open the store {path}: {error.strerror}") from error


def _tune_sqlite(engine: Engine, *, begin: str, query_only: bool) -> None:
    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        # Python's own handling begins transactions late, which breaks savepoints.
        connection.isolation_level = None
        for pragma in (
            "busy_timeout=10000",
            "page_size=8192",  # rows of a hundred variables still fit into one page
            "auto_vacuum=INCREMENTAL",  # counts for new stores; older ones reuse freed pages
            "journal_mode=WAL",
            "synchronous=FULL",  # a row is on the disk before it is acknowledged
            "foreign_keys=ON",
            "temp_store=MEMORY",
            "cache_size=-32000",
            "journal_size_limit=67108864",
            f"query_only={int(query_only)}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def start(connection: Any) -> None:
        connection.exec_driver_sql(begin)
