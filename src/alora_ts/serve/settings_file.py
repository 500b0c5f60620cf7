"""Settings from a TOML file, the environment and flags; later ones win."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from alora_ts.errors import AloraError, nearest
from alora_ts.serve.settings import Settings
from alora_ts.toml_lines import line_of

__all__ = ["PREFIX", "SettingsError", "read_settings"]

PREFIX = "ALORA_TS_SERVE_"
_LISTS = ("hosts", "proxies", "collect")
_SECTIONS = ("runbooks", "structure", "keep", "connect", "notify")


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
            if key not in Settings.model_fields or key in {"models", *_SECTIONS}:
                raise SettingsError(
                    f"the environment sets {name}, but there is no such setting"
                    f"{nearest(key, _simple())}"
                )
            spoken[key] = value
    lists = {name: tuple(spoken[name].split(",")) for name in _LISTS if name in spoken}
    given = dict(flags or {})
    flagged = given.pop("models", {})
    models = {**content.get("models", {}), **flagged}
    together = {**content, **spoken, **lists, **given, "models": models}
    try:
        settings = Settings.model_validate(together)
    except ValidationError as error:
        raise SettingsError(_explain(error, file, text, spoken, given)) from None
    if file is None:
        return settings
    # A path in a file is relative to the file, wherever the service is started.
    base = file.resolve().parent
    elsewhere = {*spoken, *given}
    changes: dict[str, Any] = {
        name: _placed(getattr(settings, name), base)
        for name in ("folder", "tls_cert", "tls_key", "structure", "connect", "notify")
        if name in content and name not in elsewhere
    }
    changes["models"] = {
        name: path if name in flagged else _placed(path, base)
        for name, path in settings.models.items()
    }
    if "store" in content and "store" not in elsewhere and "://" not in content["store"]:
        changes["store"] = str(_placed(Path(content["store"]), base))
    return settings.model_copy(update=changes)


def _placed(value: Any, base: Path) -> Any:
    """The same setting with every path in it taken from ``base``."""
    if isinstance(value, Path):
        return base / value.expanduser()
    if isinstance(value, tuple):
        return tuple(_placed(each, base) for each in value)
    if isinstance(value, dict):
        return {name: _placed(each, base) for name, each in value.items()}
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: _placed(each, base) for name, each in value})
    return value


def _simple() -> list[str]:
    return [name for name in Settings.model_fields if name not in {"models", *_SECTIONS}]


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
        raise SettingsError(f"the settings {file} are not TOML: {error}") from error


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
