"""A plan: which methods run on which data, how often, and how much each run may take."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from alora_ts.errors import AloraError, nearest
from alora_ts.toml_lines import line_of

__all__ = ["Plan", "PlanError", "PlannedDataset", "PlannedMethod", "read_plan", "shipped_plans"]


class PlanError(AloraError):
    """A plan cannot be used as it is written."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedDataset(_Strict):
    """One dataset of a plan.

    Attributes
    ----------
    name : str
        A registered dataset, one that was added with ``alora-ts bench add-dataset``, or
        "synthetic".
    entities : list of str, or "all"
        Which machines, servers or channels; "whole" in the list stands for all of them as one
        series, where the set can be read so.
    seeds : list of int, optional
        Here instead of the plan's, for methods that do not name their own.
    """

    name: str
    entities: list[str] | Literal["all"] = "all"
    seeds: list[int] | None = Field(None, min_length=1)


class PlannedMethod(_Strict):
    """One row of a plan's tables.

    Attributes
    ----------
    name : str
        "alora" or a compared method; see :func:`alora_ts.baselines.names`.
    label : str
        What results call it; by default its name. Each label stands once in a plan.
    preset : str
        See :mod:`alora_ts.bench.contestant`.
    seeds : list of int, optional
        Instead of the plan's.
    parameters : dict
        Changes against the preset.
    per_dataset : dict
        More changes, by dataset.
    datasets : list of str, optional
        Only these of the plan's datasets.
    studies : dict
        The ablations this is a case of, and its name there.
    needs_pairs : int, optional
        Leave out data with no more pairs of variables than this: keeping the best so many would
        keep them all.
    covering : int
        A row's score is the mean over all windows of so many rows that hold it, each of which has
        the score of its last row; see :func:`~alora_ts.bench.covering.covering_mean`. 1: its own.
    """

    name: str
    label: str = ""
    preset: str = "cpu"
    seeds: list[int] | None = Field(None, min_length=1)
    parameters: dict[str, Any] = {}
    per_dataset: dict[str, dict[str, Any]] = {}
    datasets: list[str] | None = None
    studies: dict[str, str] = {}
    needs_pairs: int | None = None
    covering: int = Field(1, ge=1)

    @property
    def row(self) -> str:
        """The label, or the name where there is none."""
        return self.label or self.name


class Plan(_Strict):
    """All runs of a benchmark and their limits.

    Attributes
    ----------
    name, about : str
        For people.
    seeds : list of int
        Of methods that do not name their own.
    threads : int
        Threads of one run; as many runs go at once as the workers' budget allows.
    minutes : float
        A run that takes longer is ended and recorded as failed.
    memory_gib : float
        The same for its memory.
    range_window : int or "period"
        The window of VUS and range-AUC: rows, or for each series the one that TSB-AD would take;
        see :func:`~alora_ts.metrics.period_window`.
    datasets : list of PlannedDataset
    methods : list of PlannedMethod
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    about: str = ""
    seeds: list[int] = Field([0], min_length=1)
    threads: int = Field(1, ge=1)
    minutes: float = Field(60.0, gt=0)
    memory_gib: float = Field(8.0, gt=0)
    range_window: Annotated[int, Field(ge=0)] | Literal["period"] = 100
    datasets: list[PlannedDataset] = Field(min_length=1)
    methods: list[PlannedMethod] = Field(min_length=1)

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        rows = [method.row for method in self.methods]
        for row in rows:
            if rows.count(row) > 1:
                raise ValueError(f"{row!r} stands for several methods; give each its own label")
            if "/" in row or row.startswith("."):
                raise ValueError(
                    f"the label {row!r} cannot be a file's name; leave out '/' and '.'"
                )
        return self


def shipped_plans() -> dict[str, Path]:
    """The plans that come with the package, by name.

    Examples
    --------
    >>> sorted(shipped_plans())
    ['ablation', 'ablation-core', 'cpu', 'paper', 'published', 'sizes', 'smoke', 'tsb-ad']
    """
    folder = Path(str(files("alora_ts.bench") / "plans"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_plan(source: str | Path) -> Plan:
    """Read a plan.

    Parameters
    ----------
    source : str or Path
        The name of a shipped plan, or a TOML file.

    Raises
    ------
    PlanError
        Naming the file, the line and the remedy.

    Examples
    --------
    >>> read_plan("smoke").name
    'smoke'
    >>> read_plan("smok")
    Traceback (most recent call last):
    ...
    alora_ts.bench.plan.PlanError: there is no plan 'smok'; did you mean 'smoke'? Known: ...
    """
    shipped = shipped_plans()
    path = shipped.get(str(source), Path(source))
    if not path.is_file():
        if path.suffix == ".toml" or "/" in str(source):
            raise PlanError(f"there is no plan file {path}")
        raise PlanError(f"there is no plan {str(source)!r}{nearest(str(source), shipped)}")
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # The decoder's message ends with the line.
        raise PlanError(f"the plan {path} is not TOML: {error}") from error
    except OSError as error:
        raise PlanError(f"cannot read the plan {path}: {error.strerror}") from error
    try:
        return Plan.model_validate(content)
    except ValidationError as error:
        raise PlanError(_explain(error, path, text)) from None


def _explain(error: ValidationError, path: Path, text: str) -> str:
    said = []
    for one in error.errors(include_url=False):
        place = one["loc"]
        message = one["msg"].removeprefix("Value error, ")
        if one["type"] == "extra_forbidden":
            models: dict[str, type[BaseModel]] = {
                "datasets": PlannedDataset,
                "methods": PlannedMethod,
            }
            model = models.get(str(place[0]), Plan) if len(place) > 1 else Plan
            message = f"there is no such setting{nearest(str(place[-1]), model.model_fields)}"
        name = ".".join(str(part) for part in place)
        said.append(f"{path}, line {line_of(text, place)}: {name + ': ' if name else ''}{message}")
    return "; ".join(said)
