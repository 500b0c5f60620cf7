"""Pickles: arrays come back whole, anything else is refused without being run."""

from __future__ import annotations

import collections
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from alora_ts.datasets.array_pickles import read_array_pickle
from alora_ts.errors import DataError


@given(
    st.sampled_from(["f8", "f4", ">f8", "i8", "u1", "b1", ">i4"]).flatmap(
        lambda kind: arrays(np.dtype(kind), st.sampled_from([(0, 3), (1, 1), (4, 2), (5,)]))
    ),
    st.integers(0, pickle.HIGHEST_PROTOCOL),
    st.booleans(),
)
@settings(deadline=None, max_examples=200)
def test_arrays_of_every_protocol_come_back(
    tmp_path_factory: Any, values: Any, protocol: int, fortran: bool
) -> None:
    path = tmp_path_factory.mktemp("pickles") / "a.pkl"
    values = np.asfortranarray(values) if fortran else values
    path.write_bytes(pickle.dumps(values, protocol=protocol))
    found = read_array_pickle(path)
    trusted = pickle.loads(path.read_bytes())
    assert found.dtype.kind == trusted.dtype.kind
    np.testing.assert_array_equal(found, trusted)


class Runs:
    """What a hostile file would hold."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_in_a_pickle_is_run(tmp_path: Path, protocol: int) -> None:
    marker = tmp_path / "ran"
    path = tmp_path / "bad.pkl"
    for bad in (Runs(marker), np.array([Runs(marker)], dtype=object), [np.zeros(2), Runs(marker)]):
        path.write_bytes(pickle.dumps(bad, protocol=protocol))
        with pytest.raises(DataError, match="only arrays of numbers"):
            read_array_pickle(path)
    assert not marker.exists()


@pytest.mark.parametrize(
    "other",
    [
        {"a": 1},
        [1.0, 2.0],
        "text",
        None,
        np.float64(3.0),
        np.array(["text"]),
        np.array([1 + 2j]),
        np.array([None], dtype=object),
        np.zeros(2, dtype=[("a", "f8")]),
        collections.OrderedDict(a=1),
        np.dtype("f8"),
    ],
)
def test_other_objects_are_refused(tmp_path: Path, other: Any) -> None:
    path = tmp_path / "other.pkl"
    path.write_bytes(pickle.dumps(other))
    with pytest.raises(DataError, match="other"):
        read_array_pickle(path)


@given(st.binary(max_size=60))
@settings(deadline=None)
def test_noise_is_refused(tmp_path_factory: Any, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / "n.pkl"
    path.write_bytes(noise)
    with pytest.raises(DataError):
        read_array_pickle(path)


def test_a_cut_pickle_is_refused(tmp_path: Path) -> None:
    whole = pickle.dumps(np.arange(12.0).reshape(3, 4))
    path = tmp_path / "cut.pkl"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError):
            read_array_pickle(path)
