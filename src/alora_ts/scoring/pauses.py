"""How long an incident may pause: what has lasted for a day is not over after ten quiet rows."""

from __future__ import annotations

__all__ = ["longest_pause"]

_PART = 50


def longest_pause(gap: int, lasted: int) -> int:
    """Quiet rows that do not end what has lasted for so many rows: a fiftieth of them.

    Parameters
    ----------
    gap : int
        The least.
    lasted : int
        Rows from the first to the last that alarmed.

    Examples
    --------
    >>> longest_pause(10, 60), longest_pause(10, 1440)
    (10, 28)
    """
    return max(gap, lasted // _PART)
