"""Methods that other packages bring by an entry point."""

from __future__ import annotations

import sys

import pytest

from alora_ts import baselines
from alora_ts.baselines import registry
from alora_ts.errors import AloraError

MODULE = """
from dataclasses import dataclass
import numpy as np
from alora_ts.baselines import Detector

@dataclass(kw_only=True, eq=False)
class Last(Detector):
    power: float = 2.0

    def _fit(self, rows, report):
        pass

    def _score(self, rows, report):
        return np.abs(rows.values).max(1) ** self.power

class Stranger:
    pass
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Lay out an installed package, as pip does."""

    def installed(*points):
        (tmp_path / "added_package.py").write_text(MODULE)
        about = tmp_path / "added_package-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: added-package\nVersion: 1.0\n"
        )
        (about / "entry_points.txt").write_text("[alora_ts.detectors]\n" + "\n".join(points))
        monkeypatch.syspath_prepend(tmp_path)
        registry._added.cache_clear()

    yield installed
    sys.modules.pop("added_package", None)
    monkeypatch.undo()
    registry._added.cache_clear()


def test_an_added_method_is_one_like_any_other(install):
    install("last = added_package:Last", "knn = added_package:Last")
    assert baselines.names()[-1] == "last"
    made = baselines.get("last", "cpu", power=1.0)
    assert made.fit([[0.0], [1.0], [2.0]]).score([[9.0]]).shape == (1,)
    # A name of ours stays ours.
    assert baselines.find("knn").__name__ == "KNN"
    with pytest.raises(AloraError, match="did you mean 'last'"):
        baselines.find("lasst")


def test_what_cannot_be_used_is_named_with_its_place(install):
    install("gone = added_package:Gone", "stranger = added_package:Stranger")
    with pytest.raises(AloraError, match=r"'gone'.*cannot be imported"):
        baselines.find("gone")
    with pytest.raises(AloraError, match="not a subclass"):
        baselines.find("stranger")
