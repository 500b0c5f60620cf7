"""SMD, the Server Machine Dataset: 28 machines, 38 metrics each, labels for when and which."""

from __future__ import annotations

from alora_ts.datasets.dataset import Dataset
from alora_ts.datasets.family import Family, Official, Request, one_series
from alora_ts.datasets.interpretation import read_interpretation
from alora_ts.datasets.reading import read_labels, read_matrix
from alora_ts.datasets.remote import RemoteFile
from alora_ts.datasets.smd_hashes import HASHES

__all__ = ["FAMILY"]

_MACHINES = tuple(
    f"machine-{group}-{number}"
    for group, count in ((1, 8), (2, 9), (3, 11))
    for number in range(1, count + 1)
)
_PARTS = ("train", "test", "test_label", "interpretation_label")
_RAW = "https://raw.githubusercontent.com/NetManAIOps/OmniAnomaly/master/ServerMachineDataset"


def _read(request: Request) -> Dataset:
    folder, entity = request.folder, request.entity
    train = read_matrix(folder / "train" / f"{entity}.txt")
    test = read_matrix(folder / "test" / f"{entity}.txt")
    return Dataset(
        name="SMD",
        entity=entity,
        train=train,
        test=test,
        label=read_labels(folder / "test_label" / f"{entity}.txt"),
        interpretation=read_interpretation(
            folder / "interpretation_label" / f"{entity}.txt", last_included=False
        ),
        # The files have no header; the interpretation files count the columns from 1.
        variables=tuple(f"metric-{number}" for number in range(1, test.shape[1] + 1)),
        train_timestamps=None,
        test_timestamps=None,
        train_segments=one_series(len(train)),
        test_segments=one_series(len(test)),
        licence=FAMILY.licence,
        citation=FAMILY.citation,
    )


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
    official=Official(variables=38, train_rows=708_405, test_rows=708_420),
    read=_read,
    files=tuple(
        RemoteFile(path, f"{_RAW}/{path}", f"sha256:{HASHES[path]}" if path in HASHES else "")
        for path in (f"{part}/{machine}.txt" for machine in _MACHINES for part in _PARTS)
    ),
)
