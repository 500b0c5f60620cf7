"""Which messages of a log are done with: those whose rows are all stored."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from alora_ts.serve.assemble import Sample

__all__ = ["Ledger"]

_Place = tuple[str, int]  # topic and partition


@dataclass
class _Batch:
    offsets: Mapping[_Place, int]
    waiting: set[tuple[str, int]] = field(default_factory=set)


class Ledger:
    """Batches of messages in the order in which they came, each with the rows that wait for more.

    A log keeps its messages, so it is the journal of unfinished rows itself: a batch is done with
    when it and all before it have no row left that is not stored. Whoever reads on from there
    after a crash gets every sample of an unfinished row again.

    Examples
    --------
    >>> ledger = Ledger()
    >>> ledger.begin({("signals", 0): 5})
    >>> keeper = ledger.keeper("plant")
    >>> keeper.keep([(100, Sample("flow", 101, 1.0))])
    >>> ledger.begin({("signals", 0): 9})
    >>> ledger.done()
    {}
    >>> keeper.drop([100])
    >>> ledger.done()
    {('signals', 0): 9}
    """

    def __init__(self) -> None:
        self._batches: deque[_Batch] = deque()

    def begin(self, offsets: Mapping[_Place, int]) -> None:
        """Note a batch, with the next offset to read after it, before its samples are kept."""
        self._batches.append(_Batch(offsets))

    def keeper(self, source: str) -> _SourceKeeper:
        """Make what an intake tells about the samples of a source."""
        return _SourceKeeper(self._batches, source)

    def done(self) -> dict[_Place, int]:
        """Return where to read on, for what is done with since the last call.

        Not to be called between the beginning of a batch and the end of its intake.
        """
        offsets = dict[_Place, int]()
        while self._batches and not self._batches[0].waiting:
            offsets |= self._batches.popleft().offsets
        return offsets


class _SourceKeeper:
    def __init__(self, batches: deque[_Batch], source: str) -> None:
        self._batches = batches
        self._source = source

    def keep(self, samples: Iterable[tuple[int, Sample]]) -> None:
        self._batches[-1].waiting.update((self._source, point) for point, _ in samples)

    def drop(self, points: Sequence[int]) -> None:
        gone = {(self._source, point) for point in points}
        for batch in self._batches:
            batch.waiting -= gone

    def load(self) -> list[Sample]:
        return []

    def close(self) -> None:
        pass
