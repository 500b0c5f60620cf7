"""Downloads one file: resumed where it was cut, checked, and never seen half-finished."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from alora_ts.errors import AloraError, DataError
from alora_ts.progress import Report, Step

__all__ = ["download", "file_digest"]

_CHUNK = 1 << 18
_ATTEMPTS = 3
_PATIENCE_SECONDS = 60
_AGENT = {"User-Agent": "alora-ts"}


def file_digest(path: Path, like: str) -> str:
    """Hash a file in the way of ``like``, which begins with ``"sha256:"`` or ``"md5:"``."""
    algorithm = like.partition(":")[0]
    # MD5 is what some publishers state; it guards against accidents here, not against people.
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{algorithm}:{digest.hexdigest()}"


def download(url: str, target: Path, *, digest: str = "", report: Report) -> None:
    """Bring ``url`` to ``target``, going on from an earlier try where there is one.

    The bytes go to a hidden ``.part`` file beside the target, which a later call continues when
    the server vouches that the file is still the same one. It gets the target's name after its
    length and digest are right.

    Parameters
    ----------
    url : str
    target : Path
        Its folder must exist.
    digest : str
        ``"sha256:…"`` or ``"md5:…"``; empty to check the length alone.
    report : callable
        Receives :class:`~alora_ts.progress.Step` objects that count bytes.

    Raises
    ------
    DataError
        When the server has no such file or sends another one than expected.
    AloraError
        When the connection or the disk fails.
    """
    part = target.with_name(f".{target.name}.part")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _receive(url, part, target.name, report)
            break
        except HTTPError as error:
            error.close()
            raise DataError(
                f"{url} answered {error.code} {error.reason}; the file may have moved, see the "
                "dataset's home with `alora-ts data info`"
            ) from None
        except (URLError, HTTPException, TimeoutError, ConnectionError, _CutError) as error:
            if attempt == _ATTEMPTS:
                have = part.stat().st_size if part.exists() else 0
                raise AloraError(
                    f"downloading {url} failed after {have} bytes ({error}); run the command "
                    "again to go on from there"
                ) from None
        except OSError as error:
            raise _disk_error(error, part) from None
    if digest:
        found = file_digest(part, digest)
        if found != digest:
            part.unlink()
            _tag(part).unlink(missing_ok=True)
            raise DataError(
                f"{url} has the checksum {found}, expected {digest}; the file was changed upstream "
                "or on the way and was deleted, try again or compare with the dataset's home"
            )
    # write_atomically gives its temporary file a new name each time; resuming needs one that stays.
    part.replace(target)
    _tag(part).unlink(missing_ok=True)


class _CutError(Exception):
    """The connection ended before the announced length."""


def _tag(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")


def _receive(url: str, part: Path, task: str, report: Report) -> None:
    headers = dict(_AGENT)
    have = part.stat().st_size if part.exists() else 0
    tag = _tag(part).read_text() if _tag(part).exists() else ""
    if have and tag:
        # Without a tag nothing shows that the rest would belong to the same file.
        headers |= {"Range": f"bytes={have}-", "If-Range": tag}
    try:
        response = urlopen(Request(url, headers=headers), timeout=_PATIENCE_SECONDS)
    except HTTPError as error:
        if error.code != 416:
            raise
        # The part is as long as the file or longer: only a fresh start shows which.
        error.close()
        part.unlink()
        response = urlopen(Request(url, headers=_AGENT), timeout=_PATIENCE_SECONDS)
    with response:
        resumed = response.status == 206
        start = have if resumed else 0
        announced = response.headers.get("Content-Length")
        total = start + int(announced) if announced else 0
        _need_space(part, total - start)
        _tag(part).write_text(_strong_tag(response))
        with part.open("ab" if resumed else "wb") as file:
            done = _copy(response, file, done=start, total=total, task=task, report=report)
            file.flush()
            os.fsync(file.fileno())
    if total and done < total:
        raise _CutError(f"the connection ended at {done} of {total} bytes")


def _strong_tag(response: HTTPResponse) -> str:
    tag = response.headers.get("ETag", "")
    # If-Range compares strongly; a weak tag may stand for two different files.
    return "" if tag.startswith("W/") else tag or response.headers.get("Last-Modified", "")


def _need_space(part: Path, wanted: int) -> None:
    if shutil.disk_usage(part.parent).free < wanted:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _copy(
    response: HTTPResponse, file: IO[bytes], *, done: int, total: int, task: str, report: Report
) -> int:
    report(Step(task, done, total))
    while chunk := response.read(_CHUNK):
        file.write(chunk)
        done += len(chunk)
        report(Step(task, done, max(total, done)))
    return done


def _disk_error(error: OSError, part: Path) -> AloraError:
    if error.errno == errno.ENOSPC:
        return AloraError(
            f"the disk of {part.parent} is full; what was downloaded is kept, free some space and "
            "run the command again to go on, or choose another folder with --root"
        )
    return AloraError(
        f"cannot write {part.parent}: {error.strerror}; choose a folder you may write to with "
        "--root"
    )
