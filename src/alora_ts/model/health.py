"""What should make a reader doubt a fit or a diagnosis, in words.

Each check gives one sentence with its remedy, or nothing. They judge what is already computed, so
they cost nothing beside the work they follow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from alora_ts.data import Table
from alora_ts.data.frames import listed
from alora_ts.data.labels import named_like_label
from alora_ts.data.report import tell_moment
from alora_ts.data.ticks import median_step
from alora_ts.diagnosis import Diagnosis
from alora_ts.model.fitted import FittedModel
from alora_ts.scoring import Calibration

__all__ = ["check_diagnosis", "check_fit"]

_LEAST_SHARE = 1e-9
_ALARMING = 0.3  # share of the judged rows that is no alarm any more but a change
_TIMES_ALLOWED = 5
_UNJUDGED = 0.5
_LEFT_SHARE = 0.2  # of the rows, at the end of a table
_MARGIN = 0.1  # of a variable's range in training
_SHOWN = 3


def check_fit(model: FittedModel, table: Table) -> tuple[str, ...]:
    """What to know about a fit, given the training rows."""
    return tuple(_fit_findings(model, table))


def _fit_findings(model: FittedModel, table: Table) -> Iterator[str]:
    fitted = model.preparation.fitted
    names, scaler = fitted.variables, fitted.standardiser
    truths = [name for name in names if named_like_label(name)] if fitted.named else []
    if truths:
        yield (
            f"{listed(truths)} {'are' if len(truths) > 1 else 'is'} named like a label and was "
            f"learned as a signal; keep it out with label={truths[0]!r} (--label {truths[0]}) or "
            "ignore= (--ignore)"
        )
    flags = [
        names[at]
        for at in scaler.constant
        if scaler.center[at] in (0.0, 1.0) and names[at] not in truths
    ]
    if len(scaler.constant) == len(names):
        yield (
            "every column is constant in training: there is nothing to learn, and any change will "
            "alarm; give rows in which the signals move"
        )
    elif flags and fitted.named:
        yield (
            f"{listed(flags)} {'are' if len(flags) > 1 else 'is'} always 0 or 1 in training; if "
            "that is a label, name it with label= (--label) or leave it out with ignore= (--ignore)"
        )
    if table.label is not None and table.label.any():
        yield (
            f"{int(table.label.sum()):,} of {len(table):,} training rows are marked as anomalous "
            f"by {table.label_name!r}; a fault in training counts as normal, so leave them out"
        )
    yield from _level_findings(model.calibration)


def _level_findings(calibration: Calibration) -> Iterator[str]:
    """Whether the held-back rows are enough for the level that was asked for."""
    held_back, level = calibration.held_back_rows, calibration.threshold
    # One incident (a budget), or one alarming row (a share), in so many rows.
    each = level.each if level.each is not None else 1 / max(level.share, _LEAST_SHARE)
    if held_back >= each:
        return
    what = "a false incident" if level.each is not None else "an alarming row"
    yield (
        f"only {held_back:,} rows are held back to choose a level with {what} in {each:,.0f} "
        "normal ones, so the level is a guess; give more training rows "
        f"(some {int(np.ceil(each)):,} held back) or allow more alarms"
    )


def check_diagnosis(model: FittedModel, found: Diagnosis) -> tuple[str, ...]:
    """What to know about a diagnosis."""
    judged, rows = found.judged, len(found)
    if not judged:
        return (f"nothing could be judged: {_why_unjudged(model, found)}",)
    said = list[str]()
    if judged < _UNJUDGED * rows:
        said.append(
            f"only {judged:,} of {rows:,} rows could be judged; the others lie within "
            f"{model.window - 1} rows of a start or a gap"
        )
    share = found.alarm.sum() / judged
    if share > max(_ALARMING, _TIMES_ALLOWED * model.calibration.threshold.share):
        said.append(
            f"{share:.0%} of the judged rows alarm: the system is not what training showed; check "
            "the columns and their units, or fit on rows like these"
        )
    return (*said, *_left_range(model, found))


def _why_unjudged(model: FittedModel, found: Diagnosis) -> str:
    """Why no row has a full window behind it."""
    fitted, told, window = model.preparation.fitted, found.preparation, model.window
    if told.prepared_rows < window:
        return f"there are {told.prepared_rows:,} rows, and a window needs {window}; give more rows"
    step = median_step(found.table)
    if step is not None and fitted.gap is not None and fitted.step and step > fitted.gap:
        return (
            f"rows are {step:g} apart, in training they were {fitted.step:g}, and more than "
            f"{fitted.gap:g} counts as a gap that no window crosses; give rows at the training's "
            f"step, or fit a model with resample={step:g} (fit --resample {step:g})"
        )
    return (
        f"gaps split the rows into {told.segments:,} stretches, each shorter than a window of "
        f"{window}; give rows without gaps, or fit a model with a larger gap or a smaller window "
        "(fit --gap, --window)"
    )


def _left_range(model: FittedModel, found: Diagnosis) -> list[str]:
    """Variables that are outside of their training range until the end of the table."""
    # Training's ranges are those of rows less what repeats.
    fitted, (observed, _) = model.preparation.fitted, found.acyclic(slice(None))
    if fitted.low is None or fitted.high is None:
        return []
    margin = _MARGIN * (fitted.high - fitted.low)
    # Values went through the scaler and back, which rounds.
    margin = np.maximum(margin, 1e-5 * np.maximum(np.abs(fitted.low), np.abs(fitted.high)))
    above, below = observed > fitted.high + margin, observed < fitted.low - margin
    inside = ~(above | below)
    # How many rows at the end are outside, for each variable.
    since = np.where(inside.any(0), np.argmax(inside[::-1], axis=0), len(observed))
    gone = np.flatnonzero(since >= max(model.window, _LEFT_SHARE * len(observed)))
    usual = "" if model.cycle is None else f", the course of a {model.cycle.name} taken off"
    said = list[str]()
    for at in gone[:_SHOWN]:
        first = len(observed) - int(since[at])
        when = tell_moment(first if found.timestamps is None else found.timestamps[first])
        said.append(
            f"{fitted.variables[at]!r} has been {'above' if above[-1, at] else 'below'} its "
            f"training range ({fitted.low[at]:.4g} to {fitted.high[at]:.4g}{usual}) since {when}: "
            "training does not cover this"
        )
    if len(gone) > _SHOWN:
        said.append(f"so have {len(gone) - _SHOWN} other variables left their training range")
    return said
