"""How long an incident may pause: what has lasted for a day is not over after ten quiet rows."""

from __future__ import annotations

__all__ = ["longest_pause"]

_PART = 50


def longest_pause(gap: int, alarming: int) -> int:
    """Quiet rows that do not end an incident: a fiftieth of those in which it alarmed.

    Parameters
    ----------
    gap : int
        The least.
    alarming : int
        Rows that alarmed. Quiet ones do not count, or what scatters would hold itself together.

    Examples
    --------
    >>> longest_pause(10, 60), longest_pause(10, 1440)
    (10, 28)
    """
    return max(gap, alarming // _PART)
