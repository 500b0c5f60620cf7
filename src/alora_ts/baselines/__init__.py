"""The compared methods behind one interface.

``get("knn").fit(train).score(test)`` works the same for every name in :func:`names`.

To add a method
---------------
1. Write ``baselines/<method>.py`` with one class: ``@dataclass(kw_only=True, eq=False)``,
   subclass of :class:`~alora_ts.baselines.detector.Detector` (or
   :class:`~alora_ts.baselines.torch_detector.TorchDetector`). Its fields are its parameters, their
   defaults the ``paper`` preset; ``check_parameters`` checks them by their annotations.
2. Set the class attributes ``capabilities``, ``scaling`` (standardised, or into a range),
   ``presets`` (what ``cpu`` and ``official`` change) and ``datasets``.
3. Fill in ``_fit(rows, report)``, ``_score(rows, report)`` and ``_score_variables(rows, report)``
   (torch methods: ``_build``, ``_train`` instead of ``_fit``). ``rows.values`` is complete, finite,
   scaled and float32; return one row for each of ``rows``. Windows come from
   :mod:`~alora_ts.baselines.windowed`, the loop from :mod:`~alora_ts.baselines.training`; parts
   that two methods share live in ``baselines/parts``.
4. Add a line to ``_METHODS`` in ``registry.py`` and small test settings to
   ``tests/baselines/small.py``: ``check_detector`` then covers the method.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from alora_ts.baselines.detector import Capabilities, Detector, clone
from alora_ts.baselines.registry import find, get, names

if TYPE_CHECKING:
    from alora_ts.baselines.torch_detector import TorchDetector

__all__ = ["Capabilities", "Detector", "clone", "find", "get", "load", "names"]


def load(path: str | os.PathLike[str]) -> TorchDetector[Any]:
    """Read a fitted torch method; see :func:`alora_ts.baselines.artifact.load`."""
    from alora_ts.baselines.artifact import load as read

    return read(path)
