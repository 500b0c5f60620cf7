"""The errors that the caller can fix.

Everything a user can cause (a bad file, a wrong column, a foreign model) raises a subclass of
:class:`AloraError`, whose message says what was wrong, where, and what to do. The command line
prints the message and exits with 1; anything else that escapes is a bug of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["AloraError", "ArtifactError", "DataError", "NotFittedError", "TrainingError", "nearest"]

_LISTED, _SHOWN = 60, 5


class AloraError(ValueError):
    """Base of all errors that name their place and their remedy."""


class DataError(AloraError):
    """The data given cannot be used as they are."""


class ArtifactError(AloraError):
    """A model file cannot be read or written."""


class NotFittedError(AloraError):
    """A method that needs a fitted model was called before ``fit``."""


class TrainingError(AloraError):
    """Training cannot continue (for instance, the loss is no longer finite)."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, as the end of an error message.

    Examples
    --------
    >>> nearest("spearmann", ["spearman", "pearson"])
    "; did you mean 'spearman'? Known: pearson, spearman"
    >>> nearest("zzz", ["spearman"])
    '; known: spearman'
    >>> nearest("sensor", (f"flow{at}" for at in range(100, 500)))
    '; known: flow100, flow101, flow102, flow103, flow104, … (400 in all)'
    """
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    # Methods and settings are all worth reading; the signals of a plant are not.
    listed = ", ".join(known)
    if len(known) > _LISTED:
        listed = ", ".join(known[:_SHOWN]) + f", … ({len(known)} in all)"
    return f"; did you mean {close[0]!r}? Known: {listed}" if close else f"; known: {listed}"
