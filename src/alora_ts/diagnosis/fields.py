"""What an incident says, described once: JSON, tables, messages and pages are made from this list.

To give incidents a new field, add it to :class:`~alora_ts.diagnosis.incident.Incident`, let
:class:`~alora_ts.diagnosis.stretch.Stretch` work it out, and describe it in :data:`FIELDS`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alora_ts.data import Table
from alora_ts.data.record import Kind
from alora_ts.diagnosis.incident import DIFFUSE, STANDS_OUT, Incident
from alora_ts.diagnosis.repeats import pattern_key

__all__ = ["FIELDS", "Fact", "Field", "describe", "facts", "incidents_frame", "plain_moment"]

_SPREAD = 5


_TOLD = 3

_AUDIBLE = 0.2
"""Share of the evidence from which on a witness is named; of three the strongest always has it."""


@dataclass(frozen=True)
class Fact:
    """One thing to tell people about an incident.

    Attributes
    ----------
    label, text : str
        As in "likely origin: valve (70 %)".
    note : str
        How to take it, where there is room to say so.
    """

    label: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class Field:
    """One field of an incident.

    Attributes
    ----------
    name : str
        In JSON and in tables.
    type : type
        Of its value in JSON.
    value : callable
        Gives it, from the incident.
    moment : bool
        Whether the value is a time.
    moments : tuple of str
        Which parts of the value (a dict, or a list of them) are times.
    cell : callable or None
        Makes the cell of a table from the JSON value; None leaves the field out of tables.
    fact : callable or None
        Tells people, from the JSON value (never null), or nothing where it is as usual; None where
        every page and message has its own way to show the field.
    """

    name: str
    type: Any
    value: Callable[[Incident], Any]
    moment: bool = False
    moments: tuple[str, ...] = ()
    cell: Callable[[Any], Any] | None = lambda value: math.nan if value is None else value
    fact: Callable[[Any], Fact | None] | None = None


def _origin_fact(origin: Mapping[str, Any]) -> Fact:
    certainty = float(origin["certainty"])
    percent = min(round(100 * certainty), 99)  # nothing is ever quite certain
    named = f"{origin['variable']} {percent} %"
    if certainty > STANDS_OUT:
        return Fact("likely origin", f"{origin['variable']} ({percent} % certain)")
    return Fact("likely origin", f"not clear ({named})", "Look at the culprits and their order.")


def _spoken(time: Any) -> str:
    """A time in JSON as people write it."""
    return str(time).replace("T", " ").removesuffix("Z").removesuffix(".000000")


def _onset_fact(onset: Mapping[str, Any]) -> Fact:
    text = f"{onset['variable']}, {onset['direction']} normal from {_spoken(onset['time'])}"
    earliest = onset["earliest"]
    if earliest is None:
        return Fact("onset", f"{text} or before", "It was so in the first row looked at.")
    if earliest == onset["time"]:
        return Fact("onset", text)
    return Fact("onset", text, f"It may have begun as early as {_spoken(earliest)}.")


def _spread_fact(spread: Sequence[Mapping[str, Any]]) -> Fact | None:
    if len(spread) < 2:
        return None
    shown = [f"{one['variable']} ({_spoken(one['time'])})" for one in spread[:_SPREAD]]
    more = f" and {len(spread) - _SPREAD} more" if len(spread) > _SPREAD else ""
    return Fact("spread", " → ".join(shown) + more)


def _culprits_fact(culprits: Sequence[Mapping[str, Any]]) -> Fact | None:
    if culprits and all(float(one["share"]) < DIFFUSE for one in culprits):
        return Fact("strongest", "diffuse, no clear culprit", "Many signals deviate a little.")
    return None


def _witnesses_fact(witnesses: Sequence[Mapping[str, Any]]) -> Fact:
    """Those with much of the evidence; of the others, those without whom nobody would be called."""
    tipped = [one for one in witnesses[1:] if one["decisive"]]
    heard = [one for one in witnesses if float(one["share"]) >= _AUDIBLE or one in tipped]
    said = [f"{one['text']} ({100 * float(one['share']):.0f} %)" for one in heard]
    named = " or the ".join(str(one["name"]) for one in tipped)
    note = f"Without the {named} it would not have alarmed." if tipped else ""
    return Fact("seen by", "; ".join(said), note)


def _change(incident: Incident) -> str:
    """Which signals, and how much; since when is told beside it."""
    return ", ".join(
        f"{one.variable} {one.direction} by {abs(one.value - one.expected):.3g}"
        for one in incident.culprits[:_TOLD]
    )


def _ending_fact(ending: str) -> Fact | None:
    if ending == "another":
        return Fact("ended", "it gave way to another incident")
    if ending != "gap":
        return None
    note = "What came after the gap says nothing about how it went on."
    return Fact("ended", "the data stopped while it was going on", note)


FIELDS: tuple[Field, ...] = (
    Field("start", str | float, lambda one: one.start_time, moment=True),
    Field("end", str | float, lambda one: one.end_time, moment=True),
    Field("rows", int, lambda one: one.rows),
    Field("peak_time", str | float, lambda one: one.peak_time, moment=True, cell=None),
    Field("score", float, lambda one: one.score),
    Field("severity", str, lambda one: one.severity),
    Field(
        "returns",
        dict[str, Any] | None,
        lambda one: (
            None
            if one.returns is None
            else {**dataclasses.asdict(one.returns), "text": str(one.returns)}
        ),
        cell=lambda returns: returns["rows"] if returns else math.nan,
        fact=lambda returns: Fact("normal operation shows this", returns["text"]),
    ),
    Field(
        "witnesses",
        list[dict[str, Any]] | None,
        lambda one: [dataclasses.asdict(witness) for witness in one.witnesses] or None,
        cell=lambda witnesses: witnesses[0]["name"] if witnesses else "",
        fact=_witnesses_fact,
    ),
    Field(
        "changed",
        str | None,
        lambda one: _change(one) if one.changed else None,
        cell=lambda text: text or "",
        fact=lambda text: Fact(
            "the system has changed",
            text,
            "Later rows are judged by what is usual now. If that is meant, fit the model again; "
            "if it is a fault, it no longer alarms.",
        ),
    ),
    Field(
        "onset",
        dict[str, Any] | None,
        lambda one: None if one.onset is None else dataclasses.asdict(one.onset),
        moments=("time", "earliest"),
        cell=lambda onset: onset["variable"] if onset else "",
        fact=_onset_fact,
    ),
    Field(
        "origin",
        dict[str, Any] | None,
        lambda one: None if one.origin is None else dataclasses.asdict(one.origin),
        cell=lambda origin: origin["variable"] if origin else "",
        fact=_origin_fact,
    ),
    Field(
        "ending", str | None, lambda one: one.ending, cell=lambda how: how or "", fact=_ending_fact
    ),
    Field(
        "culprits",
        list[dict[str, Any]],
        lambda one: [dataclasses.asdict(culprit) for culprit in one.culprits],
        cell=None,  # a table has a row for each
        fact=_culprits_fact,
    ),
    Field(
        "spread",
        list[dict[str, Any]] | None,
        lambda one: [dataclasses.asdict(arrival) for arrival in one.spread],
        moments=("time", "earliest"),
        cell=None,
        fact=_spread_fact,
    ),
    Field("aside", list[str] | None, lambda one: list(one.aside), cell=None),
    # The same for all incidents of a pattern, to group and to silence them by.
    Field("pattern", str | None, lambda one: pattern_key(one.culprits), cell=None),
)
"""All fields, in the order in which tables show them."""


def describe(incident: Incident, *, moment: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """An incident in a form JSON can hold; numbers that are not finite are null.

    Parameters
    ----------
    incident : Incident
    moment : callable, optional
        Puts a time into JSON; :func:`plain_moment` by default.
    """
    told = plain_moment if moment is None else moment
    described = {}
    for field in FIELDS:
        value = field.value(incident)
        if field.moment:
            described[field.name] = told(value)
        else:
            described[field.name] = _finite(_tell_times(value, field.moments, told))
    return described


def _tell_times(value: Any, names: tuple[str, ...], told: Callable[[Any], Any]) -> Any:
    """The value with those of its parts that are times put into JSON."""
    if not names or value is None:
        return value
    if isinstance(value, list):
        return [_tell_times(part, names, told) for part in value]
    return {
        name: told(part) if name in names and part is not None else part
        for name, part in value.items()
    }


def facts(described: Mapping[str, Any]) -> list[Fact]:
    """What to tell people about a described incident, beside what every page shows.

    Examples
    --------
    >>> [fact] = facts({"origin": {"variable": "valve", "certainty": 0.7}})
    >>> fact.label, fact.text
    ('likely origin', 'valve (70 % certain)')
    >>> facts({"origin": None})
    []
    """
    told = [
        field.fact(described[field.name])
        for field in FIELDS
        if field.fact is not None and described.get(field.name) is not None
    ]
    return [fact for fact in told if fact is not None]


def incidents_frame(incidents: Sequence[Incident], *, kind: Kind) -> Any:
    """One row for each incident and culprit, in the kind of table asked for."""
    rows = [
        (number, describe(incident), place, dataclasses.asdict(culprit))
        for number, incident in enumerate(incidents, start=1)
        for place, culprit in enumerate(incident.culprits, start=1)
    ]
    columns = {"incident": [number for number, *_ in rows]}
    for field in FIELDS:
        if field.cell is not None:
            columns[field.name] = [field.cell(described[field.name]) for _, described, *_ in rows]
    columns["place"] = [place for *_, place, _ in rows]
    for name in ("variable", "share", "direction", "value", "expected"):
        columns[name] = [culprit[name] for *_, culprit in rows]
    # The table's rows are not the incidents: a bare table of the same kind carries them.
    bare = Table(np.zeros((len(rows), 0)), (), kind=kind)
    return bare.frame({name: np.array(values) for name, values in columns.items()})


def plain_moment(moment: Any) -> Any:
    """A timestamp as ISO 8601 text, a number as it is.

    Examples
    --------
    >>> plain_moment(np.datetime64("2026-05-01T12:00", "us")), plain_moment(np.int64(7))
    ('2026-05-01T12:00:00', 7)
    """
    if isinstance(moment, np.datetime64):
        return str(moment.astype("datetime64[us]")).removesuffix(".000000")
    return moment.item() if isinstance(moment, np.generic) else moment


def _finite(value: Any) -> Any:
    """The value with null for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list) else value
