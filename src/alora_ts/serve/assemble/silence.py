"""Which signals have stopped arriving."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["SilenceWatch"]


class SilenceWatch:
    """Knows when each signal last arrived; the caller says what time it is.

    Parameters
    ----------
    signals : iterable of str
    after : int
        A signal is silent when nothing has come for longer than this, in microseconds.
    now : int
        From when on signals that never came are waited for.

    Examples
    --------
    >>> watch = SilenceWatch(["a", "b"], after=10, now=0)
    >>> watch.hear("a", time=4, now=5)
    >>> watch.silent(now=12)
    {'b': None}
    >>> watch.silent(now=16)
    {'a': 4, 'b': None}
    """

    def __init__(self, signals: Iterable[str], *, after: int, now: int) -> None:
        self._after = after
        self._heard = dict.fromkeys(signals, now)
        self._last: dict[str, int] = {}

    def hear(self, signal: str, *, time: int, now: int) -> None:
        """Note that a value came: when it was measured, and when it arrived."""
        self._heard[signal] = max(now, self._heard[signal])
        self._last[signal] = max(time, self._last.get(signal, time))

    def silent(self, *, now: int) -> dict[str, int | None]:
        """Return the silent signals, each with the time of its last value (None: never came)."""
        return {
            name: self._last.get(name)
            for name, heard in self._heard.items()
            if now - heard > self._after
        }
