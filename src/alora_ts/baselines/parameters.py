"""Parameters of a detector: read, set and checked by their annotations."""

from __future__ import annotations

import math
from dataclasses import Field, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from alora_ts.errors import AloraError, nearest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["check_known", "check_multiple", "check_parameters", "parameters"]


def parameters(kind: type[DataclassInstance]) -> dict[str, Field[Any]]:
    """Return the constructor's parameters of a detector class by name.

    Examples
    --------
    >>> from alora_ts.baselines.knn import KNN
    >>> sorted(parameters(KNN))
    ['neighbours', 'preset']
    """
    return {item.name: item for item in fields(kind) if item.init}


def check_known(kind: type[DataclassInstance], names: list[str]) -> None:
    """Refuse names that are not parameters of a detector class.

    Examples
    --------
    >>> from alora_ts.baselines.knn import KNN
    >>> check_known(KNN, ["neighbors"])
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: KNN has no parameter 'neighbors'; did you mean 'neighbours'? ...
    """
    known = parameters(kind)
    for name in names:
        if name not in known:
            raise AloraError(f"{kind.__name__} has no parameter {name!r}{nearest(name, known)}")


def check_parameters(detector: DataclassInstance) -> None:
    """Check every parameter against its annotation, as ``fit`` begins.

    A ``Literal`` must be one of its values, an ``int`` a whole number of at least 1, a ``float`` a
    finite number that is not negative. ``field(metadata={"least": …})`` gives another bound.

    Raises
    ------
    AloraError
        Naming the parameter, its value and what it may be.

    Examples
    --------
    >>> from alora_ts.baselines.knn import KNN
    >>> check_parameters(KNN(neighbours=0))
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: KNN: neighbours=0 must be a whole number of at least 1
    """
    kind = type(detector)
    hints = get_type_hints(kind)
    for name, item in parameters(kind).items():
        fault = _fault(getattr(detector, name), hints[name], item.metadata.get("least"))
        if fault is not None:
            raise AloraError(f"{kind.__name__}: {name}={getattr(detector, name)!r} {fault}")


def check_multiple(detector: DataclassInstance, name: str, of: str) -> None:
    """Check that one whole-numbered parameter is a multiple of another.

    Examples
    --------
    >>> from alora_ts.baselines.anomaly_transformer import AnomalyTransformer
    >>> check_multiple(AnomalyTransformer(width=10, heads=3), "width", "heads")
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: AnomalyTransformer: width=10 must be a multiple of heads=3
    """
    whole, part = getattr(detector, name), getattr(detector, of)
    if whole % part:
        raise AloraError(
            f"{type(detector).__name__}: {name}={whole} must be a multiple of {of}={part}"
        )


def _fault(value: Any, hint: Any, least: float | None) -> str | None:
    """What is wrong with a value, or None."""
    if get_origin(hint) in (Union, UnionType):
        options = get_args(hint)
        if value is None and NoneType in options:
            return None
        faults = [_fault(value, option, least) for option in options if option is not NoneType]
        return None if None in faults else faults[0]
    if get_origin(hint) is Literal:
        known = [str(option) for option in get_args(hint)]
        return None if value in get_args(hint) else f"is unknown{nearest(str(value), known)}"
    if hint is bool:
        return None if isinstance(value, bool) else "must be True or False"
    return _number_fault(value, hint, least) if hint in (int, float) else None


def _number_fault(value: Any, hint: Any, least: float | None) -> str | None:
    bound = float(hint is int) if least is None else least
    number = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    if number and math.isfinite(value) and value >= bound:
        return None
    return f"must be a {'whole' if hint is int else 'finite'} number of at least {bound:g}"
