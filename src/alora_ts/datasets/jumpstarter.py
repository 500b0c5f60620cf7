"""JumpStarter's second and third dataset: services of a content platform, 19 metrics each."""

from __future__ import annotations

import zipfile
from functools import partial

import numpy as np

from alora_ts.datasets.dataset import Dataset
from alora_ts.datasets.family import Family, Official, Request, one_series
from alora_ts.datasets.reading import as_labels, need_file
from alora_ts.errors import DataError

__all__ = ["D2", "D3"]

_SERVICES = tuple(f"service{number}" for number in range(30))


def _read(name: str, request: Request) -> Dataset:
    path = request.folder / f"{request.entity}.npz"
    need_file(path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            train, test, label = (arrays[part] for part in ("train", "test", "test_label"))
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} is not an archive of {name} ({error}); it needs the arrays train, test and "
            "test_label, copy it again"
        ) from None
    for part, values in (("train", train), ("test", test)):
        if values.ndim != 2 or values.dtype.kind not in "fiub":
            raise DataError(
                f"{path}: {part} has shape {values.shape} and type {values.dtype}, expected a "
                "table of numbers; copy it again"
            )
    return Dataset(
        name=name,
        entity=request.entity,
        train=np.ascontiguousarray(train, dtype=np.float32),
        test=np.ascontiguousarray(test, dtype=np.float32),
        label=as_labels(label, f"{path}, test_label"),
        interpretation=(),
        variables=tuple(f"metric-{number}" for number in range(1, test.shape[1] + 1)),
        train_timestamps=None,
        test_timestamps=None,
        train_segments=one_series(len(train)),
        test_segments=one_series(len(test)),
        licence=D2.licence,
        citation=D2.citation,
    )


def _family(number: str, title: str) -> Family:
    name = f"JumpStarter-{number}"
    return Family(
        name=name,
        title=title,
        home="https://github.com/NetManAIOps/JumpStarter",
        licence="MIT",
        citation=(
            "Ma, Zhang, Chen, Xu, Zhao, Zhao, Pei: Jump-Starting Multivariate Time Series Anomaly "
            "Detection for Online Service Systems, USENIX ATC 2021"
        ),
        folders=(f"JumpStarter/{number}", number),
        marks=("service*.npz",),
        entities=_SERVICES,
        whole=False,
        official=Official(variables=19),
        read=partial(_read, name),
        ask=(
            "Clone the repository and write each service as serviceN.npz with the arrays train, "
            f"test and test_label into JumpStarter/{number}."
        ),
    )


D2 = _family("D2", "JumpStarter, dataset 2: services of a content platform, 5 minutes a row")
D3 = _family("D3", "JumpStarter, dataset 3: more services of it, with long events")
