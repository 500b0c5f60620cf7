"""SMD, the Server Machine Dataset: 28 machines, 38 metrics each, labels for when and which."""

from __future__ import annotations

import re
from pathlib import Path

from alora_ts.datasets.dataset import Dataset, Segment
from alora_ts.datasets.family import Family, one_series
from alora_ts.datasets.reading import need_file, read_labels, read_matrix
from alora_ts.errors import DataError

__all__ = ["FAMILY"]

_MACHINES = tuple(
    f"machine-{group}-{number}"
    for group, count in ((1, 8), (2, 9), (3, 11))
    for number in range(1, count + 1)
)
_LINE = re.compile(r"(\d+)-(\d+):(\d+(?:,\d+)*),?")


def _read(folder: Path, entity: str | None, raw: bool) -> Dataset:  # noqa: ARG001
    # `raw` asks for what the files hold, which is what SMD always gives.
    train = read_matrix(folder / "train" / f"{entity}.txt")
    test = read_matrix(folder / "test" / f"{entity}.txt")
    return Dataset(
        name="SMD",
        entity=entity,
        train=train,
        test=test,
        label=read_labels(folder / "test_label" / f"{entity}.txt"),
        interpretation=_interpretation(folder / "interpretation_label" / f"{entity}.txt"),
        # The files have no header; the interpretation files count the columns from 1.
        variables=tuple(f"metric-{number}" for number in range(1, test.shape[1] + 1)),
        train_timestamps=None,
        test_timestamps=None,
        train_segments=one_series(len(train)),
        test_segments=one_series(len(test)),
        licence=FAMILY.licence,
        citation=FAMILY.citation,
    )


def _interpretation(path: Path) -> tuple[Segment, ...]:
    """Read lines ``start-end:dim,dim``: rows from 0, end exclusive, dims from 1."""
    segments = []
    for number, line in enumerate(need_file(path).read_text().splitlines(), start=1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise DataError(
                f"{path}, line {number}: {line[:60]!r} is not of the form start-end:dim,dim; the "
                "file is damaged, fetch or copy it again"
            )
        variables = sorted({int(dim) - 1 for dim in match[3].split(",")})
        segments.append(Segment(int(match[1]), int(match[2]), tuple(variables)))
    return tuple(sorted(segments))


FAMILY = Family(
    name="SMD",
    title="Server Machine Dataset",
    home="https://github.com/NetManAIOps/OmniAnomaly",
    licence="MIT",
    citation=(
        "Su, Zhao, Niu, Liu, Sun, Pei: Robust Anomaly Detection for Multivariate Time Series "
        "through Stochastic Recurrent Neural Network, KDD 2019"
    ),
    folders=("SMD", "ServerMachineDataset"),
    marks=("train/machine-*.txt",),
    entities=_MACHINES,
    whole=False,
    read=_read,
)
