"""What fitting leaves behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.data import Preparation, PreparationReport, Prepared, Table
from alora_ts.data.cycle import Cycle
from alora_ts.data.scaling import within
from alora_ts.devices import choose_device
from alora_ts.diagnosis.builder import IncidentBuilder
from alora_ts.diagnosis.explanation import Judge
from alora_ts.diagnosis.origins import Mechanisms
from alora_ts.diagnosis.returns import ReturnPeriod
from alora_ts.diagnosis.usual import Usual
from alora_ts.diagnosis.witnesses import Witnesses
from alora_ts.fast.engine import Engine
from alora_ts.learning import TrainingSummary
from alora_ts.model.cyclic import Acyclic, prepared_moments
from alora_ts.model.plausible import refuse_bounds, refuse_misfit
from alora_ts.network import ALoRaT, Architecture, contribution_weights
from alora_ts.scoring import Calibration
from alora_ts.scoring.bounds import BOUND_ROWS, Bounds
from alora_ts.scoring.novelty import Novelty

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DiagnosisOptions", "FittedModel", "Period", "join_segments"]

_MECHANISMS = "mechanisms."
_DAY = 86_400.0
_USUAL = "usual."
_PREFIXES = (_MECHANISMS, _USUAL, "novelty.", "cycle.")


@dataclass(frozen=True, kw_only=True)
class DiagnosisOptions:
    """How incidents and culprits are found. See :class:`alora_ts.ALoRa` for each."""

    localization: str
    localization_top: int
    localization_memory: int
    merge: int | None
    minimum: int

    def gap(self, window: int) -> int:
        """Alarms with at most so many quiet rows between them are one incident."""
        return window // 2 if self.merge is None else self.merge


@dataclass(frozen=True)
class Period:
    """What the training data covered.

    Attributes
    ----------
    start, end : str or None
        First and last timestamp; None where there are none.
    rows : int
        Prepared rows.
    """

    start: str | None
    end: str | None
    rows: int

    @classmethod
    def of(cls, prepared: Prepared) -> Period:
        """The period of prepared rows."""
        stamps = prepared.timestamps
        if stamps is None:
            return cls(None, None, len(prepared))
        first, last = (str(stamps[row]).removesuffix(".000000") for row in (0, -1))
        return cls(first, last, len(prepared))


@dataclass(frozen=True)
class FittedModel:
    """A trained network with all that is needed to use it.

    Attributes
    ----------
    network : ALoRaT
        In evaluation mode.
    preparation : Preparation
    calibration : Calibration
    training : TrainingSummary
    period : Period
    options : DiagnosisOptions
    device : str
        Where it runs, see :func:`alora_ts.devices.choose_device`.
    mechanisms : Mechanisms or None
        How each variable follows from the rows before it, which gives origins; None in a model
        saved before it was learned.
    usual : Usual or None
        How each variable usually behaves, which explains incidents; None in a model saved before
        it was learned.
    novelty : Novelty or None
        Stretches of training that new ones are compared with; None where the score does not ask.
    cycle : Cycle or None
        What repeats each day or week and is taken off rows before all else; None where training
        shows nothing that does.
    report : PreparationReport or None
        What was done to the training rows; None in a model that was loaded.
    health : tuple of str
        What should make a reader doubt the fit, see :mod:`alora_ts.model.health`.
    """

    network: ALoRaT
    preparation: Preparation
    calibration: Calibration
    training: TrainingSummary
    period: Period
    options: DiagnosisOptions
    device: str = "auto"
    mechanisms: Mechanisms | None = None
    usual: Usual | None = None
    novelty: Novelty | None = None
    cycle: Cycle | None = None
    report: PreparationReport | None = None
    health: tuple[str, ...] = ()

    @property
    def _learned(self) -> tuple[tuple[str, Any], ...]:
        """What is learned beside the network, with the prefix its arrays are saved under."""
        parts = (self.mechanisms, self.usual, self.novelty, self.cycle)
        return tuple(zip(_PREFIXES, parts, strict=True))

    @property
    def reach(self) -> int:
        """How many rows, its own included, a row's score looks at; what is followed apart."""
        memory = max(self.calibration.rule.smoothing, self.options.localization_memory)
        stretch = 1 if self.novelty is None else self.novelty.reach
        return max(self.window + memory - 1, stretch, 1 if self.bounds is None else BOUND_ROWS)

    @property
    def window(self) -> int:
        """T."""
        return self.network.window

    @property
    def input_limit(self) -> float:
        """Scaled values are limited to ± this before the network sees them."""
        return self.network.architecture.input_limit

    @cached_property
    def engine(self) -> Engine:
        """Runs the network over windows."""
        return Engine(self.network, choose_device(self.device))

    @cached_property
    def contributions(self) -> NDArray[np.float64]:
        """C (Eq. 12), (d, d)."""
        return contribution_weights(self.network).reconstruction.double().numpy()

    @cached_property
    def bounds(self) -> Bounds | None:
        """Beyond which a signal alarms by itself; None where the score does not ask."""
        usual = self.usual
        if not self.calibration.bounds or usual is None:
            return None
        return Bounds.around(usual.low, usual.high, usual.scale, usual.observed)

    @cached_property
    def judge(self) -> Judge:
        """What explains incidents."""
        usual = self.usual or Usual.unknown(len(self.preparation.variables))
        return Judge(
            self.preparation.standardiser,
            usual,
            self.mechanisms,
            self.input_limit,
            self.window,
            self.witnesses,
        )

    @cached_property
    def witnesses(self) -> Witnesses | None:
        """Those of the score, where it hears several and knows what is usual."""
        calibration, novelty = self.calibration, self.novelty
        usual = float(np.median(calibration.normal))
        stretches = None
        if novelty is not None and len(novelty.lengths):
            stretches = int(novelty.lengths[0]), int(novelty.lengths[-1])
        if usual <= 0 or (calibration.rule.scoring != "joint" and stretches is None):
            return None
        return Witnesses(
            calibration.rule,
            usual,
            calibration.threshold.value,
            None if self.mechanisms is None else self.mechanisms.size,
            stretches,
            self.bounds,
        )

    def prepare(
        self, table: Table, segments: NDArray[np.integer] | None
    ) -> tuple[Prepared, NDArray[np.float32], NDArray[np.int64]]:
        """Prepared rows, the values the network sees, and the segments windows stay in."""
        prepared, _ = self.apply(table, segments)
        return prepared, self.seen(prepared), join_segments(prepared, segments)

    def seen(self, prepared: Prepared) -> NDArray[np.float32]:
        """The values the network sees of prepared rows."""
        return limit(prepared.values, self.input_limit)

    def apply(
        self, table: Table, segments: NDArray[np.integer] | None
    ) -> tuple[Prepared, NDArray[np.intp] | None]:
        """Prepared rows less what repeats, and the moment of each (None without a cycle)."""
        if self.cycle is None:
            return self.preparation.apply(table), None
        rest, moments = Acyclic(self.cycle).take(self.preparation.match(table), segments)
        prepared = self.preparation.apply(rest)
        return prepared, prepared_moments(self.cycle, prepared, moments)

    def course(self, moments: NDArray[np.intp] | None) -> NDArray[np.floating] | None:
        """What was taken off rows at such moments, in own units; None without a cycle."""
        return None if self.cycle is None or moments is None else self.cycle.course[moments]

    def incident_builder(self) -> IncidentBuilder:
        """Makes incidents of this model's rows, none seen yet."""
        options = self.options
        return IncidentBuilder(
            self.preparation.variables,
            merge=options.gap(self.window),
            minimum=options.minimum,
            returns=self.return_period,
        )

    def return_period(self, raw: float) -> ReturnPeriod | None:
        """How often normal operation shows a raw score as high, drift taken out."""
        tail = self.calibration.threshold.tail
        if tail is None:
            return None
        rows = tail.return_rows(raw)
        per_day = self.preparation.rows_per_day
        seconds = None if per_day is None else rows / per_day * _DAY
        return ReturnPeriod(rows, seconds, more=rows >= tail.longest)

    def describe(self) -> dict[str, Any]:
        """Everything but the tensors and the parameters, in a form JSON can hold."""
        return {
            "preparation": self.preparation.to_dict(),
            "calibration": self.calibration.to_dict(),
            "training": dataclasses.asdict(self.training),
            "period": dataclasses.asdict(self.period),
            "health": list(self.health),
        }

    def tensors(self) -> dict[str, Tensor]:
        """Every array to save: the network's, and under prefixes what explains incidents."""
        found = dict(self.network.state_dict())
        for prefix, part in self._learned:
            if part is not None:
                for field in dataclasses.fields(part):
                    found[prefix + field.name] = torch.from_numpy(getattr(part, field.name))
        return found

    @classmethod
    def rebuild(
        cls,
        saved: Mapping[str, Any],
        tensors: Mapping[str, Tensor],
        *,
        window: int,
        architecture: Architecture,
        diagnosis: DiagnosisOptions,
        device: str,
    ) -> FittedModel:
        """Back from :meth:`describe` and :meth:`tensors`."""
        preparation = Preparation.from_dict(saved["preparation"])
        variables = len(preparation.variables)
        calibration = Calibration.from_dict(saved["calibration"])
        learned, usual, novelty, cycle = (
            {
                name.removeprefix(prefix): tensor.numpy()
                for name, tensor in tensors.items()
                if name.startswith(prefix)
            }
            for prefix in _PREFIXES
        )
        own = {name: one for name, one in tensors.items() if not name.startswith(_PREFIXES)}
        refuse_misfit(own, variables=variables, window=window, architecture=architecture)
        refuse_bounds(
            smoothing=calibration.rule.smoothing,
            localization_memory=diagnosis.localization_memory,
            drift_memory=calibration.drift_memory,
        )
        network = ALoRaT.from_tensors(
            own, variables=variables, window=window, architecture=architecture
        )
        if calibration.rule.scoring == "joint" and not learned:
            raise ValueError("its score needs mechanisms, and it has none")
        if calibration.novelty is not None and not novelty:
            raise ValueError("its score needs stretches of training, and it has none")
        if calibration.bounds and not usual:
            raise ValueError("its score needs the signals' ranges, and it has none")
        training: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in saved["training"].items()
        }
        return cls(
            network=network,
            preparation=preparation,
            calibration=calibration,
            training=TrainingSummary(**training),
            period=Period(**saved["period"]),
            options=diagnosis,
            device=device,
            mechanisms=Mechanisms(**learned) if learned else None,
            usual=Usual(**usual).fitting(variables) if usual else None,
            novelty=Novelty(**novelty).fitting(variables) if novelty else None,
            cycle=Cycle(**cycle).fitting(variables) if cycle else None,
            health=tuple(saved.get("health", ())),
        )


def limit(values: NDArray[np.float32], most: float, *, keep: bool = True) -> NDArray[np.float32]:
    """Scaled values within ± ``most``; in place unless the values are to be kept."""
    limited: NDArray[np.float32] = within(values, most, out=None if keep else values)
    return limited


def join_segments(prepared: Prepared, segments: NDArray[np.integer] | None) -> NDArray[np.int64]:
    """Segments that change where the prepared rows' or the caller's do, (M,)."""
    own = prepared.segments.astype(np.int64)
    if segments is None:
        return own
    given = np.empty(len(prepared), dtype=np.int64)
    given[prepared.rows] = segments
    changes = (np.diff(own) != 0) | (np.diff(given) != 0)
    joined: NDArray[np.int64] = np.concatenate([[0], np.cumsum(changes)])
    return joined
