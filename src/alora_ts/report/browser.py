"""Any signal over the whole period, chosen by the reader."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from alora_ts.report.chart import Line, chart
from alora_ts.report.counterfactual import Counterfactual
from alora_ts.report.moments import Clock
from alora_ts.report.overview import incident_bands
from alora_ts.report.sampling import sample_rows
from alora_ts.report.scales import Scale
from alora_ts.report.story import Story

if TYPE_CHECKING:
    from alora_ts.diagnosis.diagnosis import Diagnosis

__all__ = ["signal_browser"]

# All charts together stay below a few megabytes, whatever the number of signals.
_ALL_POINTS = 250_000
_MOST_POINTS = 1500
_MOST_SIGNALS = 250


def signal_browser(
    diagnosis: Diagnosis, stories: Sequence[Story], clock: Clock, judged: Counterfactual
) -> str:
    """Write a choice of signals and, hidden, the chart of each."""
    order = judged.order[:_MOST_SIGNALS].tolist()
    points = int(np.clip(_ALL_POINTS / (2 * len(order)), 200, _MOST_POINTS))
    bands = incident_bands(stories, clock)
    options, charts = [], []
    for column in order:
        name = diagnosis.variables[column]
        actual, expected = diagnosis.values[:, column], judged.expected[:, column]
        lines = [
            Line(said, style, clock.moments[rows], values[rows])
            for said, style, values in (
                ("expected", "expected", expected),
                ("measured", "actual", actual),
            )
            for rows in [sample_rows(values, points=points)]
        ]
        drawn = chart(
            clock=clock,
            low=float(clock.moments[0]),
            high=float(clock.moments[-1]),
            scale=Scale.over(*(line.values for line in lines)),
            lines=lines,
            bands=bands,
            label=f"{name} over the whole period, measured and expected",
            style="tall sync",
        )
        options.append(f'<option value="signal-{column}">{escape(name)}</option>')
        charts.append(f'<template id="signal-{column}">{drawn}</template>')
    return (
        '<div class="browse" hidden><div class="tools"><label for="signal">Signal</label>'
        f'<select id="signal">{"".join(options)}</select>'
        '<span class="hint">most blamed first; follows the zoom of the timeline</span></div>'
        f'<div id="stage"></div>{"".join(charts)}</div>'
    )
