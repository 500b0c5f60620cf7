"""The page of results, made from one or several folders of results."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from alora_ts.bench.common import common_ground
from alora_ts.bench.comparison import compare
from alora_ts.bench.critical_difference import draw_critical_difference
from alora_ts.bench.differences import DIFFERENCES
from alora_ts.bench.figures.style import save
from alora_ts.bench.origin import describe_origin
from alora_ts.bench.record import Record, read_records
from alora_ts.bench.tables.as_markdown import as_markdown
from alora_ts.bench.tables.catalogue import build_tables
from alora_ts.bench.tables.contenders import OURS, Arena, arenas
from alora_ts.bench.tables.significance import CRITERIA
from alora_ts.bench.verdicts import say_all, verdicts
from alora_ts.bench.wrapping import wrap_markdown
from alora_ts.errors import AloraError
from alora_ts.files import write_atomically
from alora_ts.progress import Progress, Report, Step, reporting

__all__ = ["write_page"]

_SECTIONS = {
    "range": "Range-aware metrics",
    "tsb-ad": "TSB-AD",
    "localization": "Localization",
    "waiting": "Waiting time",
    "deviations": "Standard deviations",
    "cost": "Computational cost",
    "datasets": "Datasets",
    "ablations": "Ablations",
    "embedding": "Weights of the embedding",
}
_ASIDE = {
    "published": (
        "The published training",
        "The paper's training (rate 1e-4, every window, no warm-up, no decay, ended by early "
        "stopping) beside the shorter one of the other tables, from the same equations. *Literal*: "
        "Eq. 8 to the letter, where the error is a sum and λ counts T·d times less.",
    ),
    "sizes": (
        "At the other's size",
        "In the tables above ALoRa (paper) has its published width and the deep methods have not. "
        "Here two of them have theirs, and ALoRa (small) is the paper's network with as many "
        "weights as the deep methods have above.",
    ),
}
"""Plans that are shown for themselves and take no part in wins, ties and losses."""
_CHOSEN_ON = {"SMD", "ASD", "MSL", "JumpStarter-D2", "JumpStarter-D3", "TSB-AD-M"}
_CHOSEN = """\
**Read this first.** The defaults of the row "ALoRa" were chosen with the labels of SMD, ASD, MSL
and JumpStarter, on entities that stand in these tables (the series of TSB-AD here come from SMD and
MSL). Its wins, ties and ranks are those of a method that has seen the answers of this exam; on
[data kept apart](quality.md#kept-apart-version-01) the margin on SMD did not carry over. "ALoRa
(paper)" and the compared methods have their authors' settings, made smaller. On three entities, or
one, nobody can win here."""
_OF_THE_PAPER = ("SMD", "PSM", "SWaT", "MSL", "HAI", "MSDS")
_IMAGES = Path("images") / "results"
_RANKS = "ranks-"
_CAPTION = re.compile(r"^!\[.*\]\((.+)\)\n\n(.+)$", re.MULTILINE)
"""A picture and the paragraph below it, in ``captions.md``."""


def write_page(
    results: Sequence[Path], out: Path, *, common: bool = False, progress: Progress = None
) -> None:
    """Write the page, beside it those of the long tables and of every entity, and diagrams.

    Parameters
    ----------
    results : sequence of Path
        Folders of results.
    out : Path
        The Markdown file, short enough to be read. "-tables" and "-entities" are put behind its
        stem for the long ones; diagrams go to ``images/results/`` beside it, and figures found
        there are shown on the page of tables.
    common : bool
        Leave out entities that not every method of the plan has been run on.
    progress : bool, callable or None
        See :mod:`alora_ts.progress`.

    Raises
    ------
    AloraError
        When a folder holds no results, or ``out`` cannot be written.
    """
    if out.suffix != ".md":
        raise AloraError(f"the page is Markdown: end the name {out} in .md")
    records = list(read_records(*results))
    options = ["--common"] if common else []
    command = "alora-ts bench page " + shlex.join([*map(str, results), *options, "--out", str(out)])
    records, left = common_ground(records) if common else (records, [])
    compared = [one for one in records if one.plan not in _ASIDE]
    fought = arenas(compared)
    folder = out.parent / _IMAGES
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AloraError(f"cannot make the folder {folder}: {error.strerror}") from error
    with reporting(progress) as report:
        diagrams = _draw_ranks(fought, folder, report)
    tables, by_entity = (out.with_stem(f"{out.stem}-{one}") for one in ("tables", "entities"))
    _write(
        out,
        [
            "# Benchmark results",
            "How well ALoRa and the compared methods find anomalies, and which variables they "
            "name. Three rows of each table need no skill: a random score, an alarm that never "
            "ends, and ‖x‖, the distance from the mean of the training rows. A method is worth "
            "what it adds to them. *F1* is at the best of all thresholds, which only the test "
            "labels can choose; *F1 label-free* is at the threshold that normal training rows set, "
            "as in operation.",
            "[Read the benchmark](how-to/read-the-benchmark.md) explains the columns, "
            f"[{tables.stem}]({tables.name}) has the long tables and the figures, "
            f"[{by_entity.stem}]({by_entity.name}) the numbers of every entity, and [how it was "
            "run](#how-it-was-run) is at the end. Each plan is a set of runs.",
            *_unfinished(left),
            "## Where ALoRa wins, ties and loses",
            *_verdicts(fought),
            *_shown(compared, "detection", "Detection"),
            *_set_aside(records),
            *_shown(records, "paired", "Ablations"),
            "## Beside the published numbers",
            DIFFERENCES.rstrip(),
            "## How it was run",
            "Every number on these pages comes from committed results; nothing is typed by hand. "
            f"Regenerate them with:\n\n```sh\n{command}\n```",
            *describe_origin(records),
            *_absent(records),
            "## What failed",
            *_failures(records),
        ],
    )
    _write(
        tables,
        [
            "# Benchmark results: long tables and figures",
            f"The summary is in [{out.stem}]({out.name}), with how all this was run.",
            *_sections(records, diagrams),
            *_figures(folder),
        ],
    )
    _write(
        by_entity,
        [
            "# Benchmark results by entity",
            f"The summary is in [{out.stem}]({out.name}). Best and second best are those of a row.",
            *(as_markdown(table, level=2).rstrip() for table in build_tables(records, "entities")),
        ],
    )


def _unfinished(left: Sequence[str]) -> list[str]:
    if not left:
        return []
    return [f"Not every method has been run on {', '.join(left)}; nothing of them is shown."]


def _verdicts(fought: Sequence[Arena]) -> list[str]:
    """A section for each row of ALoRa."""
    rows = {
        one.label: one.name for arena in fought for one in arena.contenders if one.method == OURS
    }
    parts = [] if rows else ["These results have no row of ALoRa."]
    if rows and any(arena.dataset in _CHOSEN_ON for arena in fought):
        parts.append(_CHOSEN)
    for label, name in rows.items():
        parts += [f"### {name}", *_run_by(fought, label), *say_all(verdicts(fought, label))]
    return parts


def _run_by(fought: Sequence[Arena], label: str) -> list[str]:
    """Which version's network and score a row is, as defaults change between versions."""
    where: dict[str, list[str]] = {}
    for arena in fought:
        runs = [run for one in arena.contenders if one.label == label for run in one.records]
        for version in {run.measured.get("versions", {}).get("alora-ts") for run in runs}:
            if version:
                where.setdefault(version, []).append(arena.dataset)
    if not where:
        return []
    said = "; ".join(f"version {one} on {', '.join(names)}" for one, names in sorted(where.items()))
    return [f"Run by {said}."]


def _shown(records: Iterable[Record], name: str, title: str, *words: str) -> list[str]:
    """A section of tables, or nothing where there are none."""
    tables = build_tables(records, name)
    if not tables:
        return []
    return [f"## {title}", *words, *(as_markdown(table).rstrip() for table in tables)]


def _set_aside(records: Sequence[Record]) -> list[str]:
    parts = []
    for plan, (title, words) in _ASIDE.items():
        parts += _shown([one for one in records if one.plan == plan], "detection", title, words)
    return parts


def _sections(records: list[Record], diagrams: Iterable[Path]) -> list[str]:
    parts = []
    for name, title in _SECTIONS.items():
        parts += _shown(records, name, title)
        if name == "waiting":
            ranks = build_tables(records, "significance")
            if ranks:
                parts += [
                    "## Ranks and tests",
                    *(_image(path) for path in diagrams),
                    *(as_markdown(table).rstrip() for table in ranks),
                ]
    return parts


def _draw_ranks(fought: Sequence[Arena], folder: Path, report: Report) -> list[Path]:
    """A diagram for each plan and metric, as PNG for the page and SVG for print."""
    found = []
    plans = list(dict.fromkeys(arena.plan for arena in fought))
    total = len(plans) * len(CRITERIA)
    for at, plan in enumerate(plans):
        here = [arena for arena in fought if arena.plan == plan]
        for number, (metric, read) in enumerate(CRITERIA.items()):
            report(Step("drawing", at * len(CRITERIA) + number + 1, total))
            compared = compare(here, read)
            if compared is None or len(compared.others) < 2 or len(compared.places) < 2:
                continue
            words = re.sub(r"[^a-z0-9]+", "-", metric.lower()).strip("-")
            figure = draw_critical_difference(compared, title=metric)
            for kind in ("svg", "png"):
                path = folder / f"{_RANKS}{plan}-{words}.{kind}"
                save(figure, path)
            found.append(path)
    return found


def _figures(folder: Path) -> list[str]:
    """The pictures of a folder, with what ``bench figures`` said of those it drew."""
    found = [path for path in sorted(folder.glob("*.png")) if not path.name.startswith(_RANKS)]
    said = folder / "captions.md"
    captions = dict(_CAPTION.findall(said.read_text())) if said.is_file() else {}
    parts = ["## Figures"] if found else []
    for path in found:
        parts += [_image(path), *([captions[path.name]] if path.name in captions else [])]
    return parts


def _image(path: Path) -> str:
    said = path.stem.replace("-", " ")
    return f"![{said[0].upper()}{said[1:]}]({(_IMAGES / path.name).as_posix()})"


def _absent(records: Iterable[Record]) -> list[str]:
    """Sets of the paper without results, and the command for them."""
    there = {one.dataset for one in records}
    missing = [name for name in _OF_THE_PAPER if name not in there]
    if not missing:
        return []
    return [
        f"Of the paper's sets not run here: {', '.join(missing)}. Where they are, `alora-ts bench "
        "run paper --data FOLDER` runs them."
    ]


def _failures(records: Iterable[Record]) -> list[str]:
    failed = [record for record in records if record.status == "failed"]
    if not failed:
        return ["No run failed."]
    return [
        "\n".join(
            f"- {record.label} on {record.place}, seed {record.seed} (plan {record.plan}): "
            f"{' '.join((record.error or 'no reason was recorded').split())}"
            for record in failed
        )
    ]


def _write(path: Path, parts: Iterable[str]) -> None:
    with write_atomically(path) as part:
        part.write_text(wrap_markdown("\n\n".join(parts)) + "\n", encoding="utf-8")
