"""What is kept across a crash, and who fell silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.errors import AloraError
from alora_ts.serve.assemble import Journal, Sample, SilenceWatch


def test_samples_survive_until_their_row_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "inside" / "line.journal"
    first = Journal(path)
    first.keep([(10, Sample("a", 11, 1.0)), (10, Sample("b", 9, None)), (20, Sample("a", 20, 3.0))])
    first.keep([(10, Sample("a", 11, 99.0))])
    # No close: a killed process does not close either.
    second = Journal(path)
    assert second.load() == [Sample("b", 9, None), Sample("a", 11, 1.0), Sample("a", 20, 3.0)]
    second.drop([10])
    assert second.load() == [Sample("a", 20, 3.0)]
    first.close()
    second.close()


def test_a_damaged_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "line.journal"
    path.write_bytes(b"no database at all, but long enough to be read as one" * 30)
    with pytest.raises(AloraError, match=r"line\.journal"):
        Journal(path)


@given(
    after=st.integers(0, 20),
    log=st.lists(st.tuples(st.integers(0, 8), st.sampled_from("ab"), st.integers(0, 99))),
    end=st.integers(0, 30),
)
def test_silence_is_the_absence_of_recent_arrivals(
    after: int, log: list[tuple[int, str, int]], end: int
) -> None:
    watch, now, arrivals = SilenceWatch("abc", after=after, now=0), 0, list[tuple[int, str, int]]()
    for pause, name, time in log:
        now += pause
        watch.hear(name, time=time, now=now)
        arrivals.append((now, name, time))
    now += end
    expected = dict[str, int | None]()
    for name in "abc":
        mine = [(arrival, time) for arrival, who, time in arrivals if who == name]
        if now - max((arrival for arrival, _ in mine), default=0) > after:
            expected[name] = max((time for _, time in mine), default=None)
    assert watch.silent(now=now) == expected
