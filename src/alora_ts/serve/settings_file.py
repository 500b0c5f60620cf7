"""Settings from a TOML file, the environment and flags; later ones win."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from alora_ts.errors import AloraError, nearest
from alora_ts.serve.settings import Settings
from alora_ts.toml_lines import line_of

__all__ = ["PREFIX", "SettingsError", "read_settings"]

PREFIX = "ALORA_TS_SERVE_"


class SettingsError(AloraError):
    """The settings cannot be used."""


def read_settings(
    file: Path | None,
    *,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Read and check all settings.

    Parameters
    ----------
    file : Path, optional
        TOML.
    flags : mapping, optional
        Settings by name; ``models`` adds to those of the file.
    environment : mapping, optional
        Variables such as ``ALORA_TS_SERVE_PORT``; by default the process's.

    Raises
    ------
    SettingsError
        Names the line, variable or flag, what is wrong with it, and the right spelling.

    Examples
    --------
    >>> read_settings(None, flags={"port": 9000}, environment={PREFIX + "HOST": "::1"}).host
    '::1'
    """
    text, content = _read(file)
    spoken: dict[str, str] = {}
    for name, value in (os.environ if environment is None else environment).items():
        if name.startswith(PREFIX):
            key = name.removeprefix(PREFIX).lower()
            if key not in Settings.model_fields or key in {"models", "connect", "notify"}:
                raise SettingsError(
                    f"the environment sets {name}, but there is no such setting"
                    f"{nearest(key, _simple())}"
                )
            spoken[key] = value
    hosts = {"hosts": tuple(spoken["hosts"].split(","))} if "hosts" in spoken else {}
    given = dict(flags or {})
    models = {**content.get("models", {}), **given.pop("models", {})}
    together = {**content, **spoken, **hosts, **given, "models": models}
    try:
        settings = Settings.model_validate(together)
    except ValidationError as error:
        raise SettingsError(_explain(error, file, text, spoken, given)) from None
    if file is not None:
        # A path in a file is meant from where the file is, wherever the service is started.
        base = file.resolve().parent
        named = {name: base / path for name, path in content.get("models", {}).items()}
        changes: dict[str, Any] = {"models": {**settings.models, **named, **_flagged(flags)}}
        if "folder" in content and "folder" not in spoken and "folder" not in given:
            changes["folder"] = base / settings.folder
        settings = settings.model_copy(update=changes)
    return settings


def _flagged(flags: Mapping[str, Any] | None) -> dict[str, Path]:
    return {name: Path(path) for name, path in (flags or {}).get("models", {}).items()}


def _simple() -> list[str]:
    return [name for name in Settings.model_fields if name not in {"models", "connect", "notify"}]


def _read(file: Path | None) -> tuple[str, dict[str, Any]]:
    if file is None:
        return "", {}
    try:
        text = file.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"cannot read the settings {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # The decoder's message ends with the line.
        raise SettingsError(f"the settings {file} are no TOML: {error}") from error


def _explain(
    error: ValidationError,
    file: Path | None,
    text: str,
    spoken: Mapping[str, str],
    given: Mapping[str, Any],
) -> str:
    """Say for each problem where it stands. Values are not repeated: they may be secret."""
    said = []
    for one in error.errors(include_input=False, include_url=False):
        place = one["loc"]
        name = ".".join(str(part) for part in place)
        if place and place[0] in given:
            where = f"the flag --{name.replace('_', '-')}"
        elif place and place[0] in spoken:
            where = f"the variable {PREFIX}{name.upper()}"
        else:
            where = f"{file}, line {line_of(text, place)}" if file else "the settings"
        what = one["msg"].removeprefix("Value error, ")
        if one["type"] == "extra_forbidden":
            known = Settings.model_fields if len(place) == 1 else ()
            what = f"there is no such setting{nearest(str(place[-1]), known) if known else ''}"
        said.append(f"{where}: {name}: {what}")
    return "; ".join(said)
