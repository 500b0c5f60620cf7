"""How many of something each worker should hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["fair_share"]


def fair_share(me: str, workers: Sequence[str], total: int, held: Mapping[str | None, int]) -> int:
    """My part of ``total``: equal but for one, and such that as few as possible change hands.

    Whoever has most already keeps what does not divide evenly.

    Examples
    --------
    >>> [fair_share(one, ["a", "b", "c"], 8, {"a": 4, "b": 4}) for one in ("a", "b", "c")]
    [3, 3, 2]
    >>> fair_share("b", ["b"], 5, {})
    5
    """
    if me not in workers:
        return 0
    whole, rest = divmod(total, len(workers))
    order = sorted(workers, key=lambda one: (-held.get(one, 0), one))
    return whole + (order.index(me) < rest)
