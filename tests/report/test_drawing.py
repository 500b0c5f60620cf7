from __future__ import annotations

import base64
import io
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from alora_ts.report.chart import Band, Line, chart, path
from alora_ts.report.moments import Clock
from alora_ts.report.overview import largest_within
from alora_ts.report.png import shade_png
from alora_ts.report.sampling import sample_rows
from alora_ts.report.scales import Scale
from tests.report.naive_report import naive_height, naive_path

ODD = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf, -math.inf]))


@given(st.lists(ODD, max_size=30))
def test_paths_agree_with_the_naive_pen(ys):
    xs = [10.0 * i for i in range(len(ys))]
    assert path(np.array(xs), np.array(ys, dtype=float)) == naive_path(xs, ys)


@given(value=ODD, low=st.floats(0, 100), span=st.floats(0.1, 1e5), alarm=st.booleans())
def test_heights_agree_with_the_naive_scale(value, low, span, alarm):
    found = float(Scale(low, low + span, alarm=alarm).heights(np.array([value]))[0])
    if math.isnan(value):
        assert math.isnan(found)
    elif math.isfinite(value):
        assert found == pytest.approx(naive_height(value, low, low + span, alarm=alarm), abs=1e-6)
    else:
        assert found == (0 if value > 0 else 1000)


def test_scales_cope_with_nothing_and_with_constants():
    assert Scale.over(np.full(3, np.nan)) == Scale(0.0, 1.0)
    assert Scale.over() == Scale(0.0, 1.0)
    flat = Scale.over(np.full(4, 7.0))
    assert flat.heights(np.array([7.0]))[0] == pytest.approx(500)
    zero = Scale.over(np.zeros(4))
    assert zero.heights(np.array([0.0]))[0] == pytest.approx(500)
    assert Scale.for_scores(np.zeros(0)).high == 2.0
    ticks = [tick for tick, _ in Scale.for_scores(np.array([5000.0])).ticks()]
    assert ticks[:2] == [0.0, 1.0]
    assert len(ticks) <= 6


@given(st.lists(ODD, min_size=1, max_size=400), st.integers(3, 60))
def test_sampling_keeps_ends_and_order(values, points):
    line = np.array(values, dtype=float)
    rows = sample_rows(line, points=points)
    assert (np.diff(rows) > 0).all()
    assert len(rows) <= max(points, 3)
    assert (rows[0], rows[-1]) == (0, len(line) - 1)


def test_sampling_keeps_a_lone_spike_among_gaps():
    line = np.sin(np.arange(100_000) / 500)
    line[1000:5000] = np.nan
    line[77_777] = 9.0
    line[22_222] = -9.0
    rows = sample_rows(line, points=400)
    assert {77_777, 22_222} <= set(rows.tolist())
    assert sample_rows(np.full(1000, np.nan), points=10)[0] == 0


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
def test_pictures_are_what_a_png_reader_reads(rows, columns, seed):
    shades = np.random.default_rng(seed).uniform(-0.2, 1.2, (rows, columns))
    shades[0, 0] = np.nan
    data = base64.b64decode(shade_png(shades, hue=(10, 20, 30)).partition(",")[2])
    picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))
    assert picture.shape == (rows, columns, 4)
    assert (picture[..., :3] == (10, 20, 30)).all()
    wanted = np.rint(np.clip(np.nan_to_num(shades), 0, 1) * 255)
    np.testing.assert_array_equal(picture[..., 3], wanted)


def test_stretches_show_their_largest_deviation():
    deviation = np.abs(np.random.default_rng(2).standard_normal((23, 4)))
    borders = np.array([0, 1, 7, 8, 20, 23])
    naive = np.zeros((4, 5))
    for stretch, (first, after) in enumerate(itertools.pairwise(borders.tolist())):
        for row in range(first, after):
            for column in range(4):
                naive[column, stretch] = max(naive[column, stretch], deviation[row, column])
    np.testing.assert_array_equal(largest_within(deviation, borders), naive)


def test_a_chart_escapes_names_and_marks_the_alarm_level():
    moments = np.array([0.0, 60.0, 120.0])
    drawn = chart(
        clock=Clock(moments),
        low=0.0,
        high=120.0,
        scale=Scale.for_scores(np.array([0.5, 3.0])),
        lines=[Line('<"flow">', "score", moments, np.array([0.5, 3.0, 0.2]))],
        bands=[Band(60.0, 60.0, flag="1", link="incident-1", title="a & b")],
        label="over <time>",
    )
    assert '<"flow">' not in drawn
    assert "over &lt;time&gt;" in drawn
    assert drawn.count('class="limit"') == 1
    assert 'class="hot"' in drawn
    assert 'href="#incident-1"' in drawn
    assert 'width="0"' in drawn
