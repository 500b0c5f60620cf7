"""What is known of one entity's fit or detection, as a small JSON file beside its results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from alora_ts.fleet.names import folder_name
from alora_ts.fleet.storage import Store

__all__ = ["ENTITIES", "Action", "State", "Status", "read_status", "status_name", "write_status"]

Action = Literal["fit", "detect"]
State = Literal["done", "failed"]

ENTITIES = "entities"


@dataclass(frozen=True)
class Status:
    """The outcome of one action on one entity.

    It holds no clock times and no host names: equal work gives equal bytes.

    Attributes
    ----------
    entity : str
    action : {"fit", "detect"}
    state : {"done", "failed"}
    digest : str
        Of the input's content and of every choice that decides the result. Work whose digest is
        the same need not be done again.
    reason : str or None
        Why it failed.
    facts : dict
        What the fleet's table shows.
    """

    entity: str
    action: Action
    state: State
    digest: str
    reason: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """As bytes to write."""
        text = json.dumps(asdict(self), sort_keys=True, allow_nan=False, indent=1)
        return text.encode("utf-8", errors="surrogatepass")

    @classmethod
    def from_json(cls, content: bytes) -> Status | None:
        """Back from :meth:`to_json`; None where it is something else.

        Examples
        --------
        >>> Status.from_json(Status("a", "fit", "done", "0f").to_json()).state
        'done'
        >>> Status.from_json(b"{}") is None
        True
        """
        try:
            status = cls(**json.loads(content))
        except (ValueError, TypeError):
            return None
        known = status.state in get_args(State) and isinstance(status.facts, dict)
        return status if known else None


def status_name(entity: str, action: Action) -> str:
    """Where the status of an entity is.

    Examples
    --------
    >>> status_name("pump 7", "fit")
    'entities/pump 7/fit.json'
    """
    return f"{ENTITIES}/{folder_name(entity)}/{action}.json"


def read_status(store: Store, entity: str, action: Action) -> Status | None:
    """The status of an entity, or None where nothing (readable) was written."""
    content = store.read(status_name(entity, action))
    return None if content is None else Status.from_json(content)


def write_status(store: Store, status: Status) -> None:
    """Write a status. It comes last, so that it never names results that are not there."""
    store.write(status.to_json(), status_name(status.entity, status.action))
