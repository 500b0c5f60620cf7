"""The type of a record that a query gives: any columns, chosen by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from sqlalchemy import Row

    Record: TypeAlias = Row[*tuple[Any, ...]]
else:
    Record = Any

__all__ = ["Record"]
