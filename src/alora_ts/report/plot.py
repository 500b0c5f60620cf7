"""A diagnosis as one matplotlib figure."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alora_ts.errors import AloraError, DataError
from alora_ts.metrics.events import runs
from alora_ts.report.counterfactual import counterfactual
from alora_ts.report.moments import number
from alora_ts.report.sampling import sample_rows
from alora_ts.report.story import tell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from alora_ts.diagnosis.diagnosis import Diagnosis

__all__ = ["plot_diagnosis"]

_POINTS = 4000
_SIGNALS = 4
_BLUE, _HOT, _CALM = "#2158c0", "#c02530", "#0a766b"


def plot_diagnosis(diagnosis: Diagnosis, *, incident: int | None = None) -> Figure:
    """Draw the score with its alarm level, and the main culprits against their expectation.

    Parameters
    ----------
    diagnosis : Diagnosis
        What to show.
    incident : int, optional
        Number of an incident, from 0 as in ``diagnosis.incidents``: only its rows and some
        around them are drawn, with its own culprits. By default the whole period is.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot. A notebook shows it; ``figure.savefig`` writes it.

    Raises
    ------
    DataError
        When there is no such incident.
    AloraError
        When matplotlib is not installed.

    Examples
    --------
    >>> from alora_ts import ALoRa, Architecture
    >>> normal = np.random.default_rng(0).standard_normal((200, 3))
    >>> model = ALoRa(window=10, architecture=Architecture(layers=1, heads=1), epochs=1)
    >>> found = model.fit(normal).diagnose(normal)
    >>> plot_diagnosis(found).axes[0].get_title(loc="left")
    'score, in times of the alarm level'
    """
    try:
        import_module("matplotlib.figure")
        from alora_ts.report.figure import ShownFigure
    except ImportError as error:
        raise AloraError(
            "plots need the package matplotlib; install it with: pip install 'alora-ts[plot]'"
        ) from error
    first, after = _shown_rows(diagnosis, incident)
    names = _culprits(diagnosis, incident)
    figure = ShownFigure(figsize=(11, 3.2 + 1.7 * len(names)), layout="constrained")
    grid = figure.subplots(
        1 + len(names), 1, sharex=True, squeeze=False, height_ratios=[1.6] + [1.0] * len(names)
    )
    top, *others = grid[:, 0]
    rows = np.arange(first, after)
    moments = np.arange(len(diagnosis.score))
    if diagnosis.timestamps is not None:
        moments = diagnosis.timestamps
    _draw_score(top, diagnosis, rows, moments)
    expected: NDArray[np.floating]
    if incident is not None:
        expected = diagnosis.implied(diagnosis.incidents[incident], first, after)
    else:
        expected = counterfactual(diagnosis).expected
    for axes, name in zip(others, names, strict=True):
        _draw_signal(axes, diagnosis, rows, moments, name, expected=expected)
    for axes in grid[:, 0]:
        _shade(axes, diagnosis, rows, moments)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0)
    if diagnosis.timestamps is None:
        grid[-1, 0].set_xlabel("row")
    return figure


def _shown_rows(diagnosis: Diagnosis, incident: int | None) -> tuple[int, int]:
    if incident is None:
        return 0, len(diagnosis.score)
    count = len(diagnosis.incidents)
    if not 0 <= incident < count:
        known = f"choose 0 to {count - 1}" if count else "the diagnosis has none"
        raise DataError(f"there is no incident {incident}; {known}")
    from alora_ts.report.incident_section import stretch_around

    return stretch_around(diagnosis, tell(diagnosis)[incident])


def _culprits(diagnosis: Diagnosis, incident: int | None) -> list[str]:
    """The main culprits of one incident, or the first ones of the worst incidents."""
    if incident is not None:
        return [c.variable for c in diagnosis.incidents[incident].culprits[:_SIGNALS]]
    worst = sorted(diagnosis.incidents, key=lambda found: -found.score)
    names = dict.fromkeys(found.culprits[0].variable for found in worst)
    return list(names)[:_SIGNALS]


def _draw_score(
    axes: Axes, diagnosis: Diagnosis, rows: NDArray[np.int64], moments: NDArray[Any]
) -> None:
    score = np.where(diagnosis.warm_up, 0.0, diagnosis.score)[rows]
    kept = sample_rows(score, points=_POINTS)
    axes.plot(moments[rows][kept], score[kept], color=_BLUE, linewidth=1.0, label="score")
    axes.axhline(1.0, color=_HOT, linestyle="--", linewidth=1.0, label="alarm level")
    top = float(score.max())
    if top > 4:
        # Both a score of 0.5 and one of 500 must be seen.
        axes.set_yscale("function", functions=(_bend, _unbend))
        ticks = [t for t in (0, 1, 3, 10, 30, 100, 300, 1000, 1e4, 1e5) if t <= top]
        axes.set_yticks(ticks, [number(tick) for tick in ticks])
    axes.set_ylim(0, max(1.5, 1.1 * top))
    axes.set_title("score, in times of the alarm level", loc="left", fontsize=10)


def _bend(values: NDArray[np.float64]) -> NDArray[np.float64]:
    bent: NDArray[np.float64] = np.log2(1 + np.maximum(values, 0))
    return bent


def _unbend(values: NDArray[np.float64]) -> NDArray[np.float64]:
    straight: NDArray[np.float64] = np.exp2(values) - 1
    return straight


def _draw_signal(
    axes: Axes,
    diagnosis: Diagnosis,
    rows: NDArray[np.int64],
    moments: NDArray[Any],
    name: str,
    *,
    expected: NDArray[np.floating],
) -> None:
    column = diagnosis.variables.index(name)
    for label, values, color, style in (
        ("measured", diagnosis.values[rows, column], _BLUE, "-"),
        ("expected", expected[:, column], _CALM, "--"),
    ):
        kept = sample_rows(values, points=_POINTS)
        look: dict[str, Any] = {"color": color, "linestyle": style, "linewidth": 1.0}
        axes.plot(moments[rows][kept], values[kept], label=label, **look)
    axes.set_title(name, loc="left", fontsize=10)
    axes.legend(loc="upper right", fontsize=8, frameon=False, ncols=2)


def _shade(
    axes: Axes, diagnosis: Diagnosis, rows: NDArray[np.int64], moments: NDArray[Any]
) -> None:
    for found in diagnosis.incidents:
        first, last = max(found.start, int(rows[0])), min(found.end - 1, int(rows[-1]))
        if first <= last:
            axes.axvspan(moments[first], moments[last], color=_HOT, alpha=0.12, linewidth=0)
    if diagnosis.labels is not None:
        starts, ends = runs(diagnosis.labels[rows])
        for start, end in zip(starts + rows[0], ends + rows[0] - 1, strict=True):
            # A strip along the top: what was marked, apart from what was found.
            axes.axvspan(moments[start], moments[end], 0.96, 1.0, color=_CALM, linewidth=0)
