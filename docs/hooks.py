"""Writes the command-line reference from the commands themselves while the site is built."""

from __future__ import annotations

import inspect
import re
from html import escape
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
        shown_default, default = getattr(parameter, "show_default", None), parameter.default
        if isinstance(shown_default, str):
            default = shown_default
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


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs for each rendered page: fix what docstrings look like in HTML."""
    # Docstrings name things as Sphinx does; here a name in code style says enough.
    html = re.sub(r":(?:class|func|meth|mod|data|attr):<code>[~.]?", "<code>", html)
    return _mend_grouped(html)


def _mend_grouped(html: str) -> str:
    """Give each parameter of ALoRa its own type and default.

    The renderer shows the source's words, such as the name of a constant instead of its value.
    """
    begin, end = (html.find(f'id="alora_ts.estimator.ALoRa{part}"') for part in ("", ".fit"))
    if begin < 0 or end < 0:
        return html
    from alora_ts.estimator import ALoRa

    section = html[begin:end]
    for name, parameter in inspect.signature(ALoRa).parameters.items():
        kind, default = escape(str(parameter.annotation)), escape(repr(parameter.default))
        section = re.sub(
            rf"(<b><code>{name}</code></b>\s*)\(.*?\)(\s*–)",
            rf"\1(<code>{kind}</code>, default: <code>{default}</code>)\2",
            section,
            count=1,
            flags=re.DOTALL,
        )
    return html[:begin] + section + html[end:]
