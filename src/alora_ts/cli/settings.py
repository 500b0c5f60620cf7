"""Every parameter of the estimator from the command line: `--set name=value`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from alora_ts.errors import AloraError, nearest

__all__ = ["MergeOption", "MinSeverityOption", "MinimumOption", "SetOption", "read_settings"]

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other parameter, such as drift_memory=0 or heads=4 (repeatable).",
    ),
]
MergeOption = Annotated[
    int | None,
    typer.Option(help="Alarms with so few quiet rows between them are one incident.", min=0),
]
MinimumOption = Annotated[int | None, typer.Option(help="Drop incidents of fewer rows.", min=1)]
MinSeverityOption = Annotated[
    str | None,
    typer.Option(metavar="SEVERITY", help="Tell only of incidents from here on: medium or high."),
]


def read_settings(given: list[str] | None) -> dict[str, Any]:
    """Parameters by their full names, from ``--set heads=4``.

    A field of a group needs no group's name, and each value is read as what its default is.

    Raises
    ------
    AloraError
        For a parameter that does not exist or a value of the wrong kind.

    Examples
    --------
    >>> read_settings(["heads=4", "drift_memory=0", "merge=none"])
    {'architecture__heads': 4, 'drift_memory': 0, 'merge': None}
    """
    from alora_ts.estimator import ALoRa

    known = ALoRa().plain_params()
    full = {name.rpartition("__")[2]: name for name in known} | {name: name for name in known}
    found = dict[str, Any]()
    for text in given or []:
        name, sign, value = text.partition("=")
        name = name.strip().replace(".", "__")
        if not sign:
            raise AloraError(f"--set {text}: write a name and a value, as in drift_memory=0")
        if name not in full:
            short = [each.rpartition("__")[2] for each in known]
            raise AloraError(f"--set {text}: no parameter {name!r}{nearest(name, short)}")
        found[full[name]] = _as_kind(text, value.strip(), known[full[name]])
    return found


def _as_kind(text: str, value: str, default: Any) -> Any:
    if value.lower() == "none":
        return None
    if isinstance(default, bool):
        if value.lower() not in ("true", "false"):
            raise AloraError(f"--set {text}: give true or false")
        return value.lower() == "true"
    kinds: list[Any] = [type(default)] if isinstance(default, int | float) else [int, float]
    if isinstance(default, str):
        return value
    for kind in kinds:
        try:
            return kind(value)
        except ValueError:
            continue
    raise AloraError(f"--set {text}: give a number{' without a fraction' * (kinds == [int])}")
