"""Windows for training and scoring: gathered in batches, never unrolled, never across a border."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alora_ts.baselines.inputs import Rows
from alora_ts.data.windows import WindowPlan, segment_starts
from alora_ts.progress import Report, Step

__all__ = ["Windows", "log_product", "plan_padded", "plan_strided", "score_ends", "score_positions"]


def plan_strided(rows: Rows, window: int, stride: int = 1) -> WindowPlan:
    """Plan windows whose ends are ``stride`` rows apart, the last row of each segment included.

    In each segment the first window ends at its row T − 1 and the last at its last row. A row
    belongs to the first window that ends at or after it; with ``stride=1`` that is the window that
    ends at the row, with ``stride=window`` the windows tile the segment, with more they leave rows
    out, which suits training but not scoring.

    Examples
    --------
    >>> from alora_ts.baselines.inputs import InputReader, Scaling
    >>> plan = plan_strided(InputReader(Scaling()).fit(np.arange(8.0)), 3, 3)
    >>> plan.ends, plan.of_row, plan.position()
    (array([2, 5, 7]), array([0, 0, 0, 1, 1, 1, 2, 2]), array([0, 1, 2, 0, 1, 2, 1, 2]))
    """
    count = len(rows)
    age, first = _ages(rows)
    is_end = (age >= window - 1) & ((age - window + 1) % stride == 0)
    is_end[np.r_[np.flatnonzero(age == 0)[1:] - 1, count - 1]] = True
    ends = np.flatnonzero(is_end)
    of_row = np.searchsorted(ends, np.arange(count))
    return WindowPlan(
        window=window,
        ends=ends,
        starts=np.maximum(ends - window + 1, first[ends]),
        of_row=of_row,
        warm_up=age < window - 1,
    )


def plan_padded(rows: Rows, window: int) -> WindowPlan:
    """Plan one window per row that ends at it; near a segment's start its first row is repeated.

    Examples
    --------
    >>> from alora_ts.baselines.inputs import InputReader, Scaling
    >>> rows = InputReader(Scaling()).fit(np.array([1.0, 3.0, 1.0]))
    >>> plan_padded(rows, 3).gather(rows.values, slice(None))[1, :, 0]
    array([-0.70710677, -0.70710677,  1.4142135 ], dtype=float32)
    """
    age, first = _ages(rows)
    ends = np.arange(len(rows))
    return WindowPlan(
        window=window,
        ends=ends,
        starts=np.maximum(ends - window + 1, first),
        of_row=ends,
        warm_up=age < window - 1,
    )


class Windows:
    """Windows of rows, addressed by number and gathered when taken.

    Parameters
    ----------
    rows : Rows
        The rows.
    plan : WindowPlan
        Where the windows lie.
    device : torch.device
        Where batches go.
    chosen : ndarray of int, optional
        Which of the plan's windows; by default all.

    Examples
    --------
    >>> from alora_ts.baselines.inputs import InputReader, Scaling
    >>> rows = InputReader(Scaling()).fit(np.arange(8.0))
    >>> windows = Windows(rows, plan_strided(rows, 3))
    >>> len(windows), windows.take(np.array([0, 5])).shape
    (6, torch.Size([2, 3, 1]))
    """

    def __init__(
        self,
        rows: Rows,
        plan: WindowPlan,
        *,
        device: torch.device | None = None,
        chosen: NDArray[np.intp] | None = None,
    ) -> None:
        self.rows = rows
        self.plan = plan
        self._device = device
        self._chosen = np.arange(len(plan.ends)) if chosen is None else chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def take(self, which: slice | NDArray[np.intp]) -> Tensor:
        """Gather some of the windows, (B, T, d)."""
        gathered = self.plan.gather(self.rows.values, self._chosen[which])
        return torch.from_numpy(gathered).to(self._device)

    def subset(self, which: slice | NDArray[np.intp]) -> Windows:
        """Return some of the windows as another such object."""
        return Windows(self.rows, self.plan, device=self._device, chosen=self._chosen[which])

    def batches(self, size: int) -> Iterator[Tensor]:
        """Gather all windows in order, ``size`` at a time."""
        for start in range(0, len(self), size):
            yield self.take(slice(start, start + size))


Evaluate = Callable[[Tensor], Tensor]


def log_product(log_weights: Tensor, errors: Tensor) -> Tensor:
    """The logarithm of weights times errors, for products that would underflow.

    Parameters
    ----------
    log_weights : Tensor
        Logarithms of the weights.
    errors : Tensor
        Not negative; 0 counts as the smallest normal number.

    Examples
    --------
    >>> far = torch.tensor([-200.0, 0.0])  # exp(-200) is 0 in single precision
    >>> log_product(far, torch.tensor([1.0, 1.0]))
    tensor([-200.,    0.])
    """
    return log_weights + errors.clamp_min(torch.finfo(errors.dtype).tiny).log()


def score_positions(
    windows: Windows, evaluate: Evaluate, *, batch_size: int, report: Report
) -> NDArray[np.float64]:
    """Score each row at its place in the window it belongs to.

    Parameters
    ----------
    windows : Windows
        All windows of a plan that covers every row.
    evaluate : callable
        From (B, T, d) to (B, T) or (B, T, …): a value for every position.
    batch_size : int
        Windows at a time.
    report : callable
        Receives progress.

    Returns
    -------
    ndarray of shape (M,) or (M, …)
    """
    return _score(windows, evaluate, batch_size, report, positions=windows.plan.position())


def score_ends(
    windows: Windows, evaluate: Evaluate, *, batch_size: int, report: Report
) -> NDArray[np.float64]:
    """Score each row by the one value of the window it belongs to.

    As :func:`score_positions`, with ``evaluate`` giving (B,) or (B, …). The first rows of a segment
    take the value of its first window.
    """
    return _score(windows, evaluate, batch_size, report, positions=None)


def _score(
    windows: Windows,
    evaluate: Evaluate,
    batch_size: int,
    report: Report,
    *,
    positions: NDArray[np.intp] | None,
) -> NDArray[np.float64]:
    of_row = windows.plan.of_row
    parts: list[NDArray[np.float64]] = []
    done = 0
    for batch in windows.batches(batch_size):
        values = evaluate(batch).double().cpu().numpy()
        low, high = np.searchsorted(of_row, [done, done + len(batch)])
        own = of_row[low:high] - done
        parts.append(values[own] if positions is None else values[own, positions[low:high]])
        done += len(batch)
        report(Step("scoring", done, len(windows)))
    return np.concatenate(parts)


def _ages(rows: Rows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each row its place in its segment, and the segment's first row."""
    starts = segment_starts(len(rows), rows.segments)
    first = np.repeat(starts, np.diff(np.r_[starts, len(rows)]))
    return np.arange(len(rows)) - first, first
