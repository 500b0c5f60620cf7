"""From a topic to the variable that it carries."""

from __future__ import annotations

import re
import string
from collections.abc import Container, Mapping

from alora_ts.serve.assemble import Sample
from alora_ts.serve.connect.payload import MalformedError, read_fields, read_value
from alora_ts.serve.connect.settings import MessageSettings

__all__ = ["TopicMatcher", "fill"]


def fill(template: str, words: Mapping[str, str]) -> str:
    """Put words in the place of their names in braces.

    Examples
    --------
    >>> fill("{area}.{sensor}", {"area": "boiler", "sensor": "t1"})
    'boiler.t1'
    """
    # Not str.format, which would follow attributes that a topic names.
    return "".join(
        text + (words[name] if name else "")
        for text, name, _, _ in string.Formatter().parse(template)
    )


class TopicMatcher:
    """Recognises the topics of one pattern and names their variables.

    Parameters
    ----------
    settings : MessageSettings

    Examples
    --------
    >>> from alora_ts.serve.connect.settings import TopicSettings
    >>> topic = TopicSettings(topic="plant/{area}/{sensor}/value", variable="{area}.{sensor}")
    >>> matcher = TopicMatcher(topic)
    >>> matcher.subscription
    'plant/+/+/value'
    >>> matcher.variable(matcher.match("plant/boiler/t1/value"))
    'boiler.t1'
    >>> matcher.match("plant/boiler/value") is None
    True
    """

    def __init__(self, settings: MessageSettings) -> None:
        self.settings = settings
        self._levels = settings.pattern()[0].split("/")
        self.subscription = "/".join(re.sub(r"^\{\w+\}$", "+", level) for level in self._levels)
        self._template = settings.template()

    def match(self, topic: str) -> dict[str, str] | None:
        """Return the words in braces of a topic; None when it is another topic."""
        words = dict[str, str]()
        levels = topic.split("/")
        for at, wanted in enumerate(self._levels):
            if wanted == "#":
                return words
            if at >= len(levels):
                return None
            if re.fullmatch(r"\{\w+\}", wanted):
                words[wanted[1:-1]] = levels[at]
            elif wanted not in ("+", levels[at]):
                return None
        return words if len(levels) == len(self._levels) else None

    def variable(self, words: dict[str, str], field: str = "") -> str:
        """Name the variable, for the words of a topic and the field of a payload."""
        return fill(self._template, {**words, "field": field})

    def samples(
        self,
        payload: bytes,
        words: dict[str, str],
        *,
        otherwise: int | None,
        known: Container[str] | None,
    ) -> list[Sample]:
        """Read the signals of a payload.

        Parameters
        ----------
        payload : bytes
        words : dict of str to str
        otherwise : int or None
            The time of values that come without one; None refuses them.
        known : container of str or None
            Fields for other variables are left out: devices send more than anyone watches. None
            takes all.

        Raises
        ------
        MalformedError
        """
        settings = self.settings
        key, unit = settings.time_key, settings.time_unit
        if settings.payload == "fields":
            time, fields = read_fields(payload, time_key=key, unit=unit)
            values = {self.variable(words, field): value for field, value in fields.items()}
            values = {
                name: value for name, value in values.items() if known is None or name in known
            }
        else:
            time, value = read_value(payload, value_key=settings.value_key, time_key=key, unit=unit)
            values = {self.variable(words): value}
        when = otherwise if time is None else time
        if when is None:
            raise MalformedError("retained without a time")
        return [Sample(name, when, value) for name, value in values.items()]
