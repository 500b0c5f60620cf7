"""`alora-ts explain` and `alora-ts info`: what a model has learned, and what it is."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from alora_ts.cli.common import ModelArgument, console


def explain(
    model: ModelArgument,
    *,
    most: Annotated[int, typer.Option("--most", "-n", help="How many relations.", min=1)] = 20,
    variable: Annotated[
        str | None, typer.Option(help="Only relations from or to this variable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say who influences whom: the strongest learned influences between variables.

    Each with C_ij / Σ C_ik, its part of all that the first variable moves.

    Example: `alora-ts explain plant.alora --variable pump2_flow`
    """
    from rich.table import Table

    from alora_ts.errors import AloraError, nearest
    from alora_ts.estimator import load

    relations = load(model).contributions_
    if variable is not None and variable not in relations.variables:
        raise AloraError(
            f"the model knows no variable {variable!r}{nearest(variable, relations.variables)}"
        )
    everything = relations.strongest(len(relations.variables) ** 2)
    chosen = [r for r in everything if variable in (None, r.source, r.target)][:most]
    if as_json:
        typer.echo(json.dumps([vars(relation) for relation in chosen], indent=2))
        return
    table = Table(
        title="who influences whom",
        caption="by: in standard deviations of each variable; part: of all the first one moves, "
        "itself included",
    )
    for heading in ("a lasting change of", "moves the expectation of", "by", "part"):
        table.add_column(heading, justify="right" if heading in ("by", "part") else "left")
    for relation in chosen:
        table.add_row(
            relation.source,
            relation.target,
            f"{relation.weight:+.3f}",
            f"{relation.relative:+.0%}",
        )
    console().print(table)


def info(
    model: ModelArgument,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the model card: training period, variables, window, calibration, limits.

    Example: `alora-ts info plant.alora`
    """
    from rich.table import Table

    from alora_ts.estimator import load
    from alora_ts.model.card import model_card

    card = model_card(load(model).model_)
    if as_json:
        typer.echo(json.dumps(card, indent=2))
        return
    table = Table(title=str(model), show_header=False)
    for name, value in card.items():
        text = "\n".join(value) if name == "limits" else value
        text = ", ".join(value) if name == "variables" else text
        text = f"{text:.5g}" if isinstance(text, float) else str(text)
        table.add_row(name.replace("_", " "), text)
    console().print(table)
