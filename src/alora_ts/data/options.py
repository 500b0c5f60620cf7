"""The choices a preparation takes, checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args, get_type_hints

from alora_ts.data.align import Duplicates, OutOfOrder
from alora_ts.errors import AloraError, nearest

__all__ = ["PrepareOptions"]


@dataclass(frozen=True, kw_only=True)
class PrepareOptions:
    """As documented at ``Preparation``.

    Examples
    --------
    >>> PrepareOptions(missing="holt")
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

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for name in ("missing", "duplicates", "out_of_order", "scaling"):
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
        >>> PrepareOptions(gap=60.0).to_dict()["gap"]
        60.0
        """
        return asdict(self)
