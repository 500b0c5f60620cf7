"""From a topic to the variable that it carries."""

from __future__ import annotations

import re
import string

from alora_ts.serve.connect.settings import TopicSettings

__all__ = ["TopicMatcher"]


class TopicMatcher:
    """Recognises the topics of one pattern and names their variables.

    Parameters
    ----------
    settings : TopicSettings

    Examples
    --------
    >>> topic = TopicSettings(topic="plant/{area}/{sensor}/value", variable="{area}.{sensor}")
    >>> matcher = TopicMatcher(topic)
    >>> matcher.subscription
    'plant/+/+/value'
    >>> matcher.variable(matcher.match("plant/boiler/t1/value"))
    'boiler.t1'
    >>> matcher.match("plant/boiler/value") is None
    True
    """

    def __init__(self, settings: TopicSettings) -> None:
        self.settings = settings
        self._levels = settings.topic.split("/")
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
        # Not str.format, which would follow attributes that a topic names.
        return "".join(
            text + (field if name == "field" else words[name] if name else "")
            for text, name, _, _ in string.Formatter().parse(self._template)
        )
