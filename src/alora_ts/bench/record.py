"""What one run leaves behind: everything but its scores, as one JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from alora_ts.errors import AloraError
from alora_ts.files import write_atomically

__all__ = ["FORMAT", "Case", "Measurement", "Record", "read_record", "read_records", "write_record"]

FORMAT = 1


@dataclass(frozen=True)
class Measurement:
    """One metric's value.

    Attributes
    ----------
    value : float or None
        None where there is none: a delay when no event was caught.
    precision, recall : float or None
        Behind an F1.
    chance : float or None
        What random scores are expected to reach, where that is known exactly (localization).
    """

    value: float | None
    precision: float | None = None
    recall: float | None = None
    chance: float | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A method on one entity with one seed: what a run does, and what a record is of.

    Attributes
    ----------
    plan : str
        The name of the plan it is run for.
    label : str
        The row in tables; the plan gives each of its methods one.
    method, preset : str
        The registered name and the preset.
    parameters : dict
        What the plan changed against the preset.
    dataset : str
    entity : str or None
        None for a set that is one series.
    seed : int
    studies : dict of str to str
        The ablations it belongs to, and which case of each it is: {"loss": "without"}.
    """

    plan: str
    label: str
    method: str
    preset: str
    parameters: dict[str, Any]
    dataset: str
    entity: str | None
    seed: int
    studies: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Dataset and entity, for people.

        Examples
        --------
        >>> Case(
        ...     plan="",
        ...     label="",
        ...     method="knn",
        ...     preset="cpu",
        ...     parameters={},
        ...     dataset="SMD",
        ...     entity="machine-1-2",
        ...     seed=0,
        ... ).place
        'SMD machine-1-2'
        """
        return self.dataset if self.entity is None else f"{self.dataset} {self.entity}"


@dataclass(frozen=True, kw_only=True)
class Record(Case):
    """The result of a method on one entity with one seed.

    Attributes
    ----------
    digest : str
        Of all that decides the result; a run of another digest is not this one.
    status : {"done", "failed", "left out"}
        "left out" where the plan's method means nothing on these data.
    error : str or None
        Why it failed or was left out.
    data : dict
        ``train_rows``, ``test_rows``, ``variables``, ``events`` and ``anomalous`` (a share).
    facts : dict
        What the method reports about itself: ``learnable`` (number of learned weights),
        ``embedding`` (those of the embedding), ``windows`` (seen in training, repetitions
        included), ``rank_level`` (h1), ``threshold``, ``epochs`` (the one whose weights were kept),
        ``stopped_early`` (0 or 1), ``held_back_loss_1`` and so on after each epoch; if it has it.
    detection : dict of str to Measurement
        By "best threshold / affiliation F1" and so on: how the threshold was chosen, and the
        metric, as :func:`alora_ts.metrics.evaluate` names them.
    localization : dict of str to Measurement
        By "HR@100", "NDCG@150", "IPS@100", "segment NDCG@100", …; other ways of scoring
        variables with the same fit by "LAS* / HR@100" and so on.
    scores : str or None
        SHA-256 of the scores' file.
    measured : dict
        What differs from run to run: ``fit_seconds``, ``score_seconds``, ``locate_seconds`` and
        ``run_seconds`` (in total) of wall time, ``fit_processor_seconds`` and so on of CPU time,
        ``peak_mib``, ``threads``, ``started`` (UTC), ``machine``, ``versions``,
        ``commit``.
    """

    digest: str
    status: Literal["done", "failed", "left out"]
    error: str | None = None
    data: dict[str, float] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)
    detection: dict[str, Measurement] = field(default_factory=dict)
    localization: dict[str, Measurement] = field(default_factory=dict)
    scores: str | None = None
    measured: dict[str, Any] = field(default_factory=dict)


def write_record(record: Record, path: Path) -> None:
    """Write a record so that a reader finds all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"format": FORMAT, **asdict(record)}
    with write_atomically(path) as part:
        part.write_text(json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")


def read_record(path: Path) -> Record:
    """Read a record.

    Raises
    ------
    AloraError
        When the file is not one; the message names it.
    """
    try:
        content = json.loads(path.read_text())
        if content.pop("format") != FORMAT:
            raise AloraError(
                f"{path} was written by another version of the benchmark; run it again"
            )
        for kind in ("detection", "localization"):
            content[kind] = {name: Measurement(**one) for name, one in content[kind].items()}
        return Record(**content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, AloraError):
            raise
        raise AloraError(
            f"{path} is not the result of a run ({error}); delete it and run the plan again"
        ) from error


def read_records(*folders: Path) -> Iterator[Record]:
    """Read all records of results folders, in each by dataset, entity, label and seed.

    Parameters
    ----------
    *folders : Path
        Where plans' results are: each holds ``runs/``.

    Raises
    ------
    AloraError
        When a folder holds no results, or a file in it is not one.
    """
    for folder in folders:
        # Names that begin with a dot are being written, or were when their writer was killed.
        paths = sorted((folder / "runs").rglob("[!.]*.json"))
        if not paths:
            raise AloraError(f"there are no results in {folder}; `alora-ts bench run` makes them")
        for path in paths:
            yield read_record(path)
