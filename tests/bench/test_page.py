"""The page: its words follow from the numbers, and it says where they come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alora_ts.bench.comparison import compare
from alora_ts.bench.critical_difference import draw_critical_difference
from alora_ts.bench.figures.style import save
from alora_ts.bench.origin import describe_origin
from alora_ts.bench.page import write_page
from alora_ts.bench.record import Record
from alora_ts.bench.tables.contenders import arenas
from alora_ts.bench.tables.summary import detected
from alora_ts.bench.verdicts import say_all, verdicts
from alora_ts.errors import AloraError
from tests.bench.records import HONEST, MACHINES, invented, tournament, written
from tests.cli.invoke import files

F1 = "best threshold / affiliation F1"
ORACLE = "affiliation F1 (oracle)"


def duel(*levels: tuple[str, list[float]], **others: str) -> list[Record]:
    """Methods with a level for each of as many entities as there are levels."""
    return [
        invented(method, entity=f"machine-{at}", level=level, **others)
        for method, values in levels
        for at, level in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("rival", "outcome", "words"),
    [
        ([0.5, 0.5, 0.6, 0.5] * 2, "win", "| 1 of 2 | win | – | – | – |"),
        ([0.5, 0.5, 0.6, 0.5], "ahead", "| 1 of 2 | ahead | – | – | – |"),
        ([0.7, 0.9, 0.7, 0.9], "tie", "| 1 of 2 | tie | KNN (0.800) | – | – |"),
        ([0.9, 0.9, 0.9, 0.94], "behind", "| 2 of 2 | behind | – | KNN (0.910) | – |"),
        ([0.9, 0.9, 0.9, 0.94] * 2, "loss", "| 2 of 2 | loss | – | KNN (0.910) | – |"),
    ],
)
def test_wins_ties_and_losses_follow_the_interval(
    rival: list[float], outcome: str, words: str
) -> None:
    records = duel(("knn", rival), ("alora", [0.8] * len(rival)))
    found = verdicts(arenas(records), "alora")
    assert {one.outcome for one in found} == {outcome}
    said = "\n".join(say_all(found))
    assert words in said
    plural = {"win": "wins", "tie": "ties", "loss": "losses"}.get(outcome, outcome)
    assert f"5 {plural}" in said
    assert f"| affiliation F1 (oracle) | {len(rival)} |" in said
    assert ("*Ahead* is no win and *behind* no loss" in said) == (len(rival) < 6)


def test_one_series_has_numbers_but_no_interval() -> None:
    records = [
        invented(method, dataset="MSL", entity=None, level=level)
        for method, level in (("norm", 0.9), ("knn", 0.5), ("pca", 0.7), ("alora", 0.6))
    ]
    (first, *_) = verdicts(arenas(records), "alora")
    assert first.outcome == "behind"
    said = "\n".join(say_all([first]))
    assert (
        "| MSL | affiliation F1 (oracle) | 1 | 0.600 | 2 of 3 | behind | – | PCA (0.700) |" in said
    )
    assert "| ‖x‖ (0.900) |" in said
    assert "there is no interval" in said
    assert "**0 ahead, 0 ties, 1 behind**" in said


def test_a_yardstick_that_is_not_beaten_is_named() -> None:
    levels = [0.8, 0.7, 0.9]
    records = duel(
        ("norm", levels), ("random", [0.1, 0.1, 0.1]), ("knn", [0.2] * 3), ("alora", levels)
    )
    said = "\n".join(say_all(verdicts(arenas(records), "alora")))
    assert "| ‖x‖ (0.800) |" in said
    assert "random" not in said


def test_other_variants_of_alora_are_no_rivals() -> None:
    records = [
        *duel(("knn", [0.2, 0.3, 0.2]), ("alora", [0.5, 0.6, 0.5])),
        *duel(("alora", [0.9, 0.9, 0.9]), label="alora-paper"),
    ]
    assert {one.outcome for one in verdicts(arenas(records), "alora")} == {"ahead"}
    assert {one.outcome for one in verdicts(arenas(records), "alora-paper")} == {"ahead"}
    compared = compare(arenas(records), detected(F1))
    assert compared is not None
    assert compared.ours.name == "ALoRa"
    assert [one.name for one in compared.others] == ["ALoRa (paper)", "KNN"]


def test_methods_that_lack_entities_are_not_compared() -> None:
    records = [*duel(("knn", [0.2, 0.3]), ("alora", [0.5, 0.6, 0.5])), *duel(("pca", [0.1] * 3))]
    compared = compare(arenas(records), detected(F1))
    assert compared is not None
    assert compared.incomplete == ("KNN",)
    assert [one.name for one in compared.others] == ["PCA"]
    lacking = duel(("knn", [0.2, 0.3]), ("alora", [0.5]))
    assert compare(arenas(lacking), detected(F1)) is None


def test_entities_of_all_datasets_count_as_one_each() -> None:
    records = [
        *tournament(["knn", "alora"], seeds=[0]),
        *tournament(["knn", "alora"], dataset="MSL", entities=[None], seeds=[0]),
    ]
    compared = compare(arenas(records), detected(F1))
    assert compared is not None
    assert compared.places == (*(f"SMD {name}" for name in MACHINES), "MSL")


def test_the_page_has_everything_and_says_where_from(tmp_path: Path) -> None:
    broken = invented("pca", entity="machine-1-2", status="failed", error="killed after\n45 min")
    records = [one for one in tournament() if (one.method, one.entity) != ("pca", "machine-1-2")]
    cpu = written([*records, broken], tmp_path / "cpu")
    study = {"K": "512"}
    ablation = written(
        [
            *tournament(["alora"], plan="more", label="base", studies=study),
            *tournament(["alora"], plan="more", label="top-64", studies={"K": "64"}),
        ],
        tmp_path / "more",
    )
    out = tmp_path / "docs" / "results.md"
    out.parent.mkdir()
    images = out.parent / "images" / "results"
    images.mkdir(parents=True)
    (images / "rank-layers.png").write_bytes(b"a figure of someone else")
    (images / "captions.md").write_text(
        "# Figures\n\n## Ranks\n\n![Ranks](rank-layers.png)\n\nRanks of all layers.\n\n## Other\n\n"
        "Left out: no results.\n"
    )
    write_page([cpu, ablation], out)
    page, long = out.read_text(), (out.parent / "results-tables.md").read_text()
    headings = [re.findall(r"^## (.+)$", text, re.MULTILINE) for text in (page, long)]
    assert headings[0] == [
        "Where ALoRa wins, ties and loses",
        "Detection",
        "Ablations",
        "Beside the published numbers",
        "How it was run",
        "What failed",
    ]
    assert headings[1] == [
        "Range-aware metrics",
        "Localization",
        "Waiting time",
        "Ranks and tests",
        "Standard deviations",
        "Computational cost",
        "Datasets",
        "Ablations",
        "Weights of the embedding",
        "Figures",
    ]
    assert "**Read this first.** The defaults" in page  # of SMD, where they were chosen
    assert "### “512” less each other case, pair by pair" in page
    for said in ("commit 0123456789", "2001-02-03", "an invented machine", "**Plan invented**"):
        assert said in page
    assert "sets not run here: PSM, SWaT, MSL, HAI, MSDS. Where they are, `alora-ts" in page
    assert "### ALoRa\n\nRun by version 0.0.0 on SMD.\n" in page
    assert "- pca on SMD machine-1-2, seed 0 (plan invented): killed after 45 min" in page
    assert "PCA (2/3 entities)" in page
    assert "![Rank layers](images/results/rank-layers.png)\n\nRanks of all layers.\n" in long
    shown = re.findall(r"\]\((images/[^)]+)\)", long)
    assert len(shown) == 6
    assert all((out.parent / name).is_file() for name in shown)
    assert {name for name in files(images) if name.startswith("ranks-")} == {
        f"{Path(name).stem}.{kind}" for name in shown[:5] for kind in ("png", "svg")
    }
    assert "SMD by entity" in (out.parent / "results-entities.md").read_text()
    before = {path: path.read_bytes() for path in out.parent.rglob("*") if path.is_file()}
    write_page([cpu, ablation], out)  # the same results give the same bytes
    assert before == {path: path.read_bytes() for path in out.parent.rglob("*") if path.is_file()}


def test_plans_of_sizes_and_of_the_published_training_stand_apart(tmp_path: Path) -> None:
    records = [
        *tournament(dataset="elsewhere"),
        *tournament(["norm", "alora"], plan="published", dataset="elsewhere"),
        *tournament(["memto", "alora"], plan="sizes", dataset="elsewhere"),
    ]
    out = tmp_path / "results.md"
    write_page([written(records[at::3], tmp_path / str(at)) for at in range(3)], out)
    page = out.read_text()
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert headings[1:4] == ["Detection", "The published training", "At the other's size"]
    verdicts_part, _, rest = page.partition("## Detection")
    assert "MEMTO" not in verdicts_part
    assert "MEMTO" in rest
    assert "Read this first" not in page  # data on which nothing was chosen


def test_results_without_alora_or_rivals_still_make_a_page(tmp_path: Path) -> None:
    out = tmp_path / "results.md"
    write_page([written(tournament(HONEST, seeds=[0]), tmp_path / "a")], out)
    assert "These results have no row of ALoRa." in out.read_text()
    write_page([written(tournament(["alora"], seeds=[0]), tmp_path / "b")], out)
    assert "nothing to compare" in out.read_text()
    assert "No run failed." in out.read_text()
    with pytest.raises(AloraError, match=r"end the name .* in \.md"):
        write_page([tmp_path / "a"], tmp_path / "results.html")


@pytest.mark.parametrize("methods", [2, 3, 19])
def test_diagrams_of_few_and_many_methods(methods: int, tmp_path: Path) -> None:
    records = [
        invented("alora" if at == 0 else f"method-{at}", entity=entity)
        for at in range(methods)
        for entity in MACHINES
    ]
    compared = compare(arenas(records), detected(F1))
    assert compared is not None
    figure = draw_critical_difference(compared, title=ORACLE)
    names = {text.get_text().strip() for text in figure.axes[0].texts}
    assert sum("ALoRa" in name for name in names) == 1
    assert sum("method-" in name for name in names) == methods - 1
    save(figure, tmp_path / "ranks.svg")
    assert (tmp_path / "ranks.svg").stat().st_size > 1000


def test_a_plan_that_is_not_whole_says_so() -> None:
    cases = [invented("alora", plan="ablation-core", label="base", dataset="ASD", entity="omi-1")]
    (said,) = describe_origin(cases)
    assert "- **Not the whole plan**: 1 of 6 entities, 1 of 11 methods or cases." in said
    assert "whole plan" not in describe_origin([invented("alora")])[0]
