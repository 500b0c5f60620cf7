"""KMeansAD: the distance of a window to the nearest of a few typical ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from alora_ts.baselines.detector import Detector, Presets
from alora_ts.baselines.inputs import Rows, Scaling
from alora_ts.baselines.windowed import plan_strided
from alora_ts.data.windows import WindowPlan
from alora_ts.errors import AloraError
from alora_ts.progress import Report, Step

__all__ = ["KMeansAD"]

_SCORED_AT_ONCE = 256


@dataclass(kw_only=True, eq=False)
class KMeansAD(Detector):
    """Sliding windows, k-means, distance to the nearest centre, averaged back to rows.

    Parameters
    ----------
    window : int
        Rows of a window; one ends at every row.
    clusters : int
        k; fewer where there are fewer training windows.
    max_train_windows : int
        At most so many windows, evenly spaced, are clustered.
    seed : int
        Of the first centres.

    Notes
    -----
    Yairi et al., 2001, in the form of TSB-AD (Liu and Paparrizos, NeurIPS 2024), whose defaults
    for multivariate series these are. A window is all its cells in one row, in the units of the
    table, brought to mean 0 and standard deviation 1 *by itself*: what counts is its shape, and
    variables of large units count most. TSB-AD clusters the very series it scores; here the
    training rows are clustered.

    Examples
    --------
    >>> wave = np.sin(np.arange(400.0) * np.pi / 10)[:, None]
    >>> broken = wave[:200].copy()
    >>> broken[100:110] = 0.9
    >>> detector = KMeansAD(window=10, clusters=20).fit(wave)
    >>> bool(95 <= detector.score(broken).argmax() < 115)
    True
    """

    window: int = 40
    clusters: int = 10
    max_train_windows: int = 20_000
    seed: int = field(default=0, metadata={"least": 0})

    scaling: ClassVar[Scaling] = Scaling(own_units=True)
    presets: ClassVar[Presets] = {"paper": {}, "cpu": {"max_train_windows": 5_000}}

    def _fit(self, rows: Rows, report: Report) -> None:
        try:
            from sklearn.cluster import KMeans
            from sklearn.exceptions import ConvergenceWarning
        except ModuleNotFoundError as error:
            raise AloraError(
                f"KMeansAD needs the package {error.name!r}, which is not installed; "
                'pip install "alora-ts[bench]"'
            ) from error
        report(Step("fitting", 0, 1))
        plan = plan_strided(rows, self.window)
        count = min(len(plan.ends), self.max_train_windows)
        chosen = np.linspace(0, len(plan.ends) - 1, count).astype(np.intp)
        windows = _shapes(plan, rows, chosen)
        model = KMeans(min(self.clusters, count), n_init=1, random_state=self.seed)
        with warnings.catch_warnings():
            # Fewer different windows than clusters: some centres coincide, which does no harm.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.centres_: NDArray[np.float64] = model.fit(windows).cluster_centers_
        report(Step("fitting", 1, 1))

    def _score(self, rows: Rows, report: Report) -> NDArray[Any]:
        plan = plan_strided(rows, self.window)
        far = np.empty(len(plan.ends))
        for start in range(0, len(far), _SCORED_AT_ONCE):
            part = np.arange(start, min(start + _SCORED_AT_ONCE, len(far)))
            far[part] = cdist(_shapes(plan, rows, part), self.centres_).min(axis=1)
            report(Step("scoring", int(part[-1]) + 1, len(far)))
        return _means_of_rows(plan, far, len(rows))

    def _least_rows(self) -> int:
        return self.window


def _shapes(plan: WindowPlan, rows: Rows, which: NDArray[np.intp]) -> NDArray[np.float64]:
    """Windows as rows of mean 0 and standard deviation 1 (n − 1); zeros where nothing moves."""
    flat = plan.gather(rows.values, which).reshape(len(which), -1).astype(np.float64)
    moving = flat.max(axis=1, keepdims=True) > flat.min(axis=1, keepdims=True)
    flat -= flat.mean(axis=1, keepdims=True)
    spread = np.sqrt((flat**2).sum(axis=1, keepdims=True) / max(flat.shape[1] - 1, 1))
    shapes: NDArray[np.float64] = np.divide(flat, spread, out=np.zeros_like(flat), where=moving)
    return shapes


def _means_of_rows(plan: WindowPlan, values: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """The mean of the values of all windows that hold a row."""
    total, count = np.zeros(rows), np.zeros(rows)
    for back in range(plan.window):
        # No two windows of a plan end at one row, so that no row stands twice in one pass.
        inside = plan.ends - back >= plan.starts
        at = plan.ends[inside] - back
        total[at] += values[inside]
        count[at] += 1
    return total / count
