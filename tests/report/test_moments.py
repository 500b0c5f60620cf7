from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.report.moments import Clock, number, round_ticks
from tests.report.example import diagnosis_of


def clock_of(stamps, zone=None):
    values = np.zeros((len(stamps), 1))
    return Clock.of(diagnosis_of(values, values, timestamps=stamps, zone=zone))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_numbers_keep_three_digits(value):
    said = float(number(value).replace(",", ""))
    assert said == pytest.approx(value, rel=0.006, abs=1e-300)


@given(
    low=st.floats(-1e9, 1e9),
    span=st.floats(1e-3, 1e9),
    kind=st.sampled_from(["time", "row", "number"]),
    most=st.integers(2, 9),
)
def test_ticks_lie_inside_in_order_and_are_few(low, span, kind, most):
    high = low + span
    if high <= low:
        return
    ticks = Clock(np.zeros(1), kind).ticks(low, high, most=most)
    at = [tick for tick, _ in ticks]
    assert at == sorted(set(at))
    assert len(at) <= most + 1
    slack = 1e-9 * (abs(low) + abs(high)) + 1e-9
    assert all(low - slack <= tick <= high + slack for tick in at)
    assert all(label for _, label in ticks)


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-6, 1e6))
def test_round_ticks_are_few_and_present(low, span):
    ticks = round_ticks(low, low + span)
    assert 1 <= len(ticks) <= 6


def test_fast_data_has_ticks_within_a_second():
    labels = [label for _, label in Clock(np.zeros(1)).ticks(5.0, 5.04)]
    assert labels[1] == "00:00:05.010"


def test_a_flat_axis_has_one_tick():
    assert round_ticks(3.0, 3.0) == [3.0]


def test_times_are_written_as_short_as_they_can_be():
    stamps = np.array(
        ["2026-03-01T10:00:00", "2026-03-01T10:00:05", "2026-03-01T10:00:05.250"], "datetime64[us]"
    )
    clock = clock_of(stamps)
    assert [clock.at(row) for row in range(3)] == [
        "2026-03-01 10:00",
        "2026-03-01 10:00:05",
        "2026-03-01 10:00:05.250",
    ]
    assert clock.between(1, 2) == "250 ms"
    assert clock.span(0, 1) == "one row"
    assert clock.span(0, 2) == "5 s"
    assert clock.zone == ""


def test_zones_show_the_wall_clock_unless_it_repeats_an_hour():
    summer = np.array(["2026-07-01T10:00", "2026-07-01T11:00"], "datetime64[us]")
    assert clock_of(summer, "Europe/Berlin").at(0) == "2026-07-01 12:00"
    assert clock_of(summer, "Europe/Berlin").zone == "Europe/Berlin"
    back = np.arange("2026-10-25T00:00", "2026-10-25T03:00", 600, dtype="datetime64[s]")
    utc = clock_of(back.astype("datetime64[us]"), "Europe/Berlin")
    assert (utc.at(0), utc.zone) == ("2026-10-25 00:00", "UTC")


def test_late_rows_and_rows_without_times():
    late = np.array(["2026-01-01T00:02", "2026-01-01T00:01", "2026-01-01T00:03"], "datetime64[us]")
    assert (np.diff(clock_of(late).moments) >= 0).all()
    assert clock_of(np.array([0.5, 2.0])).at(0) == "0.5"
    assert clock_of(np.array([0.5, 2.0])).between(0, 1) == "1.5"
    values = np.zeros((1200, 1))
    rows = Clock.of(diagnosis_of(values, values))
    assert rows.at(1100) == "row 1,100"
    assert rows.between(0, 1100) == "1,100 rows"
