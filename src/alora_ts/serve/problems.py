"""Errors that the HTTP interface answers with a status of their own."""

from __future__ import annotations

from alora_ts.errors import AloraError

__all__ = ["BacklogError", "ConflictError", "NotFoundError"]


class NotFoundError(AloraError):
    """What was asked for is not there."""


class ConflictError(AloraError):
    """It cannot be done in the present state."""


class BacklogError(AloraError):
    """Too many rows wait to be scored; send them again later."""
