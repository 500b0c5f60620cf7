"""Pickles: arrays come back whole, anything else is refused without being run."""

from __future__ import annotations

import codecs
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


class Half:
    """An array's name without its content."""

    def __reduce__(self) -> tuple[Any, ...]:
        return np.ndarray, ()


class Rot13:
    """Bytes hidden behind a codec of the file's choice."""

    def __reduce__(self) -> tuple[Any, ...]:
        return codecs.encode, ("text", "rot13")


def test_half_arrays_and_codecs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "half.pkl"
    for bad in (Half(), Rot13()):
        path.write_bytes(pickle.dumps(bad))
        with pytest.raises(DataError, match="half"):
            read_array_pickle(path)


def test_an_array_that_python_2_wrote(tmp_path: Path) -> None:
    path = tmp_path / "old.pkl"
    path.write_bytes(
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89U\x02\x07\xfftb."
    )
    assert read_array_pickle(path).tolist() == [7, 255]


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
