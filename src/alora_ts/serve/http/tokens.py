"""Bearer tokens with roles."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Connection

from alora_ts.errors import AloraError, nearest
from alora_ts.serve.scoring.source import check_source_name
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.tokens import add_token, all_tokens
from alora_ts.serve.times import now_micros

__all__ = ["Bearer", "Role", "TokenBook", "allows", "make_token"]

Role = Literal["ingest", "read", "write", "admin"]
_ROLES: tuple[Role, ...] = get_args(Role)
# A gateway sends rows and sees nothing; people at work also read and judge.
_INCLUDES: dict[Role, set[Role]] = {
    "ingest": {"ingest"},
    "read": {"read"},
    "write": {"ingest", "read", "write"},
    "admin": set(_ROLES),
}
_FORM = re.compile(r"alora_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_FRESH = 2.0
_DAY = 86_400_000_000


def allows(role: Role, needed: Role) -> bool:
    """Whether a role includes another: admin all, write also read and ingest.

    Examples
    --------
    >>> allows("admin", "read"), allows("read", "write"), allows("ingest", "read")
    (True, False, False)
    """
    return needed in _INCLUDES[role]


def _digest(token: str) -> str:
    # A token holds 256 random bits: a slow hash would protect it no better.
    return hashlib.sha256(token.encode()).hexdigest()


def make_token(
    store: Store, *, name: str, role: str, source: str | None = None, days: float | None = None
) -> str:
    """Make a token and keep its hash; the token itself is given once, here.

    Parameters
    ----------
    store : Store
    name : str
        Whom it is for.
    role : {"ingest", "read", "write", "admin"}
    source : str, optional
        The only source an ingest token may send rows to.
    days : float, optional
        How long it is in force; without it until it is revoked.
    """
    if role not in _ROLES:
        raise AloraError(f"unknown role {role!r}{nearest(role, _ROLES)}")
    if source is not None:
        if role != "ingest":
            raise AloraError("only a token with the role ingest can be bound to one source")
        check_source_name(source)
    if days is not None and not 0 < days <= 36_500:
        raise AloraError(f"a token cannot be in force for {days:g} days; give 1 to 36,500")
    key = secrets.token_hex(4)
    token = f"alora_{key}_{secrets.token_urlsafe(32)}"
    expires = None if days is None else now_micros() + int(days * _DAY)

    def write(connection: Connection) -> None:
        add_token(
            connection,
            key=key,
            name=name,
            role=role,
            digest=_digest(token),
            source=source,
            expires=expires,
        )

    store.change("token created", key, write, {"name": name, "role": role, "source": source})
    return token


@dataclass(frozen=True)
class Bearer:
    """Who holds a token.

    Attributes
    ----------
    id, name : str
    role : str
    source : str or None
        The only source its rows may go to; None for any.
    """

    id: str
    name: str
    role: Role
    source: str | None


@dataclass(frozen=True)
class _Known:
    digest: str
    expires: int | None
    bearer: Bearer


class TokenBook:
    """The valid tokens, at most two seconds old, so that a revoked one soon stops working.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}
        self._ever = False
        self._read = -_FRESH

    @property
    def stale(self) -> bool:
        """Whether the next look reads the store, which takes a moment."""
        return time.monotonic() - self._read > _FRESH

    def ever(self) -> bool:
        """Whether a token was ever made: from then on every request needs one.

        Revoking or outliving the last one closes the service; it never opens it.
        """
        self._tokens()
        return self._ever

    def any(self) -> bool:
        """Whether a token is in force."""
        return any(_in_force(known) for known in self._tokens().values())

    def has_admin(self) -> bool:
        """Whether an admin token is in force."""
        known = self._tokens().values()
        return any(one.bearer.role == "admin" and _in_force(one) for one in known)

    def bearer_of(self, token: str) -> Bearer | None:
        """Who holds a token; None when it is not in force."""
        form = _FORM.fullmatch(token)
        if form is None:
            return None
        known = self._tokens().get(form[1])
        if known is None or not hmac.compare_digest(known.digest, _digest(token)):
            return None
        return known.bearer if _in_force(known) else None

    def _tokens(self) -> dict[str, _Known]:
        with self._lock:
            if self.stale:
                with self._store.reading() as connection:
                    found = all_tokens(connection)
                self._ever = bool(found)
                self._known = {
                    row.id: _Known(
                        row.hash, row.expires_us, Bearer(row.id, row.name, row.role, row.source)
                    )
                    for row in found
                    if row.revoked_us is None
                }
                self._read = time.monotonic()
            return self._known


def _in_force(known: _Known) -> bool:
    return known.expires is None or now_micros() < known.expires
