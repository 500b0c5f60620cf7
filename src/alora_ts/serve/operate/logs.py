"""What is logged, in which form, and by which request."""

from __future__ import annotations

import json
import logging
import re
from contextvars import ContextVar
from typing import Any, Literal

from alora_ts.serve.operate.log_limit import LogLimit
from alora_ts.serve.times import from_micros

__all__ = ["ACCESS", "JsonLines", "LogFormat", "Words", "request_id", "set_up_logs"]

LogFormat = Literal["text", "json"]
ACCESS = "alora_ts.serve.access"
"""The logger of requests."""

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is handled now."""

# A token or a password in an address never belongs in a log, whoever put it there.
_SECRETS = (
    (re.compile(r"(alora_[0-9a-f]{8}_)[A-Za-z0-9_-]{43}"), r"\1…"),
    (re.compile(r"(?i)(bearer|basic) +[A-Za-z0-9._~+/=-]{8,}"), r"\1 …"),
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+@"), r"\1…@"),
)


def _without_secrets(text: str) -> str:
    for form, instead in _SECRETS:
        text = form.sub(instead, text)
    return text


class Words(logging.Formatter):
    """Lines for people; the request's id stands at the end where there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Write a line, and the lines of an exception."""
        text = _without_secrets(super().format(record))
        key = request_id.get()
        return text if key is None else f"{text} [request {key}]"


class JsonLines(logging.Formatter):
    """One JSON object on one line for each record.

    Examples
    --------
    >>> record = logging.LogRecord("x", logging.ERROR, "", 0, "no %s", ("disk",), None)
    >>> record.created = 0.0
    >>> JsonLines().format(record)
    '{"time": "1970-01-01T00:00:00.000000Z", "level": "error", "logger": "x", "message": "no disk"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Write a line."""
        line: dict[str, Any] = {
            "time": from_micros(int(record.created * 1e6)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (key := request_id.get()) is not None:
            line["request_id"] = key
        # What a request was: see http/request_log.py.
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        clean = {k: _without_secrets(v) if isinstance(v, str) else v for k, v in line.items()}
        return json.dumps(clean, ensure_ascii=False)


class _Limit(LogLimit):
    """Bounds repeated messages; requests that somebody wants to see are no repetition."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write a record."""
        return record.name == ACCESS or super().filter(record)


def set_up_logs(form: LogFormat, *, level: str = "INFO") -> None:
    """Write to standard error what an operator should know."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else Words())
    handler.addFilter(_Limit())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("alora_ts.serve").setLevel(level)
