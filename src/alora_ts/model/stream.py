"""Rows one by one, or a few at a time: one reading per row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.diagnosis import Reading
from alora_ts.errors import DataError
from alora_ts.model.fitted import FittedModel, limit
from alora_ts.model.localize import localize_rows
from alora_ts.scoring.rank import count_rank
from alora_ts.scoring.ring import Ring

__all__ = ["Stream"]

_MICROSECOND = 1e-6


class Stream:
    """Scores rows as they come, with the numbers a batch would give them.

    Parameters
    ----------
    model : FittedModel

    Notes
    -----
    A missing cell takes the variable's last value (its usual level before there is one). A row
    that comes after a gap starts anew. The rows before a first full window are scored from a
    window that repeats the oldest row, are marked as warm-up and never alarm; all later rows get
    the batch's score.
    """

    def __init__(self, model: FittedModel) -> None:
        self._model = model
        d = len(model.preparation.variables)
        self._ring = Ring(model.engine, window=model.window, variables=d)
        self._recent = np.zeros(model.calibration.rule.rows)
        self._errors = np.zeros((model.options.localization_memory, d))
        self._level = model.calibration.level()
        self._last: NDArray[np.float64] | None = None
        self._last_time: np.datetime64 | float | None = None
        self._rows = 0
        self._seen = 0

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
        stamp = _as_time(time)
        self._tick(stamp)
        scaled = self._scale(row)
        if self._seen == 0:
            self._ring.restart(scaled)
        else:
            self._ring.push(scaled)
        self._seen += 1
        self._rows += 1
        return self._read(self._rows - 1 if time is None else time)

    def follow_from(self, raw_scores: Iterable[float]) -> None:
        """Set the followed level to what it was after rows with these raw scores.

        For programs that rebuild a stream after a restart: the last
        ``calibration.drift_memory`` raw scores (warm-up rows left out), oldest first, are enough.
        """
        self._level.restart()
        for raw in raw_scores:
            self._level.push(raw)

    def _read(self, timestamp: Any) -> Reading:
        model, rule = self._model, self._model.calibration.rule
        expected, attention = self._ring.look()
        rank = count_rank(attention, model.calibration.rank_level)
        residual = self._ring.rows[-1:] - expected.numpy()
        error = rule.error(residual)
        now = rule.moment(error.sum(1), rank)[0]
        full = self._seen - model.window + 1
        # A mean reaches back to the first full window; a warm-up row stands for itself.
        raw = float(_remember(self._recent, now, full))
        remembered = _remember(self._errors, error[0], full)
        drift = self._level.factor
        if full >= 1:
            self._level.push(raw)
        return Reading(
            timestamp=timestamp,
            score=raw / (model.calibration.threshold.value * drift),
            raw=raw,
            drift=drift,
            rank=int(rank[0]),
            error=error[0],
            localization=localize_rows(model, remembered[None], lambda _: self._ring.rows[None])[0],
            expected=model.preparation.standardiser.restore(expected.numpy())[0],
            warm_up=full < 1,
            variables=model.preparation.variables,
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
                self._last = None
        self._last_time = stamp

    def _scale(
        self, row: Mapping[str, float] | Sequence[float] | NDArray[Any]
    ) -> NDArray[np.float32]:
        names = self._model.preparation.variables
        if isinstance(row, Mapping):
            unknown = [name for name in row if name not in names]
            if unknown:
                raise DataError(
                    f"unknown variable(s) {', '.join(map(repr, unknown))} in a row; the model "
                    f"knows {', '.join(names)}"
                )
            row = [row.get(name, np.nan) for name in names]
        values = np.array([np.nan if value is None else value for value in row], dtype=np.float64)
        if values.shape != (len(names),):
            raise DataError(f"a row has {values.size} values where the model has {len(names)}")
        infinite = np.isinf(values)
        if infinite.any():
            raise DataError(f"the value of {names[int(infinite.argmax())]!r} is infinite")
        standardiser = self._model.preparation.standardiser
        usual = standardiser.center if self._last is None else self._last
        values = np.where(np.isnan(values), usual, values)
        self._last = values
        scaled: NDArray[np.float32] = limit(
            standardiser.apply(values[None]), self._model.input_limit
        )[0]
        return scaled


def _remember(past: NDArray[np.float64], now: Any, rows: int) -> Any:
    """Push ``now`` into ``past`` and give the mean of the newest ``rows`` (at least one)."""
    past[:-1] = past[1:]
    past[-1] = now
    return past[-min(max(rows, 1), len(past)) :].mean(0)


def _as_time(time: Any) -> np.datetime64 | float | None:
    if time is None or isinstance(time, int | float):
        return time
    try:
        return np.datetime64(time, "us")
    except ValueError as error:
        raise DataError(f"cannot read the time {time!r}; give ISO 8601 or a datetime") from error
