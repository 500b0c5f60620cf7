"""Names that come with the data stay names."""

from __future__ import annotations

from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from alora_ts.fleet.memory import available_memory, estimate_memory
from alora_ts.fleet.names import folder_name
from alora_ts.fleet.status import Status


@given(st.text())
def test_a_folder_name_is_one_visible_part_of_a_path(name: str) -> None:
    folder = folder_name(name)
    assert folder
    assert PurePosixPath(folder).parts == (folder,)
    assert not folder.startswith(".")
    assert len(folder) <= 120
    assert folder.isascii()
    assert folder.isprintable()


@given(st.lists(st.text(max_size=200), unique=True, max_size=20))
def test_different_names_have_different_folders(names: list[str]) -> None:
    assert len({folder_name(name) for name in names}) == len(names)


def test_long_names_that_differ_at_the_end_differ() -> None:
    assert folder_name("x" * 500 + "a") != folder_name("x" * 500 + "b")


@given(st.text(), st.text())
def test_a_status_survives_being_written(name: str, reason: str) -> None:
    status = Status(name, "fit", "failed", "00", reason, {"rows": 3})
    assert Status.from_json(status.to_json()) == status


def test_what_is_not_a_status_is_none() -> None:
    for content in (b"", b"[]", b"{", b'{"entity": 1}', b"null"):
        assert Status.from_json(content) is None


def test_memory_grows_with_the_rows() -> None:
    small, large = (estimate_memory([("a.parquet", size)]) for size in (10, 10**9))
    assert small < large
    assert estimate_memory([]) <= small
    assert available_memory() > 0
