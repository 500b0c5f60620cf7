"""Model files, kept in the store so that a backup of it is complete."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select

from alora_ts.serve.store.record import Record
from alora_ts.serve.store.schema import models
from alora_ts.serve.times import now_micros

__all__ = ["all_models", "find_model", "model_cards", "model_file", "save_model"]

_DESCRIBED = [column for column in models.c if column.name != "file"]


def save_model(
    connection: Connection, *, name: str, origin: str, card: Mapping[str, Any], file: bytes
) -> str:
    """Keep a model file under a generated id; the same bytes again give the same id."""
    digest = hashlib.sha256(file).hexdigest()
    known: str | None = connection.scalar(
        select(models.c.id).where(models.c.sha256 == digest).limit(1)
    )
    if known is not None:
        return known
    key = f"m_{secrets.token_hex(8)}"
    connection.execute(
        insert(models).values(
            id=key,
            name=name,
            origin=origin,
            created_us=now_micros(),
            sha256=digest,
            size=len(file),
            card=dict(card),
            file=file,
        )
    )
    return key


def all_models(connection: Connection) -> Sequence[Record]:
    """Every model without its file, the newest first."""
    return connection.execute(
        select(*_DESCRIBED).order_by(models.c.created_us.desc(), models.c.id)
    ).all()


def model_cards(connection: Connection) -> dict[str, dict[str, Any]]:
    """What the cards of all models say, by id."""
    found = connection.execute(select(models.c.id, models.c.card))
    return {row.id: row.card for row in found}


def find_model(connection: Connection, key: str) -> Record | None:
    """One model without its file."""
    return connection.execute(select(*_DESCRIBED).where(models.c.id == key)).first()


def model_file(connection: Connection, key: str) -> bytes | None:
    """The bytes of a model file."""
    file: bytes | None = connection.scalar(select(models.c.file).where(models.c.id == key))
    return file
