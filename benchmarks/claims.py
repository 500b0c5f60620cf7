"""Writes docs/claims.md: what the paper claims, and what committed results say about it.

    python -m benchmarks.claims

Verdicts follow from the numbers by the rules that the page states; tests/docs/test_claims.py
compares the page with what this makes of ``results/`` and of the figures' captions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from alora_ts import baselines
from alora_ts.bench.comparison import compare
from alora_ts.bench.figures import parameters
from alora_ts.bench.plan import read_plan
from alora_ts.bench.published import published
from alora_ts.bench.record import Record, read_records
from alora_ts.bench.statistics import bootstrap_mean
from alora_ts.bench.tables.contenders import Arena, arenas, cases
from alora_ts.bench.tables.detection import BEST_F1
from alora_ts.bench.tables.paired import differences, interval
from alora_ts.bench.tables.significance import CRITERIA
from alora_ts.bench.tables.significance import verdict as verdict_of
from alora_ts.bench.tables.summary import Read, cost_of, detected, located, summarize
from alora_ts.bench.verdicts import verdicts
from alora_ts.bench.wrapping import wrap_markdown

ROOT = Path(__file__).parent.parent
RESULTS, DOCS = ROOT / "results", ROOT / "docs"
PAGE = DOCS / "claims.md"
CAPTIONS = DOCS / "images" / "results" / "captions.md"

_OURS = "alora-paper"
_FEWEST = 6
_ABSENT = ("PSM", "SWaT", "HAI", "MSDS")
_WAITED = detected("best threshold / mean delay (rows)")
_CAUGHT = detected("best threshold / events caught")
_AUC = detected("all thresholds / AUC-PR")
_FALSE = detected("best threshold / normal rows alarmed")
_INTRO = """\
# What the paper claims

Every claim of the paper that can be measured, and what was found. *Ours* is the paper's network and
score, row "ALoRa (paper)" of the [results](results.md): published width, shorter training, unless
a line says otherwise. {ran}

How a verdict is reached, by the same rule in both directions:

* **confirmed** or **contradicted**: at least six entities say so, by the 95 % interval of
  [results](results.md) or, where one thing is compared with one other, because all of them agree. A
  property of the equations or of a simulation needs no entities: a test, a count or an example
  decides.
* **not shown**: all else. One series, fewer than six entities, or unequal conditions cannot decide;
  the numbers stand there as they are.
* **untested**: the data are not here. `alora-ts bench run paper` runs them where they are.

A verdict is about the training that was run. The compared methods run with smaller networks than
published, ALoRa does not: see [beside the published
numbers](results.md#beside-the-published-numbers){sizes}.
"""


@dataclass(frozen=True)
class Claim:
    """One line of the page."""

    claim: str
    where: str
    verdict: str
    ours: str
    theirs: str = "–"
    entities: str = "–"
    seeds: str = "–"
    link: str = ""

    def line(self) -> str:
        """As a row of a table."""
        cells = (
            self.claim,
            self.where,
            f"**{self.verdict}**",
            self.ours,
            self.theirs,
            self.entities,
            self.seeds,
            self.link,
        )
        return f"| {' | '.join(cells)} |"


def page() -> str:
    """The whole page."""
    records = _records("cpu")
    ablation = _records("ablation")
    captions = CAPTIONS.read_text(encoding="utf-8")
    sections = {
        "Detection": detection(records),
        "Localization": localization(records),
        "Time": timing(records, captions),
        "The rank": rank(captions),
        "Training": training(_records("published")),
        "Ablations": [*ablations(ablation), *core(_records("ablation-core"))],
        "Theory": theory(captions),
    }
    sizes = _records("sizes")
    at_size = "; [at the other's size](results.md#at-the-others-size) has the rest" if sizes else ""
    parts = [_INTRO.format(ran=_ran(), sizes=at_size).rstrip()]
    counts: dict[str, int] = {}
    tables = []
    for title, claims in sections.items():
        lines = list(claims)
        if not lines:
            continue
        for one in lines:
            counts[one.verdict] = counts.get(one.verdict, 0) + 1
        head = "| claim | where | verdict | ours | theirs | entities | seeds | more |"
        tables += [f"## {title}", "\n".join([head, f"|{'---|' * 8}", *(o.line() for o in lines)])]
    order = ("confirmed", "contradicted", "not shown", "untested")
    parts.append("In all: " + ", ".join(f"{counts.get(one, 0)} {one}" for one in order) + ".")
    parts += [*tables, "```sh\npython -m benchmarks.claims\n```"]
    return wrap_markdown("\n\n".join(parts)) + "\n"


def _records(plan: str) -> list[Record]:
    """Of a plan, none where it has not been run."""
    folder = RESULTS / plan
    return list(read_records(folder)) if folder.is_dir() else []


def _ran() -> str:
    """How much of the two long plans there is."""
    said = []
    for plan, what in (
        ("published", "The published training itself"),
        ("ablation-core", "The ablation with several seeds"),
    ):
        places: dict[str, set[int]] = {}
        rows = set()
        for one in _records(plan):
            if one.method == "alora" and one.status == "done":
                places.setdefault(one.place, set()).add(one.seed)
                rows.add(one.label)
        have = ", ".join(
            f"{place} (seeds {', '.join(map(str, sorted(seeds)))})"
            for place, seeds in sorted(places.items())
        )
        if not places:
            said.append(f"{what} (`alora-ts bench run {plan}`) has not been run yet.")
            continue
        said.append(
            f"{what} (`alora-ts bench run {plan}`) has been run for {len(rows)} of the "
            f"{_cases(plan)} rows of its plan and {len(places)} of its {_entities(plan)} entities: "
            f"{have}."
        )
    return " ".join(said)


def _entities(plan: str) -> int:
    return sum(len(one.entities) for one in read_plan(plan).datasets)


def _cases(plan: str) -> int:
    return sum(one.name == "alora" for one in read_plan(plan).methods)


def detection(records: Sequence[Record]) -> Iterator[Claim]:
    """Claims of being best at finding moments."""
    found = arenas(records)
    criteria = {
        "affiliation F1 (oracle)": ("affiliation F1", "detection", BEST_F1),
        "VUS-PR": ("VUS-PR", "range", "all thresholds / VUS-PR"),
    }
    for arena in found:
        for criterion, (name, table, key) in criteria.items():
            yield _best(
                arena, criterion, f"highest {name}", table=table, key=key, section="detection"
            )
    for dataset in _ABSENT[:3]:
        wins = "second" if dataset == "SWaT" else "highest"
        theirs = published("detection", dataset, "alora", BEST_F1)
        yield Claim(
            f"{wins} affiliation F1 on {dataset}",
            "detection table",
            "untested",
            "–",
            f"{theirs.value:g}" if theirs else "–",
        )
    for method in ("memto", "anomaly-transformer"):
        yield _like_chance(found, method)


def _like_chance(found: Sequence[Arena], method: str) -> Claim:
    """The paper says that scores of MEMTO and Anomaly Transformer resemble random guessing."""
    read = CRITERIA["AUC-PR"]
    (arena,) = (one for one in found if one.dataset == "SMD")
    value, chance = _mean(arena, method, read), _mean(arena, "random", read)
    assert value is not None
    assert chance is not None
    name = next(one.name for one in arena.contenders if one.label == method)
    full, small = (
        baselines.get(method, preset).parameter_count(38)  # type: ignore[attr-defined]
        for preset in ("paper", "cpu")
    )
    times = full / small
    return Claim(
        f"scores of {name} resemble random ones on SMD",
        "figure of scores",
        "not shown",  # a smaller network and three machines
        f"AUC-PR {value:.3f}, random {chance:.3f}; a network {times:.0f} times smaller than "
        "published",
        "figure",
        str(len(arena.entities)),
        "1",
        "[results](results.md#detection)",
    )


def localization(records: Sequence[Record]) -> Iterator[Claim]:
    """Claims about naming variables."""
    for arena in arenas(records):
        if _mean(arena, _OURS, located("HR@100")) is not None:
            yield _best(
                arena,
                "localization HR@100",
                "highest HR@100",
                table="localization",
                key="HR@100",
                section="localization",
                page="results-tables",
            )
    for dataset in ("SWaT", "MSDS"):
        theirs = published("localization", dataset, "alora", "HR@100")
        shown = f"{theirs.value:g}" if theirs else "–"
        yield Claim(f"highest HR@100 on {dataset}", "localization table", "untested", "–", shown)
    for dataset in ("SMD", "ASD"):
        yield _las(dataset, records)


def _las(dataset: str, records: Sequence[Record]) -> Claim:
    """From the paper's own network where it was run on all entities, else from an older one."""
    mine = [one for one in records if (one.label, one.dataset) == (_OURS, dataset)]
    if mine and all("LAS / HR@100" in one.localization for one in mine):
        runs = [
            {
                "entity": one.entity,
                "seed": one.seed,
                "localization": {
                    form: {"hr@100": one.localization[f"{name} / HR@100"].value}
                    for form, name in (("paper", "LAS"), ("error", "LAS*"))
                },
            }
            for one in mine
        ]
        return _beats_error(
            dataset, runs, "the paper's network", "[results](results-tables.md#localization)"
        )
    runs = [
        json.loads(path.read_text())
        for path in sorted((RESULTS / "quality").glob(f"default-{dataset}-*.json"))
    ]
    return _beats_error(
        dataset, runs, "network of release 0.1's default", "[quality](quality.md#localization)"
    )


def _beats_error(dataset: str, runs: Sequence[dict[str, Any]], network: str, link: str) -> Claim:
    """LAS (Eq. 13) against LAS*, from the same network."""

    def mean(form: str, entity: str) -> float:
        return fmean(one["localization"][form]["hr@100"] for one in runs if one["entity"] == entity)

    entities = sorted({one["entity"] for one in runs})
    pairs = [(mean("paper", entity), mean("error", entity)) for entity in entities]
    ahead = sum(las > error for las, error in pairs)
    las, error = (fmean(column) for column in zip(*pairs, strict=True))
    return Claim(
        f"LAS (Eq. 13) names variables better than the error alone (LAS*), {dataset}",
        "Sec. 5.2",
        _agreed([las - error for las, error in pairs]),
        f"HR@100 {las:.3f}, error {error:.3f}; ahead on {ahead} of {len(pairs)} ({network})",
        "–",
        str(len(pairs)),
        str(len({one["seed"] for one in runs})),
        link,
    )


def timing(records: Sequence[Record], captions: str) -> Iterator[Claim]:
    """Claims about waiting and computing."""
    for arena in arenas(records):
        yield _earlier(arena)
    (smd,) = (one for one in arenas(records) if one.dataset == "SMD")
    ours, theirs = (
        _mean(smd, _OURS, cost_of("score_ms")),
        published("cost", "SMD", "alora", "score_ms"),
    )
    assert ours is not None
    assert theirs is not None
    rivals = [
        (value, one.name)
        for one in smd.contenders
        if one.method != "alora" and not one.honest
        and (value := _mean(smd, one.label, cost_of("score_ms"))) is not None
    ]  # fmt: skip
    quicker = sum(value < ours for value, _ in rivals)
    yield Claim(
        "less time to score a row than the compared methods (SMD)",
        "cost table",
        "not shown",  # smaller networks on one side, more work on the other
        f"{ours:.2f} ms of CPU, localization and incidents included; {quicker} of {len(rivals)}, "
        "with smaller networks and without these, need less",
        f"{theirs.meant:g} ms",
        str(len(smd.entities)),
        "3",
        "[results](results-tables.md#computational-cost)",
    )
    yield Claim(
        "suitable for real time: a row is scored sooner than the next arrives",
        "Sec. on cost",
        "confirmed" if ours < 1000 else "contradicted",
        f"{ours:.2f} ms a row; rows of SMD come every 60,000 ms",
        f"{theirs.meant:g} ms",
        str(len(smd.entities)),
        "3",
        "[results](results-tables.md#computational-cost)",
    )
    found = parameters.measure(None)  # type: ignore[arg-type]  # needs no data
    weights = dict(zip(found.variables.tolist(), found.total["pairs"].tolist(), strict=True))
    few, many = min(weights), max(weights)
    yield Claim(
        "the number of weights stays the same as variables are added",
        "Sec. on cost",
        "contradicted" if weights[few] != weights[many] else "confirmed",
        f"{weights[few]:,} at d = {few}, {weights[38]:,} at 38, {weights[many]:,} at {many}"
        if 38 in weights
        else f"{weights[few]:,} at d = {few}, {weights[many]:,} at {many}",
        "1.1 M at 25, 3.2 M from 38 on",
        "–",
        "–",
        "[figure](results-tables.md#figures)",
    )
    fell = re.findall(r"(\d+) of (\d+) events, and back within T rows after (\d+) of", captions)
    (up, events, back), *_ = fell
    yield Claim(
        "after an event the rank falls within T rows",
        "App. on scores",
        "not shown",  # one entity
        f"after {back} of the {up} events (of {events}) at whose end it was raised",
        "figure",
        "1",
        "1",
        "[figure](results-tables.md#figures)",
    )


def _earlier(arena: Arena) -> Claim:
    """Rows waited, against methods that catch as many events with no more rows in alarm."""
    wait, caught, false = (_mean(arena, _OURS, read) for read in (_WAITED, _CAUGHT, _FALSE))
    assert wait is not None
    compared = compare([arena], _soon, label=_OURS)
    standings = {} if compared is None else {one.name: one for one in compared.others}
    rivals = []
    for one in arena.contenders:
        its_events, its_false = (_mean(arena, one.label, read) for read in (_CAUGHT, _FALSE))
        if one.method == "alora" or one.honest or None in {its_events, its_false, caught, false}:
            continue
        if its_events >= caught and its_false <= false and one.name in standings:  # type: ignore[operator]
            rivals.append(standings[one.name])
    outcomes = {verdict_of(one) for one in rivals}
    decided = "not shown"
    if len(arena.entities) >= _FEWEST and rivals:
        decided = "contradicted" if "behind" in outcomes else decided
        decided = "confirmed" if outcomes == {"ahead"} else decided
    sooner = [f"{one.name} {-one.mean:.1f}" for one in rivals if -one.mean < wait]
    return Claim(
        f"earlier detection than the compared methods ({arena.dataset})",
        "Sec. 6.2, figure",
        decided,
        f"{wait:.1f} rows; of {len(rivals)} methods that catch as many events with no more normal "
        f"rows in alarm, sooner: {', '.join(sooner) or 'none'}",
        "figure",
        str(len(arena.entities)),
        "3, others 1",
        "[results](results-tables.md#waiting-time)",
    )


def _soon(record: Record) -> float | None:
    waited = _WAITED(record)
    return None if waited is None else -waited


def rank(captions: str) -> Iterator[Claim]:
    """Claims about the rank of attention, from the figures' captions."""
    kinds = re.search(
        r"\((\d[\d.]*)\) for (\d+) of the (\d+) kinds.*?not above it for: ([^\n]+)\.", captions
    )
    runs = re.search(r"In all (\d+) runs", captions)
    assert kinds is not None
    assert runs is not None
    yield Claim(
        "the rank rises under every kind of anomaly",
        "figure on kinds of anomaly",
        "confirmed" if kinds[2] == kinds[3] else "contradicted",
        f"for {kinds[2]} of {kinds[3]} simulated kinds in all runs; not for {kinds[4]}",
        "figure",
        "simulated",
        runs[1],
        "[figure](results-tables.md#figures)",
    )
    apart = re.search(r"AUC-ROC ([\d.]+) and ([\d.]+)\. (.+)", captions)
    place = re.search(r"mean attention matrix on ([^,]+),", captions)
    assert apart is not None
    assert place is not None
    yield Claim(
        "with the low-rank loss the rank separates anomalous from normal windows better",
        "figure of ranks per layer",
        "not shown",  # one entity, whatever it says
        f"AUC-ROC of the last layer's rank {apart[1]} without, {apart[2]} with it, each network at "
        f"its own h1 ({place[1]})",
        "figure",
        "1",
        "1",
        "[figure](results-tables.md#figures)",
    )
    yield _separation()
    level = re.search(r"fifth value exceeds the published [\d.]+ in ([\d.]+)%", captions)
    chosen = re.search(r"h1 = ([\d.e-]+)\.", captions)
    assert level is not None
    assert chosen is not None
    yield Claim(
        "h1 = 0.01 on SMD keeps the rank of normal windows at 4 or below",
        "App. on training",
        "not shown",  # one entity
        f"σ5 above it in {level[1]} % of training windows; h1 chosen here {chosen[1]}",
        "0.01",
        "1",
        "1",
        "[figure](results-tables.md#figures)",
    )


def _separation() -> Claim:
    """The same on six servers, by benchmarks/rank_separation.py."""
    lines = (RESULTS / "rank-separation.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    without, with_loss = ([one[key] for one in found] for key in ("auc_without", "auc_with"))
    more = [ours - other for ours, other in zip(with_loss, without, strict=True)]
    between = bootstrap_mean(more)
    sure = f", difference {fmean(more):+.3f}"
    if between is not None and len(more) >= _FEWEST:
        sure += f" [{between.low:+.3f}, {between.high:+.3f}]"
    return Claim(
        "the same on the servers of ASD",
        "figure of ranks per layer",
        _agreed(more),
        f"AUC-ROC {fmean(without):.2f} without, {fmean(with_loss):.2f} with it{sure}; higher on "
        f"{sum(one > 0 for one in more)} of {len(more)}",
        "figure",
        str(len(more)),
        str(len({one["seed"] for one in found})),
        "`python -m benchmarks.rank_separation`",
    )


def ablations(records: Sequence[Record]) -> Iterator[Claim]:
    """Claims that a part helps: F1 of the case with it against the one without."""
    wanted = (
        ("the loss adds to detection", "loss and score", "loss and score", "score only"),
        ("the rank adds to detection", "loss and score", "loss and score", "loss only"),
        ("the 512 best pairs detect as well as all", "pairs", "top 512", "all"),
        ("Spearman chooses pairs better than Pearson", "correlation", "Spearman", "Pearson"),
        ("K = 512 and K = 256 detect alike", "K", "512", "256"),
        ("without feed-forward layers detection is no worse", "feed-forward", "without", "with"),
        ("one loss for the heads' mean detects as well as one for each head", "placement",
         "mean of heads", "each head"),
    )  # fmt: skip
    studies = {study: arena for (_, study, _), arena in cases(records).items()}
    for claim, study, with_it, without in wanted:
        arena = studies[study]
        read = detected(BEST_F1)
        ours, other = (_by_entity(arena, label, read) for label in (with_it, without))
        gains = [ours[entity] - other[entity] for entity in ours]
        printed = [published(f"study {study}", "SMD", case, BEST_F1) for case in (with_it, without)]
        yield Claim(
            claim,
            "ablation tables",
            "not shown",  # three machines
            f"F1 {fmean(ours.values()):.3f} against {fmean(other.values()):.3f} "
            f"({', '.join(f'{one:+.3f}' for one in gains)} by machine)",
            " against ".join(f"{one.value:g}" if one else "–" for one in printed),
            str(len(gains)),
            "1",
            "[tables](results-tables.md#ablations)",
        )


def core(records: Sequence[Record]) -> Iterator[Claim]:
    """The same with several seeds: pairs of one entity and one seed, with and without the part."""
    wanted = (
        ("the loss adds to detection", "λ = 0"),
        ("λ = 10 on a mean error detects better than on a sum (Eq. 8 to the letter)",
         "λ as in Eq. 8, literally"),
        ("the rank adds to detection", "score without rank"),
        ("more pairs than 128 add to detection", "K = 128"),
        ("the 512 best pairs detect as well as all", "all pairs"),
        ("without feed-forward layers detection is no worse", "feed-forward with GELU"),
        ("the light embedding detects better than the dense one", "dense embedding"),
    )  # fmt: skip
    read = detected(BEST_F1)
    found = [arena for (_, study, _), arena in cases(records).items() if study == "core"]
    for claim, case in wanted:
        parts, entities, seeds = [], [], set()
        for arena in found:
            pairs = differences(arena, case, read)
            if not pairs:
                continue
            here = {entity for entity, _ in pairs}
            entities += [
                fmean(value for (entity, _), value in pairs.items() if entity == one)
                for one in sorted(here, key=str)
            ]
            seeds |= {seed for _, seed in pairs}
            between = interval(pairs)
            sure = f" [{between.low:+.3f}, {between.high:+.3f}]" if between else ""
            parts.append(f"{arena.dataset} {fmean(pairs.values()):+.3f}{sure}")
        if not parts:
            continue
        yield Claim(
            f"{claim}, several seeds",
            "ablation tables",
            _agreed(entities),
            f"F1 with it less without: {'; '.join(parts)}",
            entities=str(len(entities)),
            seeds=str(len(seeds)),
            link="[results](results.md#ablations)",
        )


def _agreed(entities: Sequence[float]) -> str:
    """A verdict where all of at least six entities agree."""
    if len(entities) < _FEWEST:
        return "not shown"
    if all(one > 0 for one in entities):
        return "confirmed"
    return "contradicted" if all(one < 0 for one in entities) else "not shown"


def training(records: Sequence[Record]) -> Iterator[Claim]:
    """What the paper's own training gives, beside the shorter one of the other lines."""
    wanted = (
        ("alora-published", "the published training (1e-4, every window, early stopping)"),
        ("alora-literal", "the same with Eq. 8 to the letter (an error that is a sum)"),
    )
    for label, what in wanted:
        for one in records:
            if one.label != label or one.status != "done":
                continue
            short = next(
                other
                for other in records
                if (other.label, other.place, other.seed) == ("alora-short", one.place, one.seed)
            )
            theirs = published("detection", one.dataset, "alora", BEST_F1)
            facts, cost = one.facts, one.measured["fit_processor_seconds"]
            end = "early stopping" if facts["stopped_early"] else "its last epoch"
            yield Claim(
                f"{what} reaches the printed F1 on {one.dataset}"
                if theirs
                else f"{what} detects better than the shorter one",
                "App. on training",
                "not shown",  # one entity
                f"F1 {detected(BEST_F1)(one):.3f}, shorter {detected(BEST_F1)(short):.3f}; AUC-PR "
                f"{_AUC(one):.3f}, {_AUC(short):.3f}; {facts['windows']:,.0f} windows in "
                f"{cost:,.0f} CPU s, {short.facts['windows']:,.0f} in "
                f"{short.measured['fit_processor_seconds']:,.0f}; best epoch "
                f"{facts['epochs']:.0f}, ended by {end} ({one.place})",
                f"{theirs.value:g}" if theirs else "–",
                "1",
                "1",
                "[results](results.md#the-published-training)",
            )


def theory(captions: str) -> Iterator[Claim]:
    """What is a property of the equations."""
    ratios = {
        level: sorted(
            float(one)
            for found in re.findall(rf"Δ = {level} σ with[^:]*: ([\d., ]+\d)", captions)
            for one in found.split(", ")
        )
        for level in (10, 50)
    }
    shown = ", ".join(
        f"{found[0]:.2f} to {found[-1]:.2f} at {level} σ" for level, found in ratios.items()
    )
    yield Claim(
        "attention without activations has the form of a space-time autoregression (Prop. 1)",
        "Sec. 4",
        "confirmed",
        "the sum of the terms equals the network's output within rounding, by test",
        link="`tests/network/test_contributions.py`",
    )
    yield Claim(
        "E and C say how far an anomaly of one series moves the others",
        "App. E",
        "confirmed",
        f"measured over predicted shift {shown}",
        "figure",
        "simulated",
        "100",
        "[simulation](simulation.md)",
    )
    yield Claim(
        "the largest singular value of an attention matrix is 1",
        "Sec. 5.1",
        "contradicted",
        "at least 1, equal only where columns sum to 1 too",
        "1",
        link="[the method](explanation/how-alora-works.md)",
    )


def _best(
    arena: Arena,
    criterion: str,
    words: str,
    *,
    table: str,
    key: str,
    section: str,
    page: str = "results",
) -> Claim:
    """A claim of being ahead of every compared method, by the verdict of the results' page."""
    (found,) = (one for one in verdicts([arena], _OURS) if one.metric == criterion)
    outcome = {"win": "confirmed", "loss": "contradicted"}.get(found.outcome, "not shown")
    ahead = [one for one in found.rivals if one.mean > found.compared.ours.mean]
    best = max(found.rivals, key=lambda one: one.mean)
    theirs = published(table, arena.dataset, "alora", key)
    return Claim(
        f"{words} on {arena.dataset}" + ("" if theirs else " (a set that the paper has not)"),
        f"{table} table",
        outcome,
        f"{found.compared.ours.mean:.3f}, place {1 + len(ahead)} of {1 + len(found.rivals)}; best "
        f"other {best.name} {best.mean:.3f}",
        f"{theirs.value:g}" if theirs else "–",
        str(len(found.compared.places)),
        "3, others 1",
        f"[results]({page}.md#{section})",
    )


def _mean(arena: Arena, label: str, read: Read) -> float | None:
    (own,) = (one for one in arena.contenders if one.label == label)
    return summarize(own.records, read, arena.entities).value


def _by_entity(arena: Arena, label: str, read: Read) -> dict[str | None, float]:
    (own,) = (one for one in arena.contenders if one.label == label)
    return summarize(own.records, read, arena.entities).entities


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
