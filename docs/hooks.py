"""Writes the command-line reference from the commands themselves while the site is built."""

from __future__ import annotations

import re
from typing import Any

import typer

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for each page; only the one with the mark is changed."""
    return markdown.replace(MARK, command_pages()) if MARK in markdown else markdown


def command_pages() -> str:
    """All commands as Markdown, subcommands after their group."""
    from alora_ts.cli.main import app

    root: Any = typer.main.get_command(app)
    return "\n".join(_pages(root, "alora-ts"))


def _pages(command: Any, name: str) -> list[str]:
    context: Any = command.context_class(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    text, _, example = (command.help or "").partition("Example:")
    lines = [f"## {name}", "", " ".join(text.split()), "", "```text", usage, "```", ""]
    if example.strip():
        lines += ["Example:", "", "```sh", example.strip().strip("`"), "```", ""]
    lines += _parameters(command)
    for child in getattr(command, "commands", {}).values():
        lines += _pages(child, f"{name} {child.name}")
    return lines


def _parameters(command: Any) -> list[str]:
    rows = []
    for parameter in command.params:
        shown = parameter.param_type_name == "option"
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        if not shown:
            names = f"`{parameter.metavar or parameter.name.upper()}`"
        default = parameter.default
        given = "" if default in (None, False) or callable(default) else f"`{default}`"
        required = "required" if parameter.required else given
        # A bar would end the table's cell.
        said = re.sub(r"\s+", " ", parameter.help or "").replace("|", "\\|")
        if "--install-completion" in names or "--show-completion" in names:
            said = said or "Shell completion."
        rows.append(f"| {names} | {said} | {required} |")
    if not rows:
        return []
    return ["| | | default |", "|---|---|---|", *rows, ""]
