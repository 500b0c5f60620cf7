"""`alora-ts serve` and `alora-ts token` as typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from alora_ts.cli.main import app
from alora_ts.errors import AloraError

runner = CliRunner()


def test_tokens(tmp_path: Path) -> None:
    where = ["--folder", str(tmp_path / "data")]
    made = runner.invoke(app, ["token", "create", "--role", "write", "--name", "gateway", *where])
    token = made.stdout.strip()
    assert token.startswith("alora_")
    key = token.split("_")[1]
    listed = runner.invoke(app, ["token", "list", *where])
    assert key in listed.stdout
    assert token not in listed.stdout
    assert runner.invoke(app, ["token", "revoke", key, *where]).exit_code == 0
    again = runner.invoke(app, ["token", "revoke", key, *where])
    assert isinstance(again.exception, AloraError)
    wrong = runner.invoke(app, ["token", "create", "--role", "amdin", *where])
    assert "did you mean 'admin'" in str(wrong.exception)


def test_settings_are_checked_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("port = 8081\n")
    fine = runner.invoke(app, ["serve", "--config", str(file), "--check"])
    assert fine.exit_code == 0
    file.write_text("prot = 8081\n")
    wrong = runner.invoke(app, ["serve", "--config", str(file), "--check"])
    assert "line 1" in str(wrong.exception)
    assert not (tmp_path / "alora-data").exists()


@pytest.mark.parametrize("file", ["absent.alora", "folder"])
def test_a_model_that_cannot_be_read(tmp_path: Path, file: str) -> None:
    (tmp_path / "folder").mkdir()
    found = runner.invoke(
        app, ["serve", "--model", str(tmp_path / file), "--folder", str(tmp_path / "data")]
    )
    assert isinstance(found.exception, AloraError)
    assert file in str(found.exception)
    # The store was let go of: the next start is not refused.
    again = runner.invoke(app, ["token", "list", "--folder", str(tmp_path / "data")])
    assert again.exit_code == 0
