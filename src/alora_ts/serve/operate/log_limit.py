"""A log that one repeated failure cannot fill."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["LogLimit"]

_KEPT = 1000


class LogLimit(logging.Filter):
    """Lets each message pass a few times a minute; the first one after says what was left out.

    Messages count as the same when their logger, level and text before formatting are.

    Parameters
    ----------
    most : int
        So many a minute.
    now : callable
        Seconds; for tests.

    Examples
    --------
    >>> limit = LogLimit(most=1)
    >>> record = logging.LogRecord("x", logging.ERROR, "", 0, "disk full", None, None)
    >>> limit.filter(record), limit.filter(record)
    (True, False)
    """

    def __init__(self, *, most: int = 5, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most = most
        self._now = now
        self._seen: OrderedDict[tuple[str, int, str], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write a record."""
        key, now = (record.name, record.levelno, str(record.msg)), self._now()
        began, count = self._seen.pop(key, (now, 0))
        left_out = max(0, count - self._most)
        if now - began >= 60:
            began, count = now, 0
        else:
            left_out = 0
        self._seen[key] = (began, count + 1)
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        if count >= self._most:
            return False
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out:,} more like it were left out)"
            record.args = None
        return True
