"""HAI, the HIL-based augmented plant: boiler, turbine and water, one row a second.

``HAI`` is release 21.03, the one the paper uses; the others are ``HAI-20.07``, ``HAI-22.04`` and
``HAI-23.05``. Each file is continuous and begins a segment.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alora_ts.datasets.attacks import Attack, locate
from alora_ts.datasets.blocks import Stretch, block_means, split_at_gaps
from alora_ts.datasets.dataset import Dataset
from alora_ts.datasets.family import Family, Official, Request
from alora_ts.datasets.hai_attacks import ATTACKS_21_03, COLUMNS_21_03
from alora_ts.datasets.hai_files import FILES
from alora_ts.datasets.reading import as_labels
from alora_ts.datasets.tables import CsvTable, hold_last, parse_times, read_table
from alora_ts.errors import DataError

__all__ = ["FAMILIES"]

_TIMES = ("time", "timestamp")
_LABELS = ("attack", "label")
_FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y%m%d %H:%M:%S", "%Y/%m/%d %H:%M:%S")
_MINUTE = 60


def _read(release: str, request: Request) -> Dataset:
    family = FAMILIES[release]
    train_files, test_files = (_files(request.folder, part) for part in ("train", "test"))
    tables = []
    for done, path in enumerate((*train_files, *test_files)):
        request.step(done, len(train_files) + len(test_files))
        tables.append(read_table(path, is_text=_is_text))
    request.step(len(tables), len(tables))
    trains, tests = tables[: len(train_files)], tables[len(train_files) :]
    variables = tuple(name.replace(".", "_") for name in trains[0].variables)
    for table in tables:
        names = tuple(name.replace(".", "_") for name in table.variables)
        if names != variables:
            other = sorted(set(names) ^ set(variables)) or ["their order"]
            raise DataError(
                f"{table.path} and {trains[0].path} differ in columns ({', '.join(other[:5])}); "
                "the files are of different releases, keep one release in a folder"
            )
    train = _stretch(
        trains, np.zeros(sum(len(t.values) for t in trains), np.bool_), (), request.raw
    )
    label = np.concatenate([_label(table) for table in tests])
    test = _stretch(tests, label, variables if release == "21.03" else (), request.raw)
    return Dataset(
        name=family.name,
        entity=request.entity,
        train=train.values,
        test=test.values,
        label=test.label,
        interpretation=test.interpretation,
        variables=variables,
        train_timestamps=train.timestamps,
        test_timestamps=test.timestamps,
        train_segments=train.segments,
        test_segments=test.segments,
        licence=family.licence,
        citation=family.citation,
    )


def _is_text(name: str) -> bool:
    # attack_P1 to attack_P3 say which process; the attack table says it more finely.
    return name in _TIMES or name in _LABELS or name.startswith(("attack_", "attack."))


def _files(folder: Path, part: str) -> list[Path]:
    """List train1, train2 … in order, each plain or gzipped."""
    found: dict[int, Path] = {}
    for path in sorted(folder.iterdir(), reverse=True):
        match = re.fullmatch(rf"(?:hai-)?{part}(\d+)\.csv(?:\.gz)?", path.name)
        if match:
            # In reverse order the plain file comes after the gzipped one and stays.
            found[int(match[1])] = path
    if not found:
        raise DataError(f"{folder} has no {part}1.csv; the copy is incomplete, fetch it again")
    return [found[number] for number in sorted(found)]


def _label(table: CsvTable) -> NDArray[np.bool_]:
    source = table
    beside = table.path.with_name(table.path.name.replace("hai-test", "label-test"))
    if not any(name in table.text for name in _LABELS):
        # Release 23.05 keeps the labels in a file of their own.
        if beside == table.path:
            raise DataError(f"{table.path} has no column attack; fetch or copy it again")
        source = read_table(beside, is_text=_is_text)
    column = next((source.text[name] for name in _LABELS if name in source.text), None)
    if column is None or len(column) != len(table.values):
        raise DataError(
            f"{source.path} has {0 if column is None else len(column)} labels for the "
            f"{len(table.values)} rows of {table.path}; fetch both again"
        )
    numbers = column.cast(float, strict=False).fill_null(float("nan")).to_numpy()
    return as_labels(numbers, f"{source.path}, column attack")


def _stretch(
    tables: list[CsvTable], label: NDArray[np.bool_], attacked: tuple[str, ...], raw: bool
) -> Stretch:
    timestamps = np.concatenate([parse_times(table, _TIMES, _FORMATS) for table in tables])
    file = np.repeat(np.arange(len(tables)), [len(table.values) for table in tables])
    stretch = Stretch(
        values=np.concatenate([t.values if raw else hold_last(t) for t in tables]),
        timestamps=timestamps,
        segments=split_at_gaps(timestamps, file, longest=np.timedelta64(_MINUTE, "s")),
        label=label,
        interpretation=locate(
            _windows() if attacked else (),
            timestamps,
            attacked,
            aliases=COLUMNS_21_03,
            snap_to=label,
        ),
    )
    return stretch if raw else block_means(stretch, seconds=_MINUTE)


def _windows() -> list[Attack]:
    """Widen the attacks to the whole minute in which each may have begun."""
    return [
        Attack(a.name, a.start, a.end + np.timedelta64(_MINUTE - 1, "s"), a.points)
        for a in ATTACKS_21_03
    ]


def _family(release: str, official: Official) -> Family:
    name = "HAI" if release == "21.03" else f"HAI-{release}"
    return Family(
        name=name,
        title=f"HIL-based Augmented ICS security dataset, release {release}",
        home="https://github.com/icsdataset/hai",
        licence="CC BY-SA 4.0 (its README also names CC BY 4.0)",
        citation=(
            "Shin, Lee, Yun, Kim: HAI 1.0: HIL-based Augmented ICS Security Dataset, CSET 2020"
        ),
        folders=(f"HAI/hai-{release}", f"hai/hai-{release}", f"hai-{release}", name),
        marks=("test1.csv*", "hai-test1.csv*"),
        entities=(),
        whole=True,
        official=official,
        read=partial(_read, release),
        files=FILES[release],
    )


FAMILIES = {
    "21.03": _family("21.03", Official(variables=79, test_rows=402_005)),
    "20.07": _family("20.07", Official(variables=59)),
    "22.04": _family("22.04", Official(variables=86)),
    "23.05": _family("23.05", Official(variables=86)),
}
