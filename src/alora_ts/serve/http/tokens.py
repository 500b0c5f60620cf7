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

from alora_ts.errors import AloraError, nearest
from alora_ts.serve.store.store import Store
from alora_ts.serve.store.tokens import add_token, all_tokens

__all__ = ["Role", "TokenBook", "allows", "make_token"]

Role = Literal["read", "write", "admin"]
_ORDER: tuple[Role, ...] = get_args(Role)
_FORM = re.compile(r"alora_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_FRESH = 2.0


def allows(role: Role, needed: Role) -> bool:
    """Whether a role includes another: admin includes write, write includes read.

    Examples
    --------
    >>> allows("admin", "read"), allows("read", "write")
    (True, False)
    """
    return _ORDER.index(role) >= _ORDER.index(needed)


def _digest(token: str) -> str:
    # A token holds 256 random bits: a slow hash would protect it no better.
    return hashlib.sha256(token.encode()).hexdigest()


def make_token(store: Store, *, name: str, role: str) -> str:
    """Make a token and keep its hash; the token itself is given once, here."""
    if role not in _ORDER:
        raise AloraError(f"unknown role {role!r}{nearest(role, _ORDER)}")
    key = secrets.token_hex(4)
    token = f"alora_{key}_{secrets.token_urlsafe(32)}"
    store.writer.run(lambda c: add_token(c, key=key, name=name, role=role, digest=_digest(token)))
    return token


@dataclass(frozen=True)
class _Known:
    digest: str
    role: Role


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
        self._read = -_FRESH

    @property
    def stale(self) -> bool:
        """Whether the next look reads the store, which takes a moment."""
        return time.monotonic() - self._read > _FRESH

    def any(self) -> bool:
        """Whether there are tokens at all: then every request needs one."""
        return bool(self._tokens())

    def role_of(self, token: str) -> tuple[str, Role] | None:
        """The id and role of a token; None when it is not valid."""
        form = _FORM.fullmatch(token)
        if form is None:
            return None
        known = self._tokens().get(form[1])
        if known is None or not hmac.compare_digest(known.digest, _digest(token)):
            return None
        return form[1], known.role

    def _tokens(self) -> dict[str, _Known]:
        with self._lock:
            if self.stale:
                with self._store.reading() as connection:
                    found = all_tokens(connection)
                self._known = {
                    row.id: _Known(row.hash, row.role) for row in found if row.revoked_us is None
                }
                self._read = time.monotonic()
            return self._known
