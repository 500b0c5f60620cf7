"""Help that answers at once, shows an example, and suggests what was meant."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.invoke import invoke

COMMANDS = [
    (),
    ("fit",),
    ("detect",),
    ("backtest",),
    ("explain",),
    ("info",),
    ("export",),
    ("evaluate",),
    ("demo",),
    ("serve",),
    ("replay",),
    ("worker",),
    ("data",),
    ("data", "list"),
    ("data", "info"),
    ("data", "fetch"),
    ("data", "check"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_has_an_example(command: tuple[str, ...]) -> None:
    outcome = invoke(*command, "--help")
    assert outcome.code == 0
    assert f"Example: alora-ts {' '.join(command)}".strip() in " ".join(outcome.out.split())


def test_every_command_is_in_this_list() -> None:
    from alora_ts.cli.main import app

    names = {
        (command.callback.__name__,) for command in app.registered_commands if command.callback
    }
    assert names <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_a_mistyped_option_is_usage_and_suggests(command: tuple[str, ...]) -> None:
    outcome = invoke(*command, "--hepl")
    assert outcome.code == 2
    assert "--help" in outcome.err


def test_mistyped_long_options_and_commands_name_the_right_one() -> None:
    assert "--output" in invoke("fit", "a.csv", "--outptu", "m.alora").err
    assert "--fail-on-anomaly" in invoke("detect", "m", "d", "--fail-on-anomal").err
    mistyped = invoke("detct")
    assert mistyped.code == 2
    assert "detect" in mistyped.err


def test_a_missing_argument_is_usage() -> None:
    assert invoke("fit", "a.csv").code == 2
    assert invoke("detect").code == 2
    assert invoke("fit", "a.csv", "-o", "m", "--window", "1").code == 2


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['alora-ts', '--help']\n"
        "from alora_ts.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'pandas', 'polars', 'scipy', 'plotly', 'matplotlib'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)


def test_completion_for_a_shell_can_be_shown() -> None:
    # The shell is named by a variable: nothing of the machine's own set-up is read or changed.
    code = "from alora_ts.cli.main import run; run()"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={"_ALORA_TS_COMPLETE": "complete_bash", "COMP_WORDS": "alora-ts de", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert {"detect", "demo"} <= set(shown.stdout.split())
