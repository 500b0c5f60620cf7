"""Every dataset by its name."""

from __future__ import annotations

import os
from pathlib import Path

from alora_ts.datasets import asd, hai, jumpstarter, msds, psm, smd, swat, telemanom, tsb_ad
from alora_ts.datasets.dataset import Dataset
from alora_ts.datasets.family import Family, Request
from alora_ts.datasets.own import own_families
from alora_ts.errors import DataError, nearest
from alora_ts.progress import Progress, reporting

__all__ = ["FAMILIES", "data_root", "entities", "family", "load", "names"]

FAMILIES: dict[str, Family] = {
    f.name: f
    for f in (
        smd.FAMILY,
        psm.FAMILY,
        telemanom.MSL,
        telemanom.SMAP,
        swat.FAMILY,
        *hai.FAMILIES.values(),
        msds.FAMILY,
        asd.FAMILY,
        jumpstarter.D2,
        jumpstarter.D3,
        tsb_ad.FAMILY,
    )
}


def names() -> tuple[str, ...]:
    """List the registered datasets.

    Examples
    --------
    >>> "SMD" in names()
    True
    """
    return tuple(FAMILIES)


def family(name: str, root: str | os.PathLike[str] | None = None) -> Family:
    """Return what is known about a dataset; upper and lower case do not matter.

    Parameters
    ----------
    name : str
        One of :func:`names`, or a set of the user's that was added to ``root``.
    root : path-like, optional
        See :func:`data_root`.

    Examples
    --------
    >>> family("smd").title
    'Server Machine Dataset'
    """
    known = FAMILIES
    if name.lower() not in (registered.lower() for registered in FAMILIES):
        known = {**FAMILIES, **own_families(data_root(root))}
    for registered, found in known.items():
        if registered.lower() == name.lower():
            return found
    raise DataError(f"there is no dataset {name!r}{nearest(name, known)}")


def entities(name: str) -> tuple[str, ...]:
    """List the entities of a dataset; empty for one that is a single series.

    Examples
    --------
    >>> entities("SMD")[:2]
    ('machine-1-1', 'machine-1-2')
    """
    return family(name).entities


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """Say where datasets are looked for.

    Parameters
    ----------
    root : path-like, optional
        Without it, the environment variable ``ALORA_TS_DATA``; without that,
        ``alora-ts`` in the user's cache folder (``XDG_CACHE_HOME`` or ``~/.cache``).

    Returns
    -------
    Path

    Examples
    --------
    >>> data_root("datasets").name
    'datasets'
    """
    chosen = root or os.environ.get("ALORA_TS_DATA")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alora-ts"


def load(
    name: str,
    root: str | os.PathLike[str] | None = None,
    entity: str | None = None,
    *,
    raw: bool = False,
    progress: Progress = None,
) -> Dataset:
    """Load a benchmark dataset, or one entity of it.

    Parameters
    ----------
    name : str
        One of :func:`names`, or a set of the user's (:func:`alora_ts.datasets.add`).
    root : path-like, optional
        The folder that holds the datasets' folders; see :func:`data_root`.
    entity : str, optional
        One of :func:`entities`. Without it, MSL and SMAP give all channels one after the other,
        with segment ids; SMD and ASD need it.
    raw : bool
        Give rows and cells as the files have them: no means over a minute, no thinning, no
        filled cells.
    progress : bool, callable or None
        See :mod:`alora_ts.progress`; the plants' files take some seconds to read.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        When the name or entity is unknown, or files are missing or damaged.

    Examples
    --------
    >>> load("SMDD")
    Traceback (most recent call last):
        ...
    alora_ts.errors.DataError: there is no dataset 'SMDD'; did you mean 'SMD'? Known: ...
    """
    found = family(name, root)
    found.check_entity(entity)
    folder = found.folder(data_root(root))
    with reporting(progress) as report:
        return found.read(Request(folder, entity, raw, report))
