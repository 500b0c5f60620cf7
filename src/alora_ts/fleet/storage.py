"""Where a fleet lives: a folder on this computer or any place fsspec can reach."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fsspec.core import url_to_fs  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from alora_ts.errors import AloraError
from alora_ts.files import write_atomically

__all__ = ["Store", "absolute", "digest_file", "fetched", "open_place"]

_BLOCK = 2**20


class Store:
    """Files below one root, written atomically.

    Parameters
    ----------
    root : path or URL
        A local folder, or a URL such as ``s3://bucket/fleet``; credentials come from the
        environment, as the fsspec package for that scheme reads them.

    Examples
    --------
    >>> store = Store(tempfile.mkdtemp())
    >>> store.write(b"whole", "a/b.txt")
    >>> store.read("a/b.txt"), store.read("a/c.txt")
    (b'whole', None)
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._files, self._root = open_place(root)
        self.url: str = _url(self._files, self._root)

    @property
    def folder(self) -> Path | None:
        """The local folder; None where the root is elsewhere."""
        return Path(self._root) if isinstance(self._files, LocalFileSystem) else None

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None where there is none."""
        try:
            content: bytes = self._files.cat_file(self._path(name))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        return content

    def read_all(self, names: Sequence[str]) -> Iterator[tuple[str, bytes | None]]:
        """The contents of many files, some hundred at a time."""
        for start in range(0, len(names), 500):
            part = {self._path(name): name for name in names[start : start + 500]}
            found = self._files.cat(list(part), on_error="omit") if part else {}
            for path, name in part.items():
                yield name, found.get(path)

    def write(self, content: bytes, name: str) -> None:
        """Write a file, atomically."""
        with self.writing(name) as path:
            path.write_bytes(content)

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a local path to write to; the file is in its place when the block succeeds."""
        target = self._path(name)
        if self.folder is not None:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            with write_atomically(target) as part:
                yield part
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / Path(name).name
            yield path
            # Object stores show an object only once it is complete.
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(path), target)

    @contextmanager
    def reading(self, name: str) -> Iterator[Path]:
        """Yield a local path with a file's content."""
        with fetched([_url(self._files, self._path(name))]) as (path,):
            yield path

    def digest(self, name: str) -> str | None:
        """SHA-256 of a file, or None where there is none."""
        content = self.read(name)
        return None if content is None else hashlib.sha256(content).hexdigest()

    def remove(self, name: str) -> None:
        """Remove a file or folder, where there is one."""
        path = self._path(name)
        if self._files.exists(path):
            self._files.rm(path, recursive=True)

    def folders(self, name: str) -> list[str]:
        """Names of the folders inside a folder, sorted."""
        try:
            listed = self._files.ls(self._path(name), detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        inside = [each["name"] for each in listed if each["type"] == "directory"]
        return sorted(each.rstrip("/").rpartition("/")[2] for each in inside)

    def copy_to(self, other: Store) -> None:
        """Copy every file to another store."""
        for path in self._files.find(self._root):
            name = path.removeprefix(self._root).lstrip("/")
            content = self.read(name)
            if content is not None and not name.rpartition("/")[2].startswith("."):
                other.write(content, name)

    def sweep(self) -> None:
        """Remove what killed workers left unfinished. Nobody may be writing meanwhile."""
        if self.folder is None:
            return
        for part in self.folder.rglob(".*.part*"):
            part.unlink(missing_ok=True)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def absolute(path: str | os.PathLike[str]) -> str:
    """A path or URL that means the same on every worker.

    Examples
    --------
    >>> absolute("day.csv") == str(Path("day.csv").absolute())
    True
    """
    files, inside = open_place(path)
    return _url(files, inside)


@contextmanager
def fetched(urls: Sequence[str]) -> Iterator[list[Path]]:
    """Local paths with the content of files, copied here for the time of the block if needed."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, url in enumerate(urls):
            files, inside = open_place(url)
            if isinstance(files, LocalFileSystem):
                paths.append(Path(inside))
                continue
            # Numbered folders keep equal names apart, and the order that the names had.
            copy = Path(folder) / f"{number:09}" / inside.rpartition("/")[2]
            copy.parent.mkdir()
            files.get_file(inside, str(copy))
            paths.append(copy)
        yield paths


def digest_file(path: Path) -> str:
    """SHA-256 of a local file, read in blocks."""
    found = hashlib.sha256()
    with path.open("rb") as opened:
        while block := opened.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def open_place(path: str | os.PathLike[str]) -> tuple[LocalFileSystem, str]:
    """The file system of a path or URL, and the path inside it.

    Raises
    ------
    AloraError
        When the scheme is unknown or its package is not installed.
    """
    try:
        files, inside = url_to_fs(os.fspath(path))
    except (ImportError, ValueError) as error:
        raise AloraError(f"cannot reach {path}: {error}") from error
    return files, inside.rstrip("/") or "/"


def _url(files: LocalFileSystem, inside: str) -> str:
    if isinstance(files, LocalFileSystem):
        return inside
    return str(files.unstrip_protocol(inside))
