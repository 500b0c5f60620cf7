"""A file of scores with labels, as `alora-ts evaluate` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Scores", "read_scores"]

_ALARMS = "is_anomaly"


@dataclass(frozen=True)
class Scores:
    """What was read.

    Attributes
    ----------
    label, score : ndarray of shape (n,)
    alarm : ndarray of shape (n,) or None
    seconds_per_row : float or None
        The median time between rows; None without a column of times.
    said : tuple of str
        What was found without being asked for.
    """

    label: NDArray[Any]
    score: NDArray[np.float64]
    alarm: NDArray[Any] | None
    seconds_per_row: float | None
    said: tuple[str, ...]


def read_scores(path: Path, *, label: str, score: str, alarm: str | None, unless: bool) -> Scores:
    """Read the columns asked for.

    Parameters
    ----------
    path : Path
        CSV or Parquet.
    label, score : str
    alarm : str or None
        By default the alarms that `alora-ts detect` writes, if they are there.
    unless : bool
        Whether alarms follow from a threshold, so that none are read.

    Raises
    ------
    DataError
        When file or columns cannot be used; the message says where.
    """
    import polars as pl

    from alora_ts.errors import DataError, nearest

    if not path.is_file():
        raise DataError(f"cannot read {path}: there is no such file")
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".parquet"}:
        raise DataError(f"cannot read {path}: its name must end in .csv or .parquet")
    said = []
    try:
        table = (
            pl.scan_csv(path, try_parse_dates=True) if suffix == ".csv" else pl.scan_parquet(path)
        )
        schema = table.collect_schema()
        known = schema.names()
        for name in (label, score, *([alarm] if alarm else [])):
            if name not in known:
                hint = {
                    score: f"; `alora-ts detect MODEL {path} -o FILE` writes scores",
                    label: "; `alora-ts detect --label` writes the label beside the scores",
                }
                raise DataError(
                    f"{path} has no column {name!r}{nearest(name, known)}{hint.get(name, '')}"
                )
        _refuse_own_alarms(table, path, label, score, known)
        if alarm is None and not unless and _ALARMS in known and label != _ALARMS:
            alarm = _ALARMS
            said.append(f"Alarms: column {_ALARMS}.")
        clock = next((name for name, kind in schema.items() if kind.is_temporal()), None)
        wanted = dict.fromkeys([label, score, *filter(None, (alarm, clock))])
        found = table.select(*wanted).collect()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"cannot read {path}: {error}") from error
    for name in filter(None, (label, score, alarm)):
        _refuse_unusable(found[name], path)
    seconds = None if clock is None else _step(found[clock])
    if seconds is not None:
        said.append(f"A row every {seconds:g} s: column {clock}.")
    return Scores(
        found[label].to_numpy(),
        found[score].cast(pl.Float64).to_numpy(),
        None if alarm is None else found[alarm].to_numpy(),
        seconds,
        tuple(said),
    )


def _refuse_unusable(column: pl.Series, path: Path) -> None:
    import polars as pl

    from alora_ts.errors import DataError

    name = column.name
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise DataError(
            f"{path}, column {name!r} must be numbers, but its type is {column.dtype}; "
            f"write it as numbers"
        )
    missing = column.is_null().arg_true()
    if len(missing):
        raise DataError(
            f"{path}, column {name!r} has no value in row {missing[0]} ({len(missing)} such "
            f"rows, counting from 0 below the header); fill them or drop these rows"
        )


def _step(times: pl.Series) -> float | None:
    """The median time between rows, in seconds; None where it is not one."""
    import polars as pl

    if not isinstance(times.dtype, pl.Datetime):
        return None
    passed = times.diff().drop_nulls().dt.total_microseconds()
    middle = passed.median() if len(passed) else None
    return middle / 1e6 if isinstance(middle, float) and middle > 0 else None


def _refuse_own_alarms(
    table: pl.LazyFrame, path: Path, label: str, score: str, known: list[str]
) -> None:
    """Refuse a label that is the alarms of the same file: every metric would be perfect."""
    import polars as pl

    from alora_ts.errors import DataError

    if _ALARMS not in known:
        return
    names = dict.fromkeys([label, _ALARMS, score, *(["warm_up"] if "warm_up" in known else [])])
    rows = table.select(*names).collect()
    if rows[label].dtype != pl.Boolean and not rows[label].dtype.is_numeric():
        return
    alarms, marks = rows[_ALARMS].cast(pl.Float64), rows[label].cast(pl.Float64)
    if not alarms.equals(marks.alias(_ALARMS)) or not rows[score].dtype.is_numeric():
        return
    above = rows[score] > 1
    if "warm_up" in rows.columns:
        above &= ~rows["warm_up"].cast(pl.Boolean)
    inside = above & (marks > 0)
    # An alarm may last while the score is a little below 1; it never misses a score above.
    if above.any() and inside.sum() == above.sum() and 2 * inside.sum() >= (marks > 0).sum():
        raise DataError(
            f"{path}: the column {label!r} holds the alarms of this file, not the truth, so every "
            "metric would be perfect; name a column with labels of your own (detect --label "
            "writes it along)"
        )
