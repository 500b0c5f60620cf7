"""Writes the numbers of README from committed results: no number there is typed by hand.

    python -m benchmarks.readme_measured          # rewrites the block between the two comments
    python -m benchmarks.readme_measured --print  # shows it

tests/docs/test_readme_measured.py compares the block with what this makes of ``results/``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from alora_ts.bench.record import Record, read_records
from alora_ts.bench.rootcause import accuracy
from alora_ts.bench.tables.contenders import HONEST, Arena, Contender, arenas
from alora_ts.bench.tables.detection import BEST_F1, GIVEN_F1
from alora_ts.bench.tables.summary import Read, detected, located, summarize
from alora_ts.bench.wrapping import wrap_markdown

ROOT = Path(__file__).parent.parent
README, RESULTS = ROOT / "README.md", ROOT / "results"
PAGE = ROOT / "docs" / "rootcause.md"
BEGIN = "<!-- measured: written by `python -m benchmarks.readme_measured` -->"
END = "<!-- measured: end -->"

_FAMILIES = {"SMD": "machines", "ASD": "servers", "D2": "services", "D3": "services"}
_ALARMS = {
    "default": "**ALoRa, default**",
    "norm": "‖x‖, the same calibration",
    "pca": "PCA, the same calibration",
    "knn": "kNN, the same calibration",
    "daemon": "DAEMON, the same calibration; sees later rows, too",
    "random": "random",
}
_CAUSES = {
    "ALoRa, culprits, stretch given": "**ALoRa, told the rows like those below**",
    "ALoRa, culprits": "**ALoRa, of the incident it found itself**",
    "mean |z|, floor 1 % of the mean": "mean deviation, floor of 1 % of the mean",
    "robust deviation (BARO)": "robust deviation (BARO)",
    "largest |z|": "largest deviation",
}
_RANKED = ("alora", "alora-paper", "norm", "knn", "pca", "random")
_RANKING: dict[str, Read] = {
    "best F1": detected(BEST_F1),
    "label-free F1": detected(GIVEN_F1),
    "AUC-PR": detected("all thresholds / AUC-PR"),
    "HR@100": located("HR@100"),
}


def block(results: Path = RESULTS) -> str:
    """The whole block, its two comments included."""
    parts = [
        "Alarms as somebody on call sees them: default settings, no labels; means of three seeds "
        "for ALoRa, one for the others. An incident is true if half of its rows lie in events "
        "widened by 20 rows; an event is found if a true incident overlaps it. The parts of the "
        "method were chosen on these entities with their labels, so expect less elsewhere. All "
        "columns, what was wanted and what was not reached: "
        "[docs/quality-alarms.md](docs/quality-alarms.md) (`python benchmarks/alarms.py run "
        "--seeds 3`).",
        alarms(_lines(results / "alarms.jsonl")),
        "The cause of faults injected into real systems, named first / among the first three: "
        "[docs/rootcause.md](docs/rootcause.md) (`alora-ts bench rootcause`).",
        causes(_lines(results / "rootcause.jsonl")),
        *ranking(list(read_records(results / "cpu"))),
        tsb_ad(list(read_records(results / "tsb-ad"))),
    ]
    return "\n".join([BEGIN, "", wrap_markdown("\n\n".join(parts)), "", END])


def alarms(records: Sequence[dict[str, Any]]) -> str:
    """Precision, recall and F1 of incidents, by family."""
    heads, lines = [], []
    for family, kind in _FAMILIES.items():
        entities = {one["entity"] for one in records if one["family"] == family}
        heads.append(f"{family} ({len(entities)} {kind})")

    def own(method: str, family: str) -> list[dict[str, Any]]:
        return [one for one in records if (one["method"], one["family"]) == (method, family)]

    for method, name in _ALARMS.items():
        cells = [
            " / ".join(
                f"{fmean(one[part] for one in own(method, family)):.2f}"
                for part in ("precision", "recall", "f1")
            )
            for family in _FAMILIES
        ]
        lines.append(_line(name, cells, bold=name.startswith("**")))
    rates = []
    for family in _FAMILIES:
        mine = own("default", family)
        false, rows = (sum(one[part] for one in mine) for part in ("false", "normal_rows"))
        rates.append(f"{1000 * false / rows:.2f}")
    lines.append(_line("ALoRa, false incidents per 1,000 normal rows", rates))
    return _table(["incidents: precision / recall / F1", *heads], lines)


def causes(records: Sequence[dict[str, Any]]) -> str:
    """How often the cause of a fault is named first, and among the first three."""
    systems = {
        "sock-shop": ("Sock Shop, metric", "place"),
        "petshop": ("PetShop, node", "group_place"),
    }
    heads = []
    for system, (name, _) in systems.items():
        cases = {one["case"] for one in records if one["system"] == system}
        heads.append(f"{name} ({len(cases)} faults)")
    lines = []
    for method, name in _CAUSES.items():
        cells = []
        for system, (_, place) in systems.items():
            places = [
                one[place]
                for one in records
                if (one["system"], one["method"]) == (system, method) and one[place] is not None
            ]
            found = accuracy(places)
            cells.append(f"{found['AC@1']:.2f} / {found['AC@3']:.2f}")
        lines.append(_line(name, cells, bold=name.startswith("**")))
    chances = [_chance(system, group=place != "place") for system, (_, place) in systems.items()]
    lines.append(_line("random", chances))
    return _table(["", *heads], lines)


def _chance(system: str, *, group: bool) -> str:
    """AC@1 and AC@3 of random orders, which the command writes to its page only."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {system} ")[1].split("\n## ")[0]
    row = next(line for line in section.splitlines() if line.startswith("| random |"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    first = 4 if group else 1
    return f"{cells[first]} / {cells[first + 1]}"


def ranking(records: Sequence[Record]) -> list[str]:
    """How moments and variables are ranked, beside simple scores, and where these are better."""
    found = {
        arena.dataset: arena
        for arena in arenas(records)
        if {one.label for one in arena.contenders} >= set(_RANKED)
    }
    versions = dict.fromkeys(
        run.measured["versions"]["alora-ts"]
        for run in records
        if run.label == "alora" and "versions" in run.measured
    )
    lines, worse = [], []
    for label in _RANKED:
        cells, name = [], label
        for arena in found.values():
            own = next(one for one in arena.contenders if one.label == label)
            name = own.name
            means = [_mean(own, read, arena) for read in _RANKING.values()]
            cells.append(" / ".join("–" if one is None else f"{one:.3f}" for one in means))
        lines.append(_line(name, cells))
    for arena in found.values():
        by_label = {one.label: one for one in arena.contenders}
        for title, read in _RANKING.items():
            ours = _mean(by_label["alora"], read, arena)
            for simple in HONEST:
                theirs = _mean(by_label[simple], read, arena)
                if ours is not None and theirs is not None and theirs > ours:
                    worse.append(
                        f"{title} on {arena.dataset} ({ours:.3f}, {by_label[simple].name} "
                        f"{theirs:.3f})"
                    )
    heads = [f"{one.dataset} ({_entities(one)})" for one in found.values()]
    larger = ", a larger network than today's" if "0.1.0" in versions else ""
    intro = (
        f"How moments and variables are ranked ({' / '.join(_RANKING)}; affiliation F1). The row "
        f"ALoRa is the default of version {', '.join(versions)}{larger}, chosen with labels of "
        "these entities. *ALoRa (paper)* is the paper's network and score, trained more briefly. "
        "All methods, and what each took: [docs/results.md](docs/results.md) (`alora-ts bench run "
        "cpu`)."
    )
    said = f"A score without skill is ahead of the default in {', '.join(worse)}." if worse else ""
    return [intro, _table(["", *heads], lines), *([said] if said else [])]


def tsb_ad(records: Sequence[Record]) -> str:
    """Where the default stands on TSB-AD."""
    (arena,) = arenas(records)
    read = detected("all thresholds / VUS-PR")
    means = {one.name: _mean(one, read, arena) or 0.0 for one in arena.contenders}
    order = sorted(means.items(), key=lambda item: -item[1])
    return (
        f"VUS-PR on TSB-AD's {len(arena.entities)} series at hand (`alora-ts bench run tsb-ad`): "
        f"{', '.join(f'{name} {value:.3f}' for name, value in order)}. Those *(windows)* are means "
        "over the windows that hold a row, as KMeansAD's are; the others are the scores that alarm."
    )


def rewritten(text: str, results: Path = RESULTS) -> str:
    """README with the block of these results."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{block(results)}{after}"


def _mean(contender: Contender, read: Read, arena: Arena) -> float | None:
    return summarize(contender.records, read, arena.entities).value


def _entities(arena: Arena) -> str:
    count = len(arena.entities)
    return "one series" if arena.entities == (None,) else f"{count} entities"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _line(name: str, cells: Sequence[str], *, bold: bool = False) -> str:
    return f"| {name} | {' | '.join(f'**{cell}**' if bold else cell for cell in cells)} |"


def _table(heads: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join([f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *lines])


def main() -> None:
    """Rewrite README, or show the block."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="show the block, change nothing")
    if parser.parse_args().print:
        print(block())
        return
    README.write_text(rewritten(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
