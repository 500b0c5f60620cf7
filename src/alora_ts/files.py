"""Writing files so that no reader ever sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alora_ts.errors import AloraError

__all__ = ["write_atomically"]


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; rename it to ``path`` when the block succeeds.

    The temporary file is fsynced before the rename and removed when the block raises (an
    interrupt included), so ``path`` holds either its old content or all of the new one.

    Parameters
    ----------
    path : path-like
        The file to be written.

    Yields
    ------
    pathlib.Path
        Where to write. It exists, empty, in the folder of ``path`` and has its suffix.

    Raises
    ------
    AloraError
        When the folder does not exist or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "out.txt"
    >>> with write_atomically(target) as part:
    ...     _ = part.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise AloraError(
            f"cannot write {target}: the folder {target.parent} does not exist; create it first"
        )
    if target.is_dir():
        raise AloraError(f"cannot write {target}: it is a folder; give a file name")
    try:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem}.", suffix=f".part{target.suffix}"
        )
    except OSError as error:
        raise AloraError(
            f"cannot write {target}: {error.strerror}; choose a folder you may write to"
        ) from error
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("r+b") as written:  # Windows syncs only what may be written
            os.fsync(written.fileno())
        # mkstemp makes files private; a result deserves the permissions any new file gets.
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
