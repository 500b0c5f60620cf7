"""The text files that say which variables an anomaly concerns."""

from __future__ import annotations

import re
from pathlib import Path

from alora_ts.datasets.dataset import Segment
from alora_ts.datasets.reading import need_file
from alora_ts.errors import DataError

__all__ = ["read_interpretation"]

_LINE = re.compile(r"(\d+)-(\d+):(\d+(?:,\d+)*),?")


def read_interpretation(path: Path, *, last_included: bool) -> tuple[Segment, ...]:
    r"""Read lines ``start-end:dim,dim`` with rows counted from 0 and dims from 1.

    Parameters
    ----------
    path : Path
    last_included : bool
        Whether the row named as the end still belongs to the stretch: it does in ASD, and does
        not in SMD.

    Returns
    -------
    tuple of Segment
        In order of time, with an exclusive end and variables counted from 0.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "machine.txt"
    >>> _ = path.write_text("5-8:1,3\n")
    >>> read_interpretation(path, last_included=False)
    (Segment(start=5, end=8, variables=(0, 2)),)
    """
    segments = []
    for number, line in enumerate(need_file(path).read_text().splitlines(), start=1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        dims = sorted({int(dim) for dim in match[3].split(",")}) if match else []
        if match is None or dims[0] < 1:
            raise DataError(
                f"{path}, line {number}: {line[:60]!r} is not of the form start-end:dim,dim with "
                "dims from 1; the file is damaged, fetch or copy it again"
            )
        end = int(match[2]) + last_included
        segments.append(Segment(int(match[1]), end, tuple(dim - 1 for dim in dims)))
    return tuple(sorted(segments))
