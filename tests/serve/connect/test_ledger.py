"""Messages are done with when every row that they serve is stored, and not before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from alora_ts.serve.assemble import Sample
from alora_ts.serve.connect.ledger import Ledger

PLACE = ("signals", 0)
batches = st.lists(st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 5))), max_size=8)


@given(batches, st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5)), max_size=20))
def test_equals_a_look_at_everything(
    served: list[set[tuple[str, int]]], stored: list[tuple[str, int]]
) -> None:
    ledger = Ledger()
    for number, rows in enumerate(served, start=1):
        ledger.begin({PLACE: number})
        for source, point in rows:
            ledger.keeper(source).keep([(point, Sample("x", point, 1.0))])
    reached = ledger.done().get(PLACE, 0)
    for at in range(len(stored) + 1):
        open_rows = [rows - set(stored[:at]) for rows in served]
        expected = next((n for n, rows in enumerate(open_rows) if rows), len(served))
        if at:
            source, point = stored[at - 1]
            ledger.keeper(source).drop([point])
            reached = ledger.done().get(PLACE, reached)
        assert reached == expected
