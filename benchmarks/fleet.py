"""Fleets: seven SMD machines, cost, throughput, the driver, a lost node, warm start.

    python benchmarks/fleet.py smd cost warm throughput driver loss   # or some of them
    python benchmarks/fleet.py smd --data ~/datasets             # where SMD/ is
    python benchmarks/fleet.py smd --small                       # with a small network

Each part replaces its section of results/fleet.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

RESULTS = Path(__file__).parents[1] / "results" / "fleet.md"
HEAD = """# Fleets, measured

Each section was written by the command it names, on the machine it names. Absolute times hold for
that machine and its load; other work ran on it at the same time.
"""


def write_section(name: str, text: str) -> None:
    """Replace one section of the results, or add it."""
    page = RESULTS.read_text() if RESULTS.exists() else HEAD
    block = f"<!-- {name} -->\n{text.strip()}\n<!-- end {name} -->\n"
    found = re.compile(rf"<!-- {name} -->\n.*?<!-- end {name} -->\n", re.DOTALL)
    page = found.sub(lambda _: block, page) if found.search(page) else f"{page}\n{block}"
    RESULTS.write_text(page)
    print(text)


def where(part: str) -> str:
    """The command and the machine, as a line of a section."""
    cores = len(os.sched_getaffinity(0))
    return (
        f"`python benchmarks/fleet.py {part}`, {cores} cores, load {os.getloadavg()[0]:.1f} at the "
        f"end, Python {platform.python_version()}."
    )


def digests(folder: Path) -> dict[str, str]:
    """Every file below a folder with the digest of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_smd(folder: Path, root: str | None) -> dict[str, Any]:
    """The SMD machines that are there, a Parquet file each in train/ and test/; their labels."""
    import polars as pl

    from alora_ts.datasets import data_root, load

    place = data_root(root)
    labels = {}
    for part in ("train", "test"):
        (folder / part).mkdir()
    for file in sorted((place / "SMD" / "train").glob("machine-*.txt")):
        data = load("SMD", place, entity=file.stem)
        for part in ("train", "test"):
            frame = pl.DataFrame(getattr(data, part), schema=list(data.variables))
            frame.write_parquet(folder / part / f"{file.stem}.parquet")
        labels[file.stem] = data.label
    return labels


def estimator(*, small: bool, epochs: int | None = None) -> Any:
    """The default estimator, or one with a small network that sees fewer windows."""
    from alora_ts import ALoRa, Architecture

    chosen = ALoRa()
    if small:
        chosen.set_params(
            window=10,
            pairs=64,
            architecture=Architecture(layers=2, heads=4),
            epochs=2,
            epoch_windows=640,
        )
    return chosen.set_params(epochs=epochs) if epochs is not None else chosen


def named(*, small: bool) -> str:
    """The estimator in words."""
    if not small:
        return "Default estimator"
    return "Small estimator (window 10, 64 pairs, 2 layers, 4 heads, 2 epochs of 640 windows)"


def quality(fleet: Any, label: Any, name: str) -> tuple[float, float]:
    """Best affiliation F1 (chosen with the labels) and area under precision and recall."""
    from alora_ts.metrics import auc_pr, best_f1

    score = fleet.scores(name)["score"].to_numpy()
    return best_f1(label, score, metric="affiliation").f1, auc_pr(label, score)


def smd(data: str | None, *, small: bool) -> None:
    """Both engines on the seven machines: the same bytes, and a table of results."""
    from alora_ts.fleet import Fleet, LocalEngine, RayEngine
    from alora_ts.fleet.view import leading_culprits

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        labels = write_smd(folder, data)
        seconds: dict[str, tuple[float, float]] = {}
        for name, engine in (("local", LocalEngine()), ("ray", RayEngine())):
            fleet = Fleet(estimator(small=small), engine=engine)
            begun = time.perf_counter()
            fleet.fit(folder / "train", output=folder / name, progress=report(name))
            fitted = time.perf_counter()
            view = fleet.diagnose(folder / "test", progress=report(name))
            seconds[name] = fitted - begun, time.perf_counter() - fitted
        same = digests(folder / "local") == digests(folder / "ray")
        count = len(digests(folder / "local"))
        lines = [
            "| machine | rows | incidents | score now | best affiliation F1 | AUC-PR | culprits |",
            "|---|---:|---:|---:|---:|---:|---|",
        ]
        for entity in view.entities:
            f1, area = quality(fleet, labels[entity.name], entity.name)
            blamed = ", ".join(leading_culprits(entity))
            lines.append(
                f"| {entity.name} | {entity.rows:,} | {len(entity.incidents)} | "
                f"{entity.score:.2f} | {f1:.3f} | {area:.3f} | {blamed} |"
            )
    times = "; ".join(
        f"{name}: fit {fit:.0f} s, detect {detect:.0f} s" for name, (fit, detect) in seconds.items()
    )
    write_section(
        "smd",
        "## The seven SMD machines with both engines\n\n"
        f"{where('smd' + ' --small' * small)} {named(small=small)}, 2 workers. {times} "
        "(Ray's start included).\n"
        f"All {count} files of the two fleets are {'' if same else 'NOT '}equal byte for byte. "
        "Labels are used for the two columns of quality only.\n\n" + "\n".join(lines),
    )


def warm(data: str | None, *, small: bool) -> None:
    """Individual fits against a pooled model and short fits: time and quality."""
    from alora_ts.fleet import Fleet, WarmStart

    whole = estimator(small=small)
    ways = {
        f"individual, {whole.epochs} epochs": (whole, None),
        "individual, 1 epoch": (estimator(small=small, epochs=1), None),
        "warm start, 1 epoch": (whole, WarmStart(sample=4, epochs=1)),
    }
    lines = [
        "| way | all fits, CPU s | pooled fit, CPU s | mean best affiliation F1 | mean AUC-PR |",
        "|---|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        labels = write_smd(folder, data)
        for number, (name, (chosen, start)) in enumerate(ways.items()):
            fleet = Fleet(chosen, warm_start=start)
            begun = children()
            first: list[float] = []

            def note(_: Any, first: list[float] = first) -> None:
                first.append(children())

            fleet.fit(folder / "train", output=folder / str(number), progress=note)
            work = fleet.tally_.seconds
            pooled = first[0] - begun if start else 0.0
            fleet.diagnose(folder / "test", progress=report(name))
            found = [quality(fleet, label, machine) for machine, label in labels.items()]
            f1, area = (sum(each) / len(found) for each in zip(*found, strict=True))
            lines.append(f"| {name} | {work:.0f} | {pooled:.0f} | {f1:.3f} | {area:.3f} |")
    write_section(
        "warm",
        "## Warm start against individual fits\n\n"
        f"{where('warm' + ' --small' * small)} {named(small=small)}, seven SMD machines, pooled "
        f"model of 4 of them (10,000 rows each, {whole.epochs} epochs). The pooled fit is made "
        "once for the whole fleet, whatever its size.\n\n" + "\n".join(lines),
    )


def cost(data: str | None, *, small: bool) -> None:
    """CPU time, memory and files of one machine."""
    from alora_ts.fleet import Fleet, LocalEngine

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_smd(folder, data)
        for part in ("train", "test"):
            for file in sorted((folder / part).iterdir())[1:]:
                file.unlink()
        fleet = Fleet(estimator(small=small), engine=LocalEngine(workers=1))
        fleet.fit(folder / "train", output=folder / "out", progress=report("cost"))
        fit = fleet.tally_.seconds
        fitted = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        view = fleet.diagnose(folder / "test", progress=report("cost"))
        detect = fleet.tally_.seconds
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        size = sum(file.stat().st_size for file in (folder / "out").rglob("*")) / 2**20
    rows = view.entities[0].rows or 0
    write_section(
        "cost",
        "## One machine\n\n"
        f"{where('cost' + ' --small' * small)} {named(small=small)}, SMD {view.entities[0].name}, "
        f"{rows:,} rows of 38 signals to judge and about as many to learn from, one thread. "
        "Loading torch is part of both.\n\n"
        f"* fit: {fit:.0f} s of CPU time, at most {fitted:.0f} MiB\n"
        f"* detect: {detect:.0f} s of CPU time ({1000 * detect / rows:.2f} ms a row), at most "
        f"{peak:.0f} MiB in either\n"
        f"* files: {size:.1f} MiB",
    )


def children() -> float:
    """CPU time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def small_machines(folder: Path, count: int, *, rows: int = 400) -> Path:
    """Machines of three signals."""
    import numpy as np
    import polars as pl

    folder.mkdir()
    for number in range(count):
        rng = np.random.default_rng(number)
        load = np.sin(np.arange(rows) / 5) + 0.1 * rng.normal(size=rows)
        values = np.column_stack([load, 2 * load, -load]) + 0.05 * rng.normal(size=(rows, 3))
        pl.DataFrame(values, schema=["load", "heat", "flow"]).write_parquet(
            folder / f"m{number:05}.parquet"
        )
    return folder


def quick() -> Any:
    """A small estimator for small machines."""
    from alora_ts import ALoRa, Architecture

    return ALoRa(window=4, epochs=1, epoch_windows=64, architecture=Architecture(layers=1, heads=2))


def throughput() -> None:
    """Entities per hour with one worker and two."""
    from alora_ts import ALoRa
    from alora_ts.fleet import Fleet, LocalEngine, RayEngine

    engines: tuple[Callable[..., Any], ...] = (LocalEngine, RayEngine)
    lines = ["| engine | workers | seconds | machines per hour |", "|---|---:|---:|---:|"]
    count = 12
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        source = small_machines(folder / "in", count, rows=2000)
        for kind in engines:
            for workers in (1, 2):
                out = folder / f"{kind.__name__}-{workers}"
                chosen = ALoRa(window=10, epochs=2, epoch_windows=800)
                fleet = Fleet(chosen, engine=kind(workers=workers))
                first: list[float] = []

                def note(step: Any, first: list[float] = first, workers: int = workers) -> None:
                    if step.done == workers:
                        first.append(time.perf_counter())

                fleet.fit(source, output=out, progress=note)
                # From when every worker has loaded torch and finished one machine.
                spent = time.perf_counter() - first[0]
                rate = (count - workers) / spent * 3600
                lines.append(f"| {kind.__name__} | {workers} | {spent:.1f} | {rate:,.0f} |")
    write_section(
        "throughput",
        "## Machines per hour against workers\n\n"
        f"{where('throughput')} {count} machines of 2,000 rows and 3 signals; the time until every "
        "worker finished its first machine (loading torch) is not counted.\n\n" + "\n".join(lines),
    )


def copy_tiny(task: tuple[str, str]) -> int:
    """Read a tiny file and write one back: what is left is the engine's own cost."""
    source, target = task
    content = Path(source).read_bytes()
    Path(target).write_bytes(content[::-1])
    return len(content)


def driver() -> None:
    """The driver's memory and the cost of scheduling, from 100 to 10,000 tasks."""
    import psutil

    from alora_ts.fleet import LocalEngine, RayEngine

    lines = [
        "| engine | tasks | driver before, MiB | driver after, MiB | seconds | ms per task |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    me = psutil.Process()
    for kind in (LocalEngine, RayEngine):
        for count in (100, 1000, 10_000):
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                (folder / "in").write_text("tiny")
                tasks = ((str(folder / "in"), str(folder / f"{at}.out")) for at in range(count))
                engine = kind(workers=2)
                running = engine.map(copy_tiny, tasks, memory=lambda _: 0)
                for _ in range(20):
                    next(running)
                before = me.memory_info().rss / 2**20
                begun = time.perf_counter()
                done = sum(each.error is None for each in running)
                spent = time.perf_counter() - begun
                after = me.memory_info().rss / 2**20
                assert done == count - 20
                assert len(list(folder.glob("*.out"))) == count
            lines.append(
                f"| {kind.__name__} | {count:,} | {before:.0f} | {after:.0f} | {spent:.1f} | "
                f"{1000 * spent / done:.2f} |"
            )
            print(lines[-1], flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    write_section(
        "driver",
        "## The driver: memory and scheduling\n\n"
        f"{where('driver')} Tasks read and write back a tiny file, 2 workers; measured from the "
        f"21st task on. Peak of the driver over all runs: {peak:.0f} MiB.\n\n" + "\n".join(lines),
    )


@contextmanager
def ray_cluster(nodes: int) -> Iterator[Any]:
    """A cluster of several nodes of one core each on this computer."""
    import ray
    from ray.cluster_utils import Cluster

    common = {"num_cpus": 1, "memory": 4 * 2**30, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**common, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(**common)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def loss() -> None:
    """200 machines on three nodes, one of which is lost on the way."""
    from alora_ts.fleet import Fleet, LocalEngine, RayEngine

    count, lost_at = 200, 60
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        source = small_machines(folder / "in", count)
        Fleet(quick(), engine=LocalEngine()).fit(
            source, output=folder / "local", progress=report("local")
        )
        with ray_cluster(3) as cluster:
            node = cluster.list_all_nodes()[-1]

            def lose(step: Any) -> None:
                report("ray")(step)
                if step.done == lost_at and node in cluster.list_all_nodes():
                    cluster.remove_node(node, allow_graceful=False)

            fleet = Fleet(quick(), engine=RayEngine())
            begun = time.perf_counter()
            fleet.fit(source, output=folder / "ray", progress=lose)
            spent = time.perf_counter() - begun
            left = len(cluster.list_all_nodes())
        tally = fleet.tally_
        same = digests(folder / "local") == digests(folder / "ray")
        entities = len(list((folder / "ray" / "entities").iterdir()))
    write_section(
        "loss",
        "## A node lost during 200 machines\n\n"
        f"{where('loss')} Ray cluster of 3 nodes (one core each) on one computer; one node is "
        f"killed after {lost_at} machines, {left} are left.\n\n"
        f"* {tally.done} done, {tally.skipped} found done by a repeated task, {tally.failed} "
        f"failed, in {spent:.0f} s; {len(tally.nodes)} nodes did the work.\n"
        f"* {entities} machines in the output, each once.\n"
        f"* All files {'equal' if same else 'DIFFER from'} those of local processes, byte for "
        "byte.",
    )


def report(name: str) -> Callable[[Any], None]:
    """Progress as lines."""

    def say(step: Any) -> None:
        if step.done % max(1, step.total // 10) == 0:
            print(f"{name} {step.task} {step.done}/{step.total}", file=sys.stderr, flush=True)

    return say


PARTS = ("smd", "cost", "warm", "throughput", "driver", "loss")


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--data", help="Folder with SMD/; ALORA_TS_DATA if not given.")
    parser.add_argument("--small", action="store_true", help="A small network for SMD.")
    given = parser.parse_args()
    for part in given.parts:
        if part in ("smd", "cost", "warm"):
            {"smd": smd, "cost": cost, "warm": warm}[part](given.data, small=given.small)
        else:
            {"throughput": throughput, "driver": driver, "loss": loss}[part]()


if __name__ == "__main__":
    main()
