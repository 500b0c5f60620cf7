"""SWaT, the Secure Water Treatment testbed: 51 sensors and actuators, one row a second."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.attacks import locate
from alora_ts.datasets.blocks import Stretch, block_means, split_at_gaps
from alora_ts.datasets.dataset import Dataset
from alora_ts.datasets.family import Family, Official, Request, one_series
from alora_ts.datasets.swat_attacks import ATTACKS
from alora_ts.datasets.tables import CsvTable, hold_last, parse_times, read_table
from alora_ts.errors import DataError

__all__ = ["FAMILY"]

# Workbooks and their CSV exports spell the same files and columns in several ways.
_NORMAL = ("*ormal_v1*.csv*", "*ormal_v0*.csv*", "*ormal*.csv*")
_ATTACK = ("*ttack_v0*.csv*", "*ttack*.csv*")
_LABEL = "normal/attack"
_FORMATS = (
    "%d/%m/%Y %I:%M:%S %p",
    "%d/%m/%Y %I:%M:%S.%f %p",
    "%d/%m/%Y %H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
)
_MINUTE = 60


def _read(request: Request) -> Dataset:
    normal, attack = _file(request.folder, _NORMAL), _file(request.folder, _ATTACK)
    request.step(0, 2)
    train = _stretch(read_table(normal, is_text=_is_text), request.raw)
    request.step(1, 2)
    test_table = read_table(attack, is_text=_is_text)
    test = _stretch(test_table, request.raw)
    request.step(2, 2)
    return Dataset(
        name="SWaT",
        entity=request.entity,
        train=train.values,
        test=test.values,
        label=test.label,
        interpretation=test.interpretation,
        variables=test_table.variables,
        train_timestamps=train.timestamps,
        test_timestamps=test.timestamps,
        train_segments=train.segments,
        test_segments=test.segments,
        licence=FAMILY.licence,
        citation=FAMILY.citation,
    )


def _is_text(name: str) -> bool:
    return name in ("timestamp", _LABEL)


def _file(folder: Path, patterns: tuple[str, ...]) -> Path:
    for pattern in patterns:
        found = sorted(folder.glob(pattern))
        if found:
            return found[0]
    books = ", ".join(sorted(path.name for path in folder.glob("*.xlsx")))
    raise DataError(
        f"{folder} has no file {patterns[-1]}"
        + (
            f", only the workbooks {books}; save them as CSV, for instance with "
            "`soffice --headless --convert-to csv *.xlsx`"
            if books
            else "; copy the Normal and the Attack file there"
        )
    )


def _stretch(table: CsvTable, raw: bool) -> Stretch:
    timestamps = parse_times(table, ("timestamp",), _FORMATS)
    longest = np.timedelta64(_MINUTE, "s")
    label = _labels(table)
    stretch = Stretch(
        values=table.values if raw else hold_last(table),
        timestamps=timestamps,
        segments=split_at_gaps(timestamps, one_series(len(timestamps)), longest=longest),
        label=label,
        # Attacks of the list that lie before the file, as for the normal one, find no row.
        interpretation=locate(ATTACKS, timestamps, table.variables, aliases={}),
    )
    return stretch if raw else block_means(stretch, seconds=_MINUTE)


def _labels(table: CsvTable) -> NDArray[np.bool_]:
    if _LABEL not in table.text:
        raise DataError(
            f"{table.path} has no column Normal/Attack; is this SWaT A1 & A2 of December 2015?"
        )
    # "A ttack" stands in the official file.
    words = table.text[_LABEL].str.replace_all(" ", "").str.to_lowercase()
    odd = ~words.is_in(["normal", "attack"]).fill_null(value=False)
    if odd.any():
        row = int(odd.arg_max() or 0)
        raise DataError(
            f"{table.path}, line {table.first_line + row}, column Normal/Attack: "
            f"{table.text[_LABEL][row]!r} is neither Normal nor Attack; correct the file"
        )
    label: NDArray[np.bool_] = (words == "attack").to_numpy()
    return label


FAMILY = Family(
    name="SWaT",
    title="Secure Water Treatment testbed, December 2015 (A1 & A2)",
    home="https://itrust.sutd.edu.sg/itrust-labs_datasets/dataset_info/",
    licence="iTrust terms: free for research on request, not to be passed on",
    citation=(
        "Goh, Adepu, Junejo, Mathur: A Dataset to Support Research in the Design of Secure Water "
        "Treatment Systems, CRITIS 2016"
    ),
    folders=("SWaT", "SWAT", "swat"),
    marks=("*ttack*.csv*", "*ttack*.xlsx"),
    entities=(),
    whole=True,
    official=Official(variables=51, test_rows=449_919, anomalous=54_621),
    read=_read,
    ask=(
        "SWaT may not be redistributed. Ask iTrust with the form at "
        "https://itrust.sutd.edu.sg/itrust-labs_datasets/dataset_info/ (name, organisation, "
        "purpose); they answer with a link. From 'SWaT.A1 & A2_Dec 2015/Physical' take "
        "SWaT_Dataset_Normal_v1.xlsx and SWaT_Dataset_Attack_v0.xlsx and save each as CSV."
    ),
)
