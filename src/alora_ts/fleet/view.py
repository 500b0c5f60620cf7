"""The whole fleet at a glance: a table, culprits that recur, entities that misbehave together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from alora_ts.diagnosis.alarms import Alarms
from alora_ts.fleet.names import folder_name
from alora_ts.fleet.status import ENTITIES, Status
from alora_ts.fleet.storage import Store
from alora_ts.fleet.together import Company, Stretches, find_company

__all__ = ["EntityView", "FleetView", "Recurring", "Trouble"]


@dataclass(frozen=True)
class Trouble:
    """An incident of an entity.

    Attributes
    ----------
    start, end : str or float
        As in the entity's diagnosis.
    begin, finish : float
        The same as numbers to compare (microseconds since 1970, or as given); half open.
    score : float
        Its peak, in times of the alarm level.
    severity : str
    culprits : tuple of (str, float, str)
        Variable, share and direction, largest share first.
    """

    start: str | float
    end: str | float
    begin: float
    finish: float
    score: float
    severity: str
    culprits: tuple[tuple[str, float, str], ...]


@dataclass(frozen=True)
class EntityView:
    """What is known of an entity.

    Attributes
    ----------
    name : str
    state : {"fitted", "diagnosed", "failed"}
    reason : str or None
        Why it failed.
    score : float or None
        Of its newest row, in times of the alarm level.
    alarm : bool
        Whether that row alarms.
    rows, alarming_rows : int or None
    timed : bool
        Whether its moments are dates (else numbers or rows).
    incidents : tuple of Trouble
        In order of time.
    """

    name: str
    state: str
    reason: str | None = None
    score: float | None = None
    alarm: bool = False
    rows: int | None = None
    alarming_rows: int | None = None
    timed: bool = False
    incidents: tuple[Trouble, ...] = ()

    @classmethod
    def of(cls, name: str, fit: Status | None, detect: Status | None) -> EntityView:
        """Read from the two statuses of an entity."""
        for status in (detect, fit):
            if status is not None and status.state == "failed":
                return cls(name, "failed", status.reason)
        if detect is None:
            return cls(name, "fitted", rows=None if fit is None else fit.facts.get("rows"))
        facts = detect.facts
        return cls(
            name,
            "diagnosed",
            score=facts["score"],
            # Diagnoses of earlier versions did not say.
            alarm=facts["alarm"] if "alarm" in facts else Alarms().push(facts["score"]),
            rows=facts["rows"],
            alarming_rows=facts["alarming_rows"],
            timed=facts["timed"],
            incidents=tuple(_trouble(each, facts["step"]) for each in facts["incidents"]),
        )


@dataclass(frozen=True)
class Recurring:
    """A variable that leads incidents of several entities.

    Attributes
    ----------
    variable : str
    entities : tuple of str
        Entities with an incident it was the first culprit of, sorted.
    incidents : int
        How many incidents that were.
    share : float
        Its mean share in them.
    """

    variable: str
    entities: tuple[str, ...]
    incidents: int
    share: float


@dataclass(frozen=True)
class FleetView:
    """All entities of a fleet, or those of one diagnosis.

    Attributes
    ----------
    entities : tuple of EntityView
        In the order of names.
    """

    entities: tuple[EntityView, ...]

    @classmethod
    def read(cls, store: Store, *, only: Iterable[str] | None = None) -> FleetView:
        """Read the statuses in a fleet's folder; of some entities, or all."""
        folders = store.folders(ENTITIES) if only is None else sorted(map(folder_name, set(only)))
        names = [f"{ENTITIES}/{each}/{what}.json" for each in folders for what in ("fit", "detect")]
        contents = (content for _, content in store.read_all(names))
        found = []
        for fit, detect in zip(contents, contents, strict=True):
            statuses = [None if each is None else Status.from_json(each) for each in (fit, detect)]
            known = next((each for each in statuses[::-1] if each is not None), None)
            if known is not None:
                found.append(EntityView.of(known.entity, *statuses))
        return cls(tuple(sorted(found, key=lambda entity: entity.name)))

    def __len__(self) -> int:
        return len(self.entities)

    @property
    def failed(self) -> tuple[EntityView, ...]:
        """Entities that could not be fitted or diagnosed."""
        return tuple(entity for entity in self.entities if entity.state == "failed")

    @property
    def recurring(self) -> tuple[Recurring, ...]:
        """Variables that led an incident in more than one entity, most entities first."""
        led: dict[str, list[tuple[str, float]]] = {}
        for entity in self.entities:
            for incident in entity.incidents:
                for variable, share, _ in incident.culprits[:1]:
                    led.setdefault(variable, []).append((entity.name, share))
        found = [
            Recurring(
                variable,
                tuple(sorted({name for name, _ in cases})),
                len(cases),
                float(np.mean([share for _, share in cases])),
            )
            for variable, cases in led.items()
        ]
        several = [each for each in found if len(each.entities) > 1]
        several.sort(key=lambda each: (-len(each.entities), -each.incidents, each.variable))
        return tuple(several)

    @cached_property
    def together(self) -> tuple[Company, ...]:
        """Groups of entities whose incidents overlap in time; first those with most at once."""
        found: list[Company] = []
        for timed in (True, False):
            stretches = {
                entity.name: [(each.begin, each.finish) for each in entity.incidents]
                for entity in self.entities
                if entity.timed == timed and entity.incidents
            }
            found += find_company(Stretches.of(stretches), timed=timed)
        found.sort(key=lambda company: (-company.at_once, company.entities))
        return tuple(found)

    def to_frame(self) -> pl.DataFrame:
        """One row for each entity."""
        last = [entity.incidents[-1] if entity.incidents else None for entity in self.entities]
        columns: dict[str, list[Any]] = {
            "entity": [entity.name for entity in self.entities],
            "state": [entity.state for entity in self.entities],
            "score": [entity.score for entity in self.entities],
            "rows": [entity.rows for entity in self.entities],
            "alarming_rows": [entity.alarming_rows for entity in self.entities],
            "incidents": [
                len(entity.incidents) if entity.state == "diagnosed" else None
                for entity in self.entities
            ],
            "highest": [
                max((each.score for each in entity.incidents), default=None)
                for entity in self.entities
            ],
            "last_start": [None if each is None else str(each.start) for each in last],
            "last_end": [None if each is None else str(each.end) for each in last],
            "culprits": [", ".join(leading_culprits(entity)) for entity in self.entities],
            "reason": [entity.reason for entity in self.entities],
        }
        kinds: dict[str, Any] = dict.fromkeys(columns, pl.String)
        kinds |= {"score": pl.Float64, "highest": pl.Float64}
        kinds |= dict.fromkeys(("rows", "alarming_rows", "incidents"), pl.Int64)
        return pl.DataFrame(columns, schema=kinds)

    def page(self, path: str | os.PathLike[str], *, title: str = "Fleet") -> Path:
        """Write the fleet as one HTML page that opens anywhere."""
        from alora_ts.fleet.page import render_fleet

        return render_fleet(self, path, title=title)


def leading_culprits(entity: EntityView, *, most: int = 3) -> list[str]:
    """The variables that took the largest share in an entity's incidents, largest first."""
    totals: dict[str, float] = {}
    for incident in entity.incidents:
        for variable, share, _ in incident.culprits:
            totals[variable] = totals.get(variable, 0.0) + share
    return sorted(totals, key=lambda variable: (-totals[variable], variable))[:most]


def _trouble(incident: dict[str, Any], step: float) -> Trouble:
    begin, end = _moment(incident["start"]), _moment(incident["end"])
    return Trouble(
        start=incident["start"],
        end=incident["end"],
        begin=begin,
        finish=end + step,
        score=incident["score"],
        severity=incident["severity"],
        culprits=tuple((name, share, way) for name, share, way in incident["culprits"]),
    )


def _moment(given: str | float) -> float:
    """A number to compare: microseconds for dates, others as they are."""
    if isinstance(given, str):
        return float(np.datetime64(given, "us").astype(np.int64))
    return float(given)
