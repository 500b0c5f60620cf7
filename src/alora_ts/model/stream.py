"""Rows one by one, or a few at a time: one reading per row."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import plan_windows
from alora_ts.data.cycle import Tracker
from alora_ts.data.form import EPOCHS
from alora_ts.data.hold import RowHold
from alora_ts.diagnosis import Reading
from alora_ts.diagnosis.alarms import Alarms
from alora_ts.errors import DataError
from alora_ts.fast.rank import count_rank
from alora_ts.fast.ring import Ring
from alora_ts.model.fitted import FittedModel, limit
from alora_ts.model.localize import localize_rows, needs_windows, row_blame
from alora_ts.model.surprise import last_surprises, row_surprise
from alora_ts.scoring.bounds import Held
from alora_ts.scoring.drift import Level
from alora_ts.scoring.following import Following
from alora_ts.scoring.novelty import Recent

__all__ = ["Stream", "StreamState"]

_MICROSECOND = 1e-6


@dataclass(frozen=True)
class _Taken:
    """A row that has been checked and scaled.

    Attributes
    ----------
    course : ndarray of shape (d,) or None
        What was taken off because it repeats, in own units; None without a cycle.
    free : ndarray of shape (d,)
        Scaled.
    scaled : ndarray of shape (d,)
        The same within the limit of what the network sees.
    full : int
        How many full windows have ended since the start or the last gap, this row's included;
        less than 1 for a warm-up row.
    anew : bool
        Whether it is the first row after the start or a gap.
    timestamp : object
    """

    course: NDArray[np.float32] | None
    free: NDArray[np.float32]
    scaled: NDArray[np.float32]
    full: int
    anew: bool
    timestamp: Any


@dataclass(frozen=True)
class StreamState:
    """What a stream remembers: arrays and plain values, which can be pickled or stored.

    Attributes
    ----------
    window : ndarray of shape (T, d)
        The last rows, scaled.
    past : ndarray of shape (r, d)
        The last rows that a novelty looks at, scaled; none where the score asks for none.
    beyond : ndarray of shape (b, d)
        How far beyond training's range the last rows were; none where the score does not ask.
    recent : ndarray of shape (s,)
        The last scores before smoothing.
    blames : ndarray of shape (m, d)
        What the last rows give the localization.
    level : Following or Level
        What is usual now.
    alarming : bool
        Whether the last row alarmed.
    held : ndarray of shape (d,) or None
        The last value of each variable.
    last_time : numpy.datetime64, float or None
    rows, seen : int
        Rows pushed in all, and since the start or the last gap.
    place : (ndarray, int, int) or None
        Where in a cycle it is, see :class:`~alora_ts.data.cycle.Tracker`; None without one.
    """

    window: NDArray[np.float32]
    past: NDArray[np.float32]
    beyond: NDArray[np.float64]
    recent: NDArray[np.float64]
    blames: NDArray[np.float64]
    level: Following | Level
    alarming: bool
    held: NDArray[np.float64] | None
    last_time: np.datetime64 | float | None
    rows: int
    seen: int
    place: tuple[NDArray[np.float64], int, int] | None


class Stream:
    """Scores rows as they arrive, with the numbers a batch would give them.

    Parameters
    ----------
    model : FittedModel

    Notes
    -----
    A missing cell takes the variable's last value (its usual level before there is one). A row
    that comes after a gap starts again. The rows before a first full window are scored from a
    window that repeats the oldest row, are marked as warm-up and never alarm; all later rows get
    the batch's score.
    """

    def __init__(self, model: FittedModel) -> None:
        self._model = model
        d = len(model.preparation.variables)
        self._ring = Ring(model.engine, window=model.window, variables=d)
        self._recent = np.zeros(model.calibration.rule.rows)
        self._blames = np.zeros((model.options.localization_memory, d))
        self._past = None if model.novelty is None else Recent(model.novelty, d)
        self._beyond = None if model.bounds is None else Held(model.bounds)
        self._cycle = None if model.cycle is None else Tracker(model.cycle)
        self._level = model.calibration.level()
        self._alarms = Alarms()
        self._hold = RowHold(model.preparation.standardiser.center)
        self._last_time: np.datetime64 | float | None = None
        self._rows = 0
        self._seen = 0

    def state(self) -> StreamState:
        """Everything the stream remembers, to be kept and resumed elsewhere; see there."""
        return StreamState(
            window=self._ring.rows.copy(),
            past=np.zeros((0, 0), np.float32) if self._past is None else self._past.rows.copy(),
            beyond=np.zeros((0, 0)) if self._beyond is None else self._beyond.rows.copy(),
            recent=self._recent.copy(),
            blames=self._blames.copy(),
            level=copy.deepcopy(self._level),
            alarming=self._alarms.active,
            held=None if self._hold.last is None else self._hold.last.copy(),
            last_time=self._last_time,
            rows=self._rows,
            seen=self._seen,
            place=None if self._cycle is None else self._cycle.state(),
        )

    def resume(self, state: StreamState) -> Self:
        """Go on where another stream of the same model stopped.

        Raises
        ------
        DataError
            When the state is that of a model of another shape.

        Examples
        --------
        >>> import pickle
        >>> from alora_ts import ALoRa
        >>> rows = np.random.default_rng(0).normal(size=(120, 2))
        >>> model = ALoRa(window=4, epochs=1, epoch_windows=64).fit(rows[:100])
        >>> first, second = model.stream(), model.stream()
        >>> _ = first.push_many(rows[100:110])
        >>> kept = pickle.dumps(first.state())  # in a file, a database, another process
        >>> resumed = model.stream().resume(pickle.loads(kept))
        >>> resumed.push(rows[110]).score == first.push(rows[110]).score
        True
        """
        own = self.state()
        for name in ("window", "past", "beyond", "recent", "blames"):
            given, wanted = getattr(state, name).shape, getattr(own, name).shape
            if given != wanted:
                raise DataError(
                    f"this is the state of another model: {name} has the shape {given}, not "
                    f"{wanted}; resume it with the model it came from"
                )
        self._ring.extend(state.window)
        if self._past is not None:
            self._past.rows[:] = state.past
        if self._beyond is not None:
            self._beyond.rows[:] = state.beyond
        if self._cycle is not None and state.place is not None:
            self._cycle.resume(state.place)
        self._recent[:], self._blames[:] = state.recent, state.blames
        self._level = copy.deepcopy(state.level)
        self._alarms.active = state.alarming
        self._hold.last = None if state.held is None else state.held.copy()
        self._last_time, self._rows, self._seen = state.last_time, state.rows, state.seen
        return self

    def push(
        self, row: Mapping[str, float] | Sequence[float] | NDArray[Any], *, time: Any = None
    ) -> Reading:
        """Score one row.

        Parameters
        ----------
        row : mapping or sequence
            Values by variable name, or in the order of the training data. None or NaN is missing;
            a mapping may leave variables out.
        time : datetime, numpy.datetime64, ISO 8601 text or number, optional
            When it was. Rows must come in order; a gap longer than the model's resets the window.

        Returns
        -------
        Reading
        """
        return self._read_alone(self._take(row, time))

    def push_many(
        self,
        rows: Iterable[Mapping[str, float] | Sequence[float] | NDArray[Any]],
        *,
        times: Iterable[Any] | None = None,
    ) -> list[Reading]:
        """Score rows that are there already, with the batch engine: faster than one by one.

        Parameters
        ----------
        rows : iterable of mappings or sequences
            As for :meth:`push`, in order of time.
        times : iterable, optional
            When each was.

        Returns
        -------
        list of Reading
            What :meth:`push` would have given, up to rounding.

        Raises
        ------
        DataError
            When a row cannot be used; then none of them has been taken in.
        """
        before = self._hold.last, self._last_time, self._seen, self._rows
        place = None if self._cycle is None else self._cycle.state()
        given: list[Any] = list(rows)
        moments = [None] * len(given) if times is None else list(times)
        try:
            taken = [self._take(row, time) for row, time in zip(given, moments, strict=True)]
        except DataError:
            self._hold.last, self._last_time, self._seen, self._rows = before
            if self._cycle is not None and place is not None:
                self._cycle.resume(place)
            raise
        readings: list[Reading] = []
        while len(readings) < len(taken):
            rest = taken[len(readings) :]
            early = sum(1 for _ in itertools.takewhile(lambda each: each.full < 1, rest))
            readings += [self._read_alone(one) for one in rest[:early]]
            full = list(itertools.takewhile(lambda each: each.full >= 1, rest[early:]))
            if full:
                readings += self._read_together(full)
        return readings

    def _read_alone(self, taken: _Taken) -> Reading:
        """Let a row into the ring and read the window that ends at it."""
        if taken.anew:
            self._ring.restart(taken.scaled)
        else:
            self._ring.push(taken.scaled)
        last = self._ring.look()
        rank = count_rank(last.attention, self._model.calibration.rank_level)
        new = 0.0
        if self._past is not None:
            new = self._past.push(taken.scaled, taken.full + self._model.window - 1)
        return self._read(taken, last.expected.numpy()[0], int(rank[0]), self._ring.rows, new)

    def _read_together(self, taken: list[_Taken]) -> list[Reading]:
        """Readings of rows with full windows that follow one another."""
        model, new = self._model, np.stack([each.scaled for each in taken])
        values = np.concatenate([self._ring.rows[1:], new])
        plan = plan_windows(len(values), model.window)
        novelty = np.zeros(len(taken))
        if self._past is not None:
            novelty = self._past.extend(new, taken[0].full + model.window - 1)
        readings = []
        for chunk in model.engine.chunks(
            values, plan, lambda _: None, rank_level=model.calibration.rank_level
        ):
            assert chunk.rank is not None
            for at, expected, rank in zip(
                range(len(taken))[chunk.windows], chunk.expected, chunk.rank, strict=True
            ):
                window = values[at : at + model.window]
                one = self._read(taken[at], expected, int(rank), window, float(novelty[at]))
                readings.append(one)
        self._ring.extend(new)
        return readings

    def _take(self, row: Any, time: Any) -> _Taken:
        """Check and scale a row; only what is known of earlier rows changes."""
        stamp = _as_time(time, self._model.preparation.fitted.form.time_format)
        self._tick(stamp)
        values, course = self._checked(row), None
        if self._cycle is not None:
            course = self._cycle.course(values, _micros(stamp), anew=self._seen == 0)
            values = values - course
        standardiser = self._model.preparation.standardiser
        free: NDArray[np.float32] = standardiser.apply(self._hold.fill(values)[None])[0]
        scaled = limit(free, self._model.input_limit)
        self._seen += 1
        self._rows += 1
        timestamp = self._rows - 1 if time is None else time
        full = self._seen - self._model.window + 1
        return _Taken(course, free, scaled, full, self._seen == 1, timestamp)

    def follow_from(self, said: Iterable[tuple[float, float, float | None]]) -> None:
        """Set the followed level to what it was after rows of which this was said.

        For programs that rebuild a stream after a restart: ``raw``, ``novelty`` and ``spread`` of
        the last ``calibration.memory`` readings (warm-up rows left out), oldest first, are enough.
        """
        self._level.restart()
        for raw, novelty, spread in said:
            self._level.step(raw, novelty=novelty)
            self._level.recall(spread)

    def _read(
        self,
        taken: _Taken,
        expected: NDArray[np.float32],
        rank: int,
        window: NDArray[np.float32],
        novelty: float,
    ) -> Reading:
        model, rule = self._model, self._model.calibration.rule
        residual = (taken.scaled - expected)[None]
        error = rule.error(residual)
        early = taken.full < 1
        surprise = last_surprises(model, window, warm_up=early)
        now = rule.moment(error.sum(1), rank, row_surprise(model, surprise, warm_up=early))[0]
        # A mean reaches back to the first full window; a warm-up row stands for itself.
        raw = float(_remember(self._recent, now, taken.full))
        level = model.calibration.threshold.value
        if self._beyond is not None:
            raw += level * self._beyond.push(taken.free, anew=taken.anew)
        blame = row_blame(model, taken.scaled[None], residual, surprise)[0]
        remembered = _remember(self._blames, blame, taken.full)
        # The window moves on before anybody asks.
        kept = window.copy() if needs_windows(model.options.localization) else None
        drift = self._level.step(raw, early, novelty)
        score = raw / (level * drift)
        return Reading(
            timestamp=taken.timestamp,
            score=score,
            alarm=self._alarms.push(score, warm_up=early),
            raw=raw,
            drift=drift,
            rank=rank,
            error=error[0],
            expected=self._own_units(expected, taken.course),
            warm_up=early,
            variables=model.preparation.variables,
            locate=partial(_locate, model, remembered, kept),
            returns=model.return_period(raw / drift),
            shift=self._level.last_shift,
            novelty=novelty,
            spread=self._level.last_spread,
        )

    def _tick(self, stamp: np.datetime64 | float | None) -> None:
        if stamp is None:
            return
        if self._last_time is not None:
            passed = stamp - self._last_time  # type: ignore[operator]
            if isinstance(passed, np.timedelta64):
                passed = passed / np.timedelta64(1, "us") * _MICROSECOND
            if passed < 0:
                raise DataError(
                    f"the row at {stamp} came after the row at {self._last_time}; push rows in "
                    "order of time"
                )
            gap = self._model.preparation.gap
            if gap is not None and passed > gap:
                self._seen = 0
                self._hold.restart()
        self._last_time = stamp

    def _own_units(
        self, scaled: NDArray[np.float32], course: NDArray[np.float32] | None
    ) -> NDArray[np.float64]:
        own: NDArray[np.float64] = self._model.preparation.standardiser.restore(scaled[None])[0]
        return own if course is None else own + course

    def _checked(
        self, row: Mapping[str, float] | Sequence[float] | NDArray[Any]
    ) -> NDArray[np.float64]:
        names = self._model.preparation.variables
        if isinstance(row, Mapping):
            unknown = [name for name in row if name not in names]
            if unknown:
                raise DataError(
                    f"unknown variable(s) {', '.join(map(repr, unknown))} in a row; the model "
                    f"knows {', '.join(names)}"
                )
            row = [row.get(name, np.nan) for name in names]
        if not (isinstance(row, np.ndarray) and row.dtype.kind == "f"):
            row = [np.nan if value is None else value for value in row]
        values = np.array(row, dtype=np.float64)
        if values.shape != (len(names),):
            raise DataError(f"a row has {values.size} values where the model has {len(names)}")
        infinite = np.isinf(values)
        if infinite.any():
            raise DataError(f"the value of {names[int(infinite.argmax())]!r} is infinite")
        return values


def _locate(
    model: FittedModel, remembered: NDArray[np.float64], window: NDArray[np.float32] | None
) -> NDArray[np.float64]:
    """The localization of one row."""

    def windows_of(_: NDArray[np.intp]) -> NDArray[np.float32]:
        assert window is not None
        return window[None]

    found: NDArray[np.float64] = localize_rows(model, remembered[None], windows_of)[0]
    return found


def _remember(past: NDArray[np.float64], now: Any, rows: int) -> Any:
    """Push ``now`` into ``past`` and return the mean of the newest ``rows`` (at least one)."""
    past[:-1] = past[1:]
    past[-1] = now
    count = min(max(rows, 1), len(past))
    # The mean: numpy's own takes longer than the sum.
    return np.add.reduce(past[-count:]) / count


def _micros(stamp: np.datetime64 | float | None) -> int | None:
    """A date in microseconds since 1970; None where rows have none."""
    if not isinstance(stamp, np.datetime64):
        return None
    return int(stamp.astype("datetime64[us]").astype(np.int64))


def _as_time(time: Any, form: str | None) -> np.datetime64 | float | None:
    if time is None or isinstance(time, int | float):
        if time is None or form not in EPOCHS:
            return time
        # Training's times were numbers since 1970, and its gap is in seconds.
        return np.datetime64(round(time * 1_000_000 / EPOCHS[form]), "us")
    try:
        return np.datetime64(time, "us")
    except ValueError as error:
        raise DataError(f"cannot read the time {time!r}; give ISO 8601 or a datetime") from error
