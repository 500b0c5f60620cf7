"""Compares a local copy of a dataset with what is known about the official one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alora_ts.datasets.dataset import Dataset, label_segments
from alora_ts.datasets.downloading import file_digest
from alora_ts.datasets.family import Family, Request
from alora_ts.datasets.registry import data_root, family
from alora_ts.errors import DataError
from alora_ts.progress import Progress, Report, Step, reporting

__all__ = ["Finding", "check"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    fine : bool
        Whether the copy is as it should be.
    text : str
        What was seen, and where it differs, from what.
    """

    fine: bool
    text: str


def check(
    name: str, root: str | os.PathLike[str] | None = None, *, progress: Progress = None
) -> list[Finding]:
    r"""Verify a local copy: files, hashes where known, shapes, rates, labels against segments.

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
    list of Finding

    Raises
    ------
    DataError
        When there is no copy at all.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, label in (("train", ""), ("test", ""), ("test_label", "label")):
    ...     _ = (folder / f"{name}.csv").write_text(f"timestamp_(min),{label or 'load'}\n0,1\n")
    >>> for finding in check("PSM", folder, progress=False):
    ...     print(finding.fine, finding.text)
    True PSM: train 1 × 1, test 1, 100.00% anomalous in 1 stretch
    False 1 variables, but 25 are published
    False 1 train rows, but 132481 are published
    False 1 test rows, but 87841 are published
    """
    found = family(name)
    folder = found.folder(data_root(root))
    findings = list(_hashes(found, folder))
    parts: list[Dataset] = []
    # A set that loads whole is read once; its entities are parts of the same files.
    entities: tuple[str | None, ...] = (None,) if found.whole else found.entities
    with reporting(progress) as report:
        for number, entity in enumerate(entities, start=1):
            try:
                dataset = found.read(Request(folder, entity, True, report))
            except DataError as error:
                findings.append(Finding(False, str(error)))
                if entity is None:
                    findings.extend(_broken(found, folder, str(error), report))
            else:
                parts.append(dataset)
                findings.append(_describe(dataset))
            report(Step("checking", number, len(entities)))
    if len(parts) == len(entities):
        findings.extend(_totals(found, parts))
    return findings


def _broken(found: Family, folder: Path, known: str, report: Report) -> Iterator[Finding]:
    """Say of each entity by itself what is wrong with it, beyond what is known already."""
    for entity in found.entities:
        try:
            found.read(Request(folder, entity, True, report))
        except DataError as error:
            if str(error) != known:
                yield Finding(False, str(error))


def _hashes(found: Family, folder: Path) -> Iterator[Finding]:
    right = 0
    for remote in found.files:
        file = folder / remote.path
        # An archive's digest is that of the zip, which is gone once unpacked.
        if not remote.digest or remote.unpack or not file.is_file():
            continue
        if file_digest(file, remote.digest) == remote.digest:
            right += 1
        else:
            yield Finding(False, f"{file} has not the official checksum; fetch it again")
    if right:
        yield Finding(True, f"official checksum of {right} file{'s' * (right > 1)}")


def _describe(dataset: Dataset) -> Finding:
    place = dataset.entity or dataset.name
    runs = label_segments(dataset.label)
    told = [(s.start, s.end) for s in dataset.interpretation]
    text = (
        f"{place}: train {dataset.train.shape[0]} × {dataset.train.shape[1]}, test "
        f"{dataset.test.shape[0]}, {dataset.label.mean():.2%} anomalous in {len(runs)} stretch"
        f"{'es' * (len(runs) != 1)}"
    )
    if told:
        agreeing = len(set(runs) & set(told))
        text += (
            f", {len(told)} of them interpreted"
            if len(told) == agreeing == len(runs)
            else (f", {len(told)} interpreted stretches of which {agreeing} match a labelled one")
        )
    holes = int(np.isnan(dataset.train).sum() + np.isnan(dataset.test).sum())
    if holes:
        text += f", {holes} empty cells"
    return Finding(True, text)


def _totals(found: Family, parts: list[Dataset]) -> Iterator[Finding]:
    official = found.official
    for what, wanted, seen in (
        ("variables", official.variables, parts[0].test.shape[1]),
        ("train rows", official.train_rows, sum(len(p.train) for p in parts)),
        ("test rows", official.test_rows, sum(len(p.test) for p in parts)),
        ("anomalous test rows", official.anomalous, sum(int(p.label.sum()) for p in parts)),
    ):
        if wanted is None:
            continue
        if seen == wanted:
            yield Finding(True, f"{seen} {what}, as published")
        else:
            yield Finding(False, f"{seen} {what}, but {wanted} are published")
