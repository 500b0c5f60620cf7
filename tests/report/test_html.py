from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from alora_ts.data import Gap
from alora_ts.errors import AloraError
from alora_ts.report.html import render_report
from tests.report.example import diagnosis_of, plant_diagnosis, quiet_diagnosis

VOID = {"meta", "img", "br", "path", "rect", "circle", "i"}


class Page(HTMLParser):
    """Collects ids, links, sources and headings, and checks that elements nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.unnamed: list[str] = []
        self.headings: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        self.sources += [found[name] for name in ("src", "srcset") if name in found]
        if (tag == "svg" and not found.get("aria-label")) or (tag == "img" and not found["alt"]):
            self.unnamed.append(tag)
        if tag in {"h1", "h2", "h3"}:
            self.headings.append(tag)
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def plant_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "plant.html"
    seen = []
    made = render_report(plant_diagnosis(), path, title="Water <works>", progress=seen.append)
    assert made == path
    assert seen[-1].done == seen[-1].total
    return path.read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_needs_nothing_from_outside(plant_page):
    page = Page(plant_page)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert all(source.startswith("data:") for source in page.sources)
    assert page.unnamed == []
    assert page.headings[0] == "h1"
    assert page.headings.count("h1") == 1
    assert not re.search(r"https?://|@import|url\((?!#)", plant_page)
    assert "default-src 'none'" in plant_page


def test_the_page_says_what_happened(plant_page):
    assert "<title>Water &lt;works&gt;</title>" in plant_page
    assert "6 incidents (" in plant_page
    assert "; the worst began at 2026-01-09 " in plant_page
    assert plant_page.count('class="card incident"') == 6
    for heading in (
        "Timeline",
        "Deviation by signal",
        "Culprits",
        "Strongest relations",
        "What the model saw",
        "Data preparation",
        "Model card",
        "How to read this report",
    ):
        assert heading in plant_page
    assert "3,000 rows in 1 segment" in plant_page
    assert "Expected alarms per day" in plant_page


def test_hostile_names_stay_text(tmp_path):
    names = ('<script>alert("1")</script>', "a & b", "'\"><img src=x>")
    values = np.zeros((60, 3))
    values[20:30] = [9.0, 8.0, 7.0]
    made = diagnosis_of(values, 0 * values, variables=names, model={"<b>": ["<i>", None, True]})
    text = render_report(made, tmp_path / "a.html", title='"><script>').read_text()
    assert "<script>alert" not in text
    assert "<img src=x>" not in text
    assert text.count("<script>") == 1
    assert Page(text).open == []


@pytest.mark.parametrize(
    "made",
    [
        quiet_diagnosis(),
        quiet_diagnosis(rows=1, variables=1),
        quiet_diagnosis(rows=2, variables=2),
        diagnosis_of(np.full((1, 1), 9.0), np.zeros((1, 1))),
        diagnosis_of(np.full((30, 2), 9.0), np.zeros((30, 2))),
        diagnosis_of(np.zeros((30, 2)), np.zeros((30, 2)), contributions=np.full((2, 2), np.nan)),
        diagnosis_of(np.full((40, 2), np.nan), np.zeros((40, 2))),
    ],
    ids=["quiet", "one cell", "two rows", "one alarm", "all alarm", "no relations", "no values"],
)
def test_odd_diagnoses_have_a_page_too(made, tmp_path):
    text = render_report(made, tmp_path / "odd.html").read_text()
    assert Page(text).open == []
    assert "NaN" not in text.replace("Number.isNaN", "")
    assert " nan" not in text
    assert "What happened, and where it began" in text


def test_gaps_and_zones_are_shown(tmp_path):
    stamps = np.datetime64("2026-07-01T00:00", "us") + np.arange(80) * np.timedelta64(1, "m")
    stamps[40:] += np.timedelta64(2, "h")
    values = np.zeros((80, 2))
    made = diagnosis_of(values, values, timestamps=stamps, zone="Europe/Berlin")
    made = replace(made, gaps=(Gap(stamps[39], stamps[40]),))
    text = render_report(made, tmp_path / "a.html").read_text()
    assert 'class="gap"' in text
    assert "no data" in text
    assert "2026-07-01 02:00 to 2026-07-01 05:19, times in Europe/Berlin" in text
    rows = diagnosis_of(values, values, gaps=(Gap(10.0, 20.0),))
    assert 'class="gap"' in render_report(rows, tmp_path / "b.html").read_text()


def test_a_long_series_with_many_incidents_stays_small(tmp_path):
    rng = np.random.default_rng(3)
    expected = rng.standard_normal((60_000, 30)).astype(np.float32)
    values = expected + 0.1 * rng.standard_normal(expected.shape).astype(np.float32)
    for start in range(500, 60_000, 1500):
        values[start : start + 300, start % 30] += 6
    path = render_report(diagnosis_of(values, expected), tmp_path / "long.html")
    text = path.read_text()
    assert text.count('class="card incident"') == 20
    assert "The 20 with the highest peaks are shown in detail below" in text
    assert text.count("<tr><td>") == 40
    assert path.stat().st_size < 6e6
    assert set(Page(text).links) <= {f"#{name}" for name in Page(text).ids}


def test_an_unwritable_place_is_explained(tmp_path):
    with pytest.raises(AloraError, match="does not exist"):
        render_report(quiet_diagnosis(), tmp_path / "no" / "a.html")


def test_equal_diagnoses_give_equal_bytes(tmp_path):
    first = render_report(quiet_diagnosis(), tmp_path / "a.html").read_bytes()
    assert render_report(quiet_diagnosis(), tmp_path / "b.html").read_bytes() == first
