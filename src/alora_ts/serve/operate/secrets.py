"""Passwords and keys: given in place or in a file of their own, never shown."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from alora_ts.errors import AloraError

__all__ = ["read_secret"]


def read_secret(value: SecretStr | None, file: Path | None) -> str | None:
    """Return the secret; a file's last line break is not part of it.

    Raises
    ------
    AloraError
        When both are given, or the file cannot be read.

    Examples
    --------
    >>> read_secret(SecretStr("s3cret"), None)
    's3cret'
    >>> read_secret(None, Path("no-such-file"))
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: cannot read the secret in no-such-file: No such file or directory...
    """
    if value is not None and file is not None:
        raise AloraError(f"a secret is given both in place and in {file}; keep one of them")
    if value is not None:
        return value.get_secret_value()
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise AloraError(
            f"cannot read the secret in {file}: {why}; let the service's user read it"
        ) from error
