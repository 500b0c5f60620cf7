"""Where a dataset's files are published."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RemoteFile"]


@dataclass(frozen=True)
class RemoteFile:
    """One file to download into a dataset's folder.

    Attributes
    ----------
    path : str
        Where it goes, below the dataset's folder; for an archive, the folder of its members.
    url : str
        Where it is published.
    digest : str
        ``"sha256:…"`` or ``"md5:…"``; empty where no published value is known.
    unpack : str
        For a zip archive, the pattern of the members that are kept; empty for a plain file.
    """

    path: str
    url: str
    digest: str = ""
    unpack: str = ""
