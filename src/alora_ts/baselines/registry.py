"""All compared methods by name, and their presets.

Other packages add methods through the entry point group ``alora_ts.detectors``: the name of an
entry point is the method's, its object a subclass of :class:`~alora_ts.baselines.Detector`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from alora_ts.baselines.detector import Detector
from alora_ts.baselines.parameters import check_known
from alora_ts.errors import AloraError, nearest

__all__ = ["find", "get", "name_of", "names"]

# Modules are imported when asked for, so that no method costs those who do not use it.
_METHODS = {
    "random": "honest.Random",
    "always-alarm": "honest.AlwaysAlarm",
    "norm": "honest.Norm",
    "knn": "knn.KNN",
    "pca": "pca.PCA",
    "lof": "lof.LOF",
    "oc-svm": "ocsvm.OCSVM",
    "isolation-forest": "isolation_forest.IsolationForest",
    "kmeans-ad": "kmeans_ad.KMeansAD",
    "cnn": "cnn.CNN",
    "omnianomaly": "omnianomaly.OmniAnomaly",
    "daemon": "daemon.DAEMON",
    "interfusion": "interfusion.InterFusion",
    "anomaly-transformer": "anomaly_transformer.AnomalyTransformer",
    "dcdetector": "dcdetector.DCdetector",
    "memto": "memto.MEMTO",
    "npsr": "npsr.NPSR",
    "d3r": "d3r.D3R",
    "sarad": "sarad.SARAD",
    "aerca": "aerca.AERCA",
}


_GROUP = "alora_ts.detectors"


@cache
def _added() -> dict[str, EntryPoint]:
    """What other packages bring; a name of ours stays ours."""
    return {point.name: point for point in entry_points(group=_GROUP) if point.name not in _METHODS}


def names() -> tuple[str, ...]:
    """Return the names of all methods: trivial ones, classical ones, by year, then added ones.

    Examples
    --------
    >>> names()[:3]
    ('random', 'always-alarm', 'norm')
    """
    return (*_METHODS, *sorted(_added()))


def find(name: str) -> type[Detector]:
    """Return a method's class.

    Raises
    ------
    AloraError
        When there is no such method; the message suggests one.

    Examples
    --------
    >>> find("knn").__name__
    'KNN'
    >>> find("kn")
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: there is no method 'kn'; did you mean 'knn'? Known: ...
    """
    if name in _added():
        return _load(_added()[name])
    if name not in _METHODS:
        raise AloraError(f"there is no method {name!r}{nearest(name, names())}")
    module, kind = _METHODS[name].split(".")
    found: type[Detector] = getattr(import_module(f"alora_ts.baselines.{module}"), kind)
    return found


def _load(point: EntryPoint) -> type[Detector]:
    try:
        kind = point.load()
    except Exception as error:
        raise AloraError(
            f"the method {point.name!r} ({point.value}) cannot be imported: {error}; fix or "
            "uninstall the package that adds it"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Detector)):
        raise AloraError(
            f"the method {point.name!r} ({point.value}) is not a subclass of "
            "alora_ts.baselines.Detector"
        )
    return kind


def name_of(kind: type[Detector]) -> str:
    """Return the name a class is registered by.

    Examples
    --------
    >>> name_of(find("knn"))
    'knn'
    """
    home = f"{kind.__module__.removeprefix('alora_ts.baselines.')}.{kind.__name__}"
    return {place: name for name, place in _METHODS.items()}[home]


def get(
    name: str, preset: str = "paper", *, dataset: str | None = None, **overrides: Any
) -> Detector:
    """Make an unfitted detector.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    preset : {"paper", "official", "cpu"}
        As published; as the published code does it, where that differs; or small enough for two
        cores.
    dataset : str, optional
        Take the settings that the authors chose for this dataset ("SMD", "PSM", …), where they
        chose any. The ``cpu`` preset goes before them.
    **overrides
        Parameters to set otherwise.

    Returns
    -------
    Detector
        It knows its ``preset`` and the ``changes()`` made to it.

    Raises
    ------
    AloraError
        When the method, the preset or a parameter does not exist.

    Examples
    --------
    >>> get("knn", neighbours=3).changes()
    {'neighbours': 3}
    >>> get("knn", "cpus")
    Traceback (most recent call last):
    ...
    alora_ts.errors.AloraError: 'knn' has no preset 'cpus'; did you mean 'cpu'? Known: cpu, paper
    """
    kind = find(name)
    if preset not in kind.presets:
        raise AloraError(f"{name!r} has no preset {preset!r}{nearest(preset, kind.presets)}")
    check_known(kind, list(overrides))
    published = {} if dataset is None else kind.datasets.get(dataset, {})
    return kind(**{**published, **kind.presets[preset], "preset": preset, **overrides})
