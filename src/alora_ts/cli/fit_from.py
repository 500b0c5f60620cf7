"""Rows to fit from that are not in a file: those of a running service, or of Prometheus."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from alora_ts.cli.common import console
from alora_ts.cli.serve import refuse_without_packages
from alora_ts.errors import AloraError, DataError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = ["activate_at", "read_from", "read_queries"]

_PAGE = 10_000


def read_from(
    address: str,
    *,
    source: str | None,
    start: str | None,
    end: str | None,
    queries: dict[str, str],
    step: float,
    token: str | None,
    quiet: bool,
) -> tuple[pl.DataFrame, str]:
    """The rows of a period and the name of their time column; says first what is in them.

    Parameters
    ----------
    address : str
        Of a service (``http://…``), or ``prometheus://host:port``.
    source : str, optional
        Which of the service's sources; not needed where there is one.
    start, end : str, optional
        ISO 8601; by default the period that the service offers, or the last day of Prometheus.
    queries : dict of str to str
        Signals with their PromQL.
    step : float
        Seconds between the rows of Prometheus.
    token : str, optional
    quiet : bool
    """
    refuse_without_packages()
    if address.startswith("prometheus"):
        if not queries:
            raise AloraError(
                "say what to ask Prometheus: --query flow='avg(pump_flow)', once for each signal"
            )
        return _from_prometheus(
            address, start=start, end=end, queries=queries, step=step, token=token, quiet=quiet
        )
    if queries:
        raise AloraError("--query is for --from prometheus://…; a service has its signals")
    return _from_service(address, source=source, start=start, end=end, token=token, quiet=quiet)


def read_queries(given: list[str] | None) -> dict[str, str]:
    """Signals with their queries, as ``--query flow='avg(pump_flow)'`` gives them.

    Examples
    --------
    >>> read_queries(["flow=sum(x{a='b'})"])
    {'flow': "sum(x{a='b'})"}
    """
    found: dict[str, str] = {}
    for text in given or []:
        name, sign, query = text.partition("=")
        if not sign or not name.strip() or not query.strip():
            raise AloraError(f"--query {text}: write a signal and its PromQL, as in flow=avg(x)")
        found[name.strip()] = query.strip()
    return found


def activate_at(
    address: str, model: Path, *, source: str | None, until: str, token: str | None
) -> str:
    """Hand a model over to the service and let the source use it; says from when it scores."""
    from alora_ts.serve.client import ServiceClient, split_address

    url, named = split_address(address)
    with ServiceClient(url, token=token) as client:
        target = _only_source(client, source or named)
        key = client.post("models", content=model.read_bytes(), name=model.stem)["id"]
        choice = {"model_id": key, "scored_from": until}
        shown = client.post("sources", target, "activate", json=choice)
    since = shown["scored_from"]
    return f"{target} is live with it" + (f", scored from {since}" if since else "")


def _only_source(client: Any, name: str | None) -> str:
    if name is not None:
        return name
    names = [one["name"] for one in client.get("sources")]
    if len(names) != 1:
        raise AloraError(
            f"say which source with --source: the service has {', '.join(names) or 'none'}"
        )
    return str(names[0])


def _from_service(
    address: str,
    *,
    source: str | None,
    start: str | None,
    end: str | None,
    token: str | None,
    quiet: bool,
) -> tuple[pl.DataFrame, str]:
    import numpy as np

    from alora_ts.serve.client import ServiceClient, split_address
    from alora_ts.serve.rows.table import rows_frame, time_name
    from alora_ts.serve.times import to_micros

    url, named = split_address(address)
    times: list[int] = []
    values: list[list[float | None]] = []
    with ServiceClient(url, token=token) as client:
        target = _only_source(client, source or named)
        given = {name: one for name, one in (("start", start), ("end", end)) if one is not None}
        period = client.get("sources", target, "period", **given)
        if not quiet:
            _tell(period, what=f"{target} at {url}")
        query = {"start": period["start"], "end": period["end"], "limit": _PAGE}
        while True:
            page = client.get("sources", target, "rows", **query)
            times += [to_micros(row["time"]) for row in page["items"]]
            values += [row["values"] for row in page["items"]]
            if page["next"] is None:
                break
            query["cursor"] = page["next"]
    if not times:
        raise DataError(f"{target} has no rows from {period['start']} to {period['end']}")
    table = np.array(values, dtype=np.float64)
    return _known(
        rows_frame(np.array(times), table, page["variables"]), time_name(page["variables"])
    )


def _from_prometheus(
    address: str,
    *,
    start: str | None,
    end: str | None,
    queries: dict[str, str],
    step: float,
    token: str | None,
    quiet: bool,
) -> tuple[pl.DataFrame, str]:
    import httpx
    import numpy as np

    from alora_ts.serve.connect.prometheus import assemble_rows, fetch_series
    from alora_ts.serve.rows.period import describe_gaps, describe_signals
    from alora_ts.serve.rows.table import rows_frame, time_name
    from alora_ts.serve.times import from_micros, to_micros

    kind, _, place = address.partition("://")
    schemes = {"prometheus": "http", "prometheus+http": "http", "prometheus+https": "https"}
    if kind not in schemes or not place:
        raise AloraError(
            f"cannot read {address!r}; give prometheus://host:9090, or prometheus+https://host"
        )
    now = datetime.now(UTC)
    last = to_micros(now if end is None else end)
    first = last - round(timedelta(days=1).total_seconds() * 1e6)
    first = first if start is None else to_micros(start)
    if last <= first:
        raise AloraError("--end must lie after --start")

    async def ask() -> dict[str, dict[int, float]]:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(headers=headers, timeout=60.0, trust_env=False) as client:
            return await fetch_series(
                client,
                f"{schemes[kind]}://{place}",
                queries,
                start=first,
                end=last,
                step=round(step * 1e6),
            )

    rows = assemble_rows(asyncio.run(ask()))
    if not rows:
        raise DataError(
            f"Prometheus has no values from {from_micros(first)} to {from_micros(last)}; check "
            "the queries, --start and --end"
        )
    names = list(queries)
    times = np.array([row.time for row in rows], dtype=np.int64)
    values = np.array([[row.values[name] for name in names] for row in rows], dtype=np.float64)
    if not quiet:
        _tell(
            {
                "start": from_micros(int(times[0])),
                "end": from_micros(int(times[-1])),
                "rows": len(rows),
                **describe_gaps(times),
                "signals": describe_signals(times, values, names),
            },
            what=f"Prometheus at {place}",
        )
    return _known(rows_frame(times, values, names), time_name(names))


def _known(table: pl.DataFrame, time: str) -> tuple[pl.DataFrame, str]:
    """The table without signals that never had a value."""
    import polars as pl

    empty = [name for name in table.columns if name != time and bool(table[name].is_nan().all())]
    left = table.drop(empty)
    if left.width < 2:
        raise DataError("no signal has a value in this period; choose another")
    return left.with_columns(
        pl.col(name).fill_nan(None) for name in left.columns if name != time
    ), time


def _tell(period: dict[str, Any], *, what: str) -> None:
    """Say what is learned from, before it is: rows, gaps, and signals that are not as usual."""
    out = console()
    more = " and more" if period.get("more_rows") else ""
    lines = [
        f"{what}: {period['rows']:,}{more} rows of {len(period['signals'])} signals from "
        f"{period['start'][:19]} to {period['end'][:19]} UTC"
        + (f", one every {period['step']:g} s" if period["step"] else "")
    ]
    if period.get("incidents_left_out"):
        lines.append(f"{period['incidents_left_out']} incident(s) lie outside and are left out.")
    if period.get("incidents_inside"):
        lines.append(
            f"{period['incidents_inside']} incident(s) lie in it: they will count as normal."
        )
    lines += [
        f"gap of {gap['seconds']:,.0f} s from {gap['start'][:19]}" for gap in period["gaps"][:5]
    ]
    if period["gap_count"] > 5:
        lines.append(f"{period['gap_count'] - 5} more gaps")
    lines += [
        f"{one['name']}: {one['note'] or format(one['missing'], '.0%') + ' missing'}"
        for one in period["signals"]
        if one["note"] or one["missing"] > 0.01
    ]
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
