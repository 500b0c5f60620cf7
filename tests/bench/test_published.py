"""The paper's numbers are all there, under names our records have."""

from __future__ import annotations

import math
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from alora_ts.baselines.registry import names
from alora_ts.bench.published import published, published_tables, remarks
from alora_ts.errors import AloraError
from tests.conftest import REPOSITORY

F1 = "best threshold / affiliation F1"
METHOD_TABLES = {
    "detection": (15, 5, 3),
    "detection-deviation": (15, 5, 3),
    "range": (12, 5, 3),
    "range-deviation": (12, 5, 3),
    "localization": (7, 3, 6),
    "localization-deviation": (7, 3, 6),
    "cost": (4, 3, 3),
}


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    return tomllib.loads((files("alora_ts.bench") / "published.toml").read_text())


def test_every_table_is_a_full_grid(content: dict[str, Any]) -> None:
    for name in published_tables():
        table = content[name]
        for row, cells in table["rows"].items():
            assert len(cells) == len(table["datasets"]), (name, row)
            assert {len(one) for one in cells} == {len(table["columns"])}, (name, row)


def test_method_tables_have_all_rows_under_registered_names(content: dict[str, Any]) -> None:
    for name, (rows, datasets, columns) in METHOD_TABLES.items():
        table = content[name]
        shape = (len(table["rows"]), len(table["datasets"]), len(table["columns"]))
        assert shape == (rows, datasets, columns)
        assert set(table["rows"]) <= {*names(), "alora"}


def test_only_interfusion_and_missing_localization_labels_are_dashes(
    content: dict[str, Any],
) -> None:
    dashes = {
        (name, row)
        for name in published_tables()
        for row, cells in content[name]["rows"].items()
        if any(math.isnan(value) for cell in cells for value in cell)
    }
    assert dashes == {
        ("localization", "interfusion"),
        ("localization-deviation", "interfusion"),
        ("study feed-forward", "with"),
        ("study feed-forward", "without"),
    }


@pytest.mark.parametrize(
    ("table", "dataset", "row", "column", "value"),
    [
        ("detection", "SWaT", "npsr", f"{F1}: recall", 0.16),
        ("detection", "PSM", "sarad", f"{F1}: recall", 0.505),
        ("detection-deviation", "HAI", "sarad", F1, 0.110),
        ("range", "SWaT", "omnianomaly", "best threshold / range F1", 0.021),
        ("range", "HAI", "knn", "all thresholds / VUS-ROC", 0.09),
        ("range-deviation", "MSL", "memto", "all thresholds / VUS-PR", 0.015),
        ("localization", "SMD", "alora", "IPS@150", 0.81),
        ("localization", "MSDS", "aerca", "HR@150", 0.56),
        ("localization-deviation", "SWaT", "sarad", "NDCG@100", 0.0002),
        ("cost", "HAI", "d3r", "fit_seconds", 1077.0),
        ("study K", "MSL", "128", F1, 0.713),
        ("study feed-forward", "PSM", "with", "learnable", 2.2e6),
        ("embedding", "any", "40", "light", 1024.0),
        ("datasets", "SMD", "all", "anomalous", 0.156),
    ],
)
def test_numbers_of_all_corners(
    table: str, dataset: str, row: str, column: str, value: float
) -> None:
    found = published(table, dataset, row, column)
    assert found is not None
    assert found.value == found.meant == value


def test_misprints_keep_what_was_printed() -> None:
    placed = published("study placement", "SWaT", "mean of heads", "fit_seconds")
    assert placed is not None
    assert (placed.value, placed.meant) == (0.45, 45.0)
    assert placed.why is not None
    for study in ("study pairs", "study correlation"):
        case = "top 512" if study == "study pairs" else "Spearman"
        fit = published(study, "SMD", case, "fit_seconds")
        score = published(study, "SMD", case, "score_ms")
        assert fit is not None
        assert score is not None
        assert (fit.value, fit.meant, score.value, score.meant) == (0.13, 75.0, 75.0, 0.13)
    hit = published("study feed-forward", "SMD", "without", "HR@100")
    whole = published("localization", "SMD", "alora", "HR@100")
    assert hit is not None
    assert whole is not None
    assert (hit.value, hit.meant) == (0.50, whole.value)


def test_dashes_and_unknown_places_are_none() -> None:
    assert published("localization", "SMD", "interfusion", "HR@100") is None
    assert published("localization", "SMD", "interfusion", "IPS@100") is not None
    assert published("detection", "ASD", "alora", F1) is None
    assert published("detection", "SMD", "norm", F1) is None
    assert remarks("detection", "ASD") == []
    assert any("28 machines" in one for one in remarks("study K", "SMD"))


def test_an_unknown_table_suggests_one() -> None:
    with pytest.raises(AloraError, match="did you mean 'detection'"):
        published("detektion", "SMD", "alora", F1)


def test_numbers_are_those_of_the_paper(content: dict[str, Any]) -> None:
    """Each printed line, found again in the paper's source by its numbers in order."""
    source = REPOSITORY.parent / "shared" / "paper" / "alora.tex"
    if not Path(source).is_file():
        pytest.skip("the paper's source is not on this machine")
    bare = re.sub(r"\\(?:textbf|underline)\{([^{}]*)\}", r"\1", source.read_text())
    bare = re.sub(r"\{,\}|(?<=\d),(?=\d{3})", "", bare)
    lines = {
        tuple(float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", line))
        for line in re.sub(r"D\^3R|\\hspace\{[^}]*\}|\s+", " ", bare).split(r"\\")
    }
    for name in METHOD_TABLES:
        if name == "cost":  # its millions are printed in several ways
            continue
        for row, cells in content[name]["rows"].items():
            numbers = tuple(v for cell in cells for v in cell if not math.isnan(v))
            assert numbers in lines, (name, row)
