"""A simulated series with the whole truth about its faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts.datasets.synthetic_faults import Disturbance
from alora_ts.datasets.synthetic_simulate import Simulator, usual_spread
from alora_ts.datasets.synthetic_system import Edge, System
from alora_ts.datasets.synthetic_truth import Fault, TruthKeeper
from alora_ts.errors import DataError

__all__ = ["FIRST_MINUTE", "SyntheticDataset", "check_faults", "clock", "simulate"]

FIRST_MINUTE = np.datetime64("2026-01-05T00:00", "us")


def clock(first: int, rows: int) -> NDArray[np.datetime64]:
    """One timestamp per minute, counted from :data:`FIRST_MINUTE`.

    Examples
    --------
    >>> clock(1, 2).astype("datetime64[m]").astype(str).tolist()
    ['2026-01-05T00:01', '2026-01-05T00:02']
    """
    minutes = np.arange(first, first + rows) * np.timedelta64(1, "m")
    stamps: NDArray[np.datetime64] = FIRST_MINUTE + minutes
    return stamps


@dataclass(frozen=True, eq=False)
class SyntheticDataset:
    """Train and test rows of a simulated system, with its faults.

    Attributes
    ----------
    name : str
        The preset.
    train : ndarray of shape (N, d), float32
        Healthy readings in the signals' units.
    test : ndarray of shape (M, d), float32
        The rows that follow, with faults.
    label : ndarray of shape (M,), bool
        True while a fault is active or some signal has not yet recovered from one.
    faults : tuple of Fault
        In order of time.
    variables : tuple of str
        Names of the d signals.
    train_timestamps, test_timestamps : ndarray of datetime64[us]
        One row a minute.
    system : System
        What was simulated.
    affected : ndarray of shape (M, d), bool
        See :meth:`affected_truth`.
    """

    name: str
    train: NDArray[np.float32]
    test: NDArray[np.float32]
    label: NDArray[np.bool_]
    faults: tuple[Fault, ...]
    variables: tuple[str, ...]
    train_timestamps: NDArray[np.datetime64]
    test_timestamps: NDArray[np.datetime64]
    system: System
    affected: NDArray[np.bool_]

    @property
    def graph(self) -> tuple[Edge, ...]:
        """The causal edges with their lags; ``system.adjacency()`` has them as a matrix."""
        return self.system.edges

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Train and test rows as tables with their times and the signals' names.

        Examples
        --------
        >>> from alora_ts.datasets.synthetic import make
        >>> normal, today = make("bivariate").frames()
        >>> today.columns, len(today)
        (['time', 'x1', 'x2'], 500)
        """
        train, test = (
            pl.DataFrame({"time": times, **dict(zip(self.variables, rows.T, strict=True))})
            for times, rows in (
                (self.train_timestamps, self.train),
                (self.test_timestamps, self.test),
            )
        )
        return train, test

    def origin_truth(self) -> NDArray[np.bool_]:
        """Return the (M, d) matrix that is True for the origin of each fault until recovery.

        A fault counts as the cause until the next one starts.

        Examples
        --------
        >>> from alora_ts.datasets.synthetic import make
        >>> data = make("bivariate")
        >>> np.flatnonzero(data.origin_truth()[:, 0])[[0, -1]].tolist()
        [200, 299]
        """
        truth = np.zeros(self.affected.shape, dtype=np.bool_)
        for fault in self.faults:
            truth[fault.start : fault.recovered, fault.origin] = True
        return truth

    def affected_truth(self) -> NDArray[np.bool_]:
        """Return the (M, d) matrix that is True where a signal is off its healthy course.

        The course is that of the same system with the same noise and no fault; off means by
        more than half of the signal's usual standard deviation. The origin counts as affected
        as long as its fault is active.
        """
        return self.affected.copy()


def check_faults(disturbances: Sequence[Disturbance], *, rows: int) -> None:
    """Refuse faults that do not end within the test rows.

    Examples
    --------
    >>> check_faults([Disturbance("leak", "tank1_level", 10, 20)], rows=15)
    Traceback (most recent call last):
    alora_ts.errors.DataError: the leak fault in tank1_level ends at row 20, after the 15 test ...
    """
    for fault in disturbances:
        if fault.end > rows:
            raise DataError(
                f"the {fault.kind} fault in {fault.origin} ends at row {fault.end}, after the "
                f"{rows} test rows; end it earlier or ask for more rows"
            )


def simulate(
    system: System,
    disturbances: Sequence[Disturbance] = (),
    *,
    train_rows: int,
    test_rows: int,
    seed: int = 0,
    name: str = "own",
) -> SyntheticDataset:
    """Run a system: first healthy, then with faults.

    Parameters
    ----------
    system : System
        What is simulated.
    disturbances : sequence of Disturbance
        Faults in test rows, not overlapping.
    train_rows, test_rows : int
        How many rows of each.
    seed : int
        Of all random draws.
    name : str
        Kept in the result.

    Returns
    -------
    SyntheticDataset
        The readings and the truth.

    Examples
    --------
    >>> from alora_ts.datasets.synthetic_plant import plant_system
    >>> leak = Disturbance("leak", "tank1_level", start=50, end=120)
    >>> data = simulate(plant_system(), [leak], train_rows=300, test_rows=200)
    >>> fault = data.faults[0]
    >>> [data.variables[column] for column in fault.affected]
    ['valve1_position', 'pump1_flow', 'pump1_power', 'tank1_level', 'tank2_level']
    """
    if train_rows < 1 or test_rows < 1:
        raise DataError(
            f"train_rows and test_rows must be at least 1, not {train_rows} and {test_rows}"
        )
    check_faults(disturbances, rows=test_rows)
    spread = usual_spread(system)
    run = Simulator(
        system, seed=seed, spread=spread, disturbances=disturbances, fault_row=train_rows
    )
    train, _ = run.advance(train_rows)
    healthy, actual = run.advance(test_rows)
    keeper = TruthKeeper(system, disturbances, spread=spread)
    label, affected = keeper.take(healthy, actual, run.origins(train_rows, test_rows))
    return SyntheticDataset(
        name=name,
        train=train.astype(np.float32),
        test=actual.astype(np.float32),
        label=label,
        faults=keeper.faults(),
        variables=system.variables,
        train_timestamps=clock(0, train_rows),
        test_timestamps=clock(train_rows, test_rows),
        system=system,
        affected=affected,
    )
