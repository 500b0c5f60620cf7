"""The obvious backtest: look at the clock, fit, push rows into a stream one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts import ALoRa


def naive_fits(
    seconds: NDArray[np.float64], *, first: int, rows: int | None, duration: float | None
) -> list[int]:
    """Rows at which a model is fitted, by walking over the rows and looking at the clock."""
    fits = [first]
    next_row = first + (rows or 0)
    next_time = seconds[first] + (duration or 0.0)
    for row in range(first + 1, len(seconds)):
        if rows is not None and row == next_row:
            fits.append(row)
            next_row += rows
        if duration is not None and seconds[row] >= next_time:
            fits.append(row)
            while next_time <= seconds[row]:
                next_time += duration
    return fits


def naive_replay(
    frame: pl.DataFrame, settings: ALoRa, *, fits: list[int], history: int | None
) -> tuple[list[Any], list[int]]:
    """A reading for each row after the first fit, and the round that gave it."""
    variables = [name for name in frame.columns if name != "time"]
    readings: list[Any] = []
    rounds: list[int] = []
    for number, start in enumerate(fits):
        end = fits[number + 1] if number + 1 < len(fits) else len(frame)
        begin = 0 if history is None else max(0, start - history)
        model = settings.clone().fit(frame[begin:start])
        stream = model.stream()
        for row in range(end):
            moment = frame["time"][row] if "time" in frame.columns else None
            reading = stream.push(frame.select(variables).row(row), time=moment)
            if row >= start:
                readings.append(reading)
                rounds.append(number + 1)
    return readings, rounds
