"""Brings a dataset from where it is published into the local data folder."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from alora_ts.datasets.downloading import download, file_digest
from alora_ts.datasets.registry import data_root, family
from alora_ts.datasets.remote import RemoteFile
from alora_ts.errors import AloraError, DataError
from alora_ts.progress import Progress, Report, Step, reporting

__all__ = ["fetch"]


def fetch(
    name: str, root: str | os.PathLike[str] | None = None, *, progress: Progress = None
) -> Path:
    """Download a dataset, skipping the files that are already there and right.

    Parameters
    ----------
    name : str
        One of :func:`alora_ts.datasets.names`.
    root : path-like, optional
        Where the datasets lie; see :func:`alora_ts.datasets.data_root`.
    progress : bool, callable or None
        See :mod:`alora_ts.progress`.

    Returns
    -------
    Path
        The dataset's folder.

    Raises
    ------
    DataError
        When the set may not be downloaded (the message says how to ask for it) or a file is
        missing or wrong upstream.
    AloraError
        When the network or the disk fails; calling again resumes from there.

    Examples
    --------
    >>> fetch("SWaT")
    Traceback (most recent call last):
        ...
    alora_ts.errors.DataError: SWaT cannot be fetched. SWaT may not be redistributed. Ask iTrust ...
    """
    found = family(name)
    if not found.files:
        raise DataError(f"{found.name} cannot be fetched. {found.ask}")
    folder = data_root(root) / found.folders[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AloraError(
            f"cannot create {folder}: {error.strerror}; choose another folder with --root"
        ) from None
    with reporting(progress) as report:
        for number, file in enumerate(found.files, start=1):
            _one(file, folder, report)
            report(Step("files", number, len(found.files)))
    return folder


def _one(file: RemoteFile, folder: Path, report: Report) -> None:
    target = folder / file.path
    if file.unpack:
        if not target.is_dir():
            archive = target.with_name(f"{target.name}.zip")
            download(file.url, archive, digest=file.digest, report=report)
            _unpack(archive, target, file.unpack)
            archive.unlink()
        return
    if target.is_file():
        if not file.digest or file_digest(target, file.digest) == file.digest:
            return
        target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    download(file.url, target, digest=file.digest, report=report)


def _unpack(archive: Path, target: Path, pattern: str) -> None:
    """Put the matching members, without their folders, into ``target`` all at once."""
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        with zipfile.ZipFile(archive) as members:
            for member in members.namelist():
                # The name alone: a member's path could lead out of the folder.
                name = PurePosixPath(member).name
                if name and fnmatch(name, pattern):
                    with members.open(member) as source, (fresh / name).open("wb") as copy:
                        shutil.copyfileobj(source, copy)
        if not any(fresh.iterdir()):
            raise DataError(f"{archive} holds no {pattern}; the archive changed upstream")
        fresh.chmod(0o755)
        fresh.replace(target)
    except (zipfile.BadZipFile, EOFError) as error:
        archive.unlink()
        raise DataError(f"{archive} is a damaged archive ({error}); fetch it again") from None
    except OSError as error:
        raise AloraError(
            f"cannot unpack {archive}: {error.strerror}; the archive is kept, free some space and "
            "run the command again"
        ) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
