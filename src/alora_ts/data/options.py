"""The choices a preparation takes, checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args, get_type_hints

from alora_ts.data.align import Duplicates, OutOfOrder
from alora_ts.errors import AloraError, nearest
from alora_ts.params import Options

__all__ = ["PreparationOptions"]


@dataclass(frozen=True, kw_only=True, repr=False)
class PreparationOptions(Options):
    """What is done to a table before the network sees it.

    Attributes
    ----------
    missing : {"hold", "interpolate", "mark", "error"}
        What a missing cell becomes: the variable's last value in the same segment ("hold", the
        only choice that gives a stream the same values as a table); a point on the line between
        its neighbours ("interpolate"); its usual level, marked in ``Prepared.filled`` so that
        scoring can leave it out ("mark"); or an error. Where none of them has a value to offer, a
        cell takes the variable's usual level in training.
    missing_limit : int, optional
        After how many missing rows in a row "hold" stops holding, and how long a run
        "interpolate" bridges; beyond it cells take the usual level. By default there is no limit.
    gap : float, optional
        The longest time without any value, in seconds, that does not split the series (in the
        times' own unit when they are numbers, in rows when there are none). By default ten times
        the median step of the training data, or of the grid where that is wider.
    resample : float, optional
        Average onto a regular grid of this many seconds (or time units). A step without readings
        is missing; each variable is averaged over its own readings, so irregular ones align.
    downsample : int, optional
        Average blocks of this many rows, from each segment's beginning; its last block may be
        shorter.
    duplicates : {"last", "mean", "error"}
        What to do with rows at the same time.
    out_of_order : {"late", "sort", "error"}
        "late" puts rows that come late into their place, but refuses a table in which more than a
        tenth of the rows do; "sort" sorts any table; "error" refuses every late row.
    scaling : {"standard", "robust"}
        See :func:`alora_ts.data.scaling.fit_standardiser`.
    calendar : {"auto", "off"}
        "auto" takes off what repeats each day or week, where training shows that it does
        (:mod:`alora_ts.data.cycle`).

    Examples
    --------
    >>> PreparationOptions(missing="holt")
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: missing='holt' is unknown; did you mean 'hold'? ...
    """

    missing: Literal["hold", "interpolate", "mark", "error"] = "hold"
    missing_limit: int | None = None
    gap: float | None = None
    resample: float | None = None
    downsample: int | None = None
    duplicates: Duplicates = "last"
    out_of_order: OutOfOrder = "late"
    scaling: Literal["standard", "robust"] = "standard"
    calendar: Literal["auto", "off"] = "auto"

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for name in ("missing", "duplicates", "out_of_order", "scaling", "calendar"):
            value, known = getattr(self, name), get_args(hints[name])
            if value not in known:
                raise AloraError(f"{name}={value!r} is unknown{nearest(str(value), known)}")
        for name, least in (("missing_limit", 0), ("downsample", 1)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise AloraError(f"{name}={value!r} must be a whole number of at least {least}")
        for name in ("gap", "resample"):
            value = getattr(self, name)
            if value is not None and not 1e-6 <= value < float("inf"):
                raise AloraError(f"{name}={value!r} must be a positive number of seconds")
        if self.resample is not None and self.downsample is not None:
            raise AloraError(
                "resample= and downsample= both average rows; choose one (time steps or row counts)"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the options in a form JSON can hold.

        Examples
        --------
        >>> PreparationOptions(gap=60.0).to_dict()["gap"]
        60.0
        """
        return asdict(self)
