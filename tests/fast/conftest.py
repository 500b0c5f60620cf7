from __future__ import annotations

import pytest

from alora_ts import fast
from alora_ts.fast import native


@pytest.fixture(params=["plain", "torch", "native"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> fast.Way:
    """Each way in turn, as ALORA_TS_FAST names it."""
    if request.param == "native" and native.installed() is None:
        pytest.skip("installed without compiled kernels")
    monkeypatch.setenv("ALORA_TS_FAST", request.param)
    return fast.way()
