"""Rows from a Prometheus server: range queries on a grid, one expression per variable."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Mapping
from typing import Any

import httpx

from alora_ts.errors import AloraError, DataError
from alora_ts.serve.assemble import SilenceWatch
from alora_ts.serve.connect.settings import PrometheusSettings
from alora_ts.serve.connect.storing import persist, store
from alora_ts.serve.operate.secrets import read_secret
from alora_ts.serve.rows.interface import ConnectorStatus, Host, Progress, Row
from alora_ts.serve.times import now_micros

__all__ = ["PrometheusConnector", "assemble_rows", "fetch_series", "read_matrix"]

_POINTS = 5000  # of one answer; Prometheus refuses more than 11,000
_MICROS = 1_000_000
_FOREIGN = "the answer is not that of a Prometheus server; check `url`"


class PrometheusConnector:
    """Asks for the values since the newest stored row, every step.

    After an outage of either side it asks for what was missed, up to ``backfill`` seconds.

    Parameters
    ----------
    settings : PrometheusSettings
    """

    kind = "prometheus"

    def __init__(self, settings: PrometheusSettings) -> None:
        self._settings = settings
        self.name = settings.name
        self._progress = Progress(settings.name, self.kind, settings.source)
        self._step = round(settings.step * _MICROS)

    def status(self) -> ConnectorStatus:
        """Say whether the server answers and what was counted."""
        return self._progress.status()

    async def run(self, host: Host) -> None:
        """Ask until cancelled."""
        await persist(self._progress, lambda: self._poll(host))

    async def _poll(self, host: Host) -> None:
        settings = self._settings
        await host.learn(settings.source, settings.queries)
        self._check(host)
        last = await host.last_row(settings.source)
        reached = now_micros() - round(settings.backfill * _MICROS)
        if last is not None:
            reached = max(reached, last.time)
        # What is fetched first shows who was silent since then.
        watch = SilenceWatch(
            settings.queries, after=round(settings.silent_after * _MICROS), now=reached
        )
        silent: dict[str, int | None] | None = None
        async with self._client() as client:
            while True:
                now = now_micros()
                end = (now - round(settings.lag * _MICROS)) // self._step * self._step
                start = (reached // self._step + 1) * self._step
                for first in range(start, end + 1, _POINTS * self._step):
                    until = min(end, first + (_POINTS - 1) * self._step)
                    rows = await self._fetch(client, first, until)
                    for row in rows:
                        for name, value in row.values.items():
                            if value is not None:
                                watch.hear(name, time=row.time, now=row.time)
                    if rows:
                        await store(host, self._progress, rows)
                    reached = until
                self._progress.enter("connected")
                if settings.silent_after:
                    found = watch.silent(now=now)
                    if found != silent:
                        await host.silent(settings.source, self.name, found)
                        silent = found
                pause = self._step - (now_micros() - round(settings.lag * _MICROS)) % self._step
                await asyncio.sleep(pause / _MICROS)

    def _check(self, host: Host) -> None:
        known = host.variables(self._settings.source)
        unknown = sorted(set(self._settings.queries) - set(known))
        if unknown:
            raise AloraError(
                f"[[connect.prometheus]] {self.name!r} has queries for {', '.join(unknown)}, which "
                f"the model of {self._settings.source!r} does not know; it knows {', '.join(known)}"
            )

    def _client(self) -> httpx.AsyncClient:
        settings = self._settings
        password = read_secret(settings.password, settings.password_file)
        token = read_secret(settings.token, settings.token_file)
        return httpx.AsyncClient(
            timeout=settings.timeout,
            auth=None if settings.username is None else (settings.username, password or ""),
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            verify=ssl.create_default_context(cafile=settings.ca_file),
            trust_env=False,
        )

    async def _fetch(self, client: httpx.AsyncClient, start: int, end: int) -> list[Row]:
        series = await fetch_series(
            client,
            str(self._settings.url),
            self._settings.queries,
            start=start,
            end=end,
            step=self._step,
        )
        self._progress.received(sum(map(len, series.values())))
        return assemble_rows(series)


async def fetch_series(
    client: httpx.AsyncClient,
    url: str,
    queries: Mapping[str, str],
    *,
    start: int,
    end: int,
    step: int,
) -> dict[str, dict[int, float]]:
    """Ask for the values of every variable from start to end, however many there are.

    Parameters
    ----------
    client : httpx.AsyncClient
    url : str
        Of the server.
    queries : mapping of str to str
        One PromQL expression for each variable.
    start, end, step : int
        Microseconds.

    Raises
    ------
    AloraError
        When the server does not answer, or a query is not one series.
    """
    found = dict[str, dict[int, float]]()
    for variable, query in queries.items():
        series = found[variable] = {}
        for first in range(start, end + 1, _POINTS * step):
            try:
                answer = await client.post(
                    f"{url.rstrip('/')}/api/v1/query_range",
                    data={
                        "query": query,
                        "start": f"{first / _MICROS:.6f}",
                        "end": f"{min(end, first + (_POINTS - 1) * step) / _MICROS:.6f}",
                        "step": f"{step / _MICROS:.6f}",
                    },
                )
                series |= read_matrix(_as_json(answer))
            except httpx.HTTPError as error:
                raise AloraError(
                    f"Prometheus does not answer: {str(error) or type(error).__name__}"
                ) from error
            except DataError as error:
                raise AloraError(f"the query of {variable!r}: {error}") from error
    return found


def read_matrix(answer: Any) -> dict[int, float]:
    """Read the one series of a range query's answer, by microseconds; what is not finite is absent.

    Raises
    ------
    DataError
        When the query failed, or gave several series.

    Examples
    --------
    >>> read_matrix({"status": "success", "data": {"resultType": "matrix", "result": [
    ...     {"metric": {}, "values": [[1.5, "3"], [2.5, "NaN"]]}]}})
    {1500000: 3.0}
    """
    try:
        if answer["status"] != "success":
            raise DataError(f"Prometheus refused it: {answer.get('error', 'no reason given')}")
        series = answer["data"]["result"]
        if len(series) > 1:
            raise DataError(
                f"the query gives {len(series)} series where one is needed; aggregate them, for "
                "instance with sum(...) or max(...), or select one by its labels"
            )
        pairs = [
            (round(float(time) * _MICROS), float(value))
            for each in series
            for time, value in each["values"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(_FOREIGN) from error
    return {time: value for time, value in pairs if math.isfinite(value)}


def _as_json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise DataError(f"{_FOREIGN} (it answered {answer.status_code})") from error


def assemble_rows(series: Mapping[str, Mapping[int, float]]) -> list[Row]:
    """Put series of one grid side by side; a moment without any value is no row.

    Examples
    --------
    >>> assemble_rows({"a": {1: 0.5}, "b": {1: 2.0, 2: 3.0}})[1]
    Row(time=2, values={'a': None, 'b': 3.0})
    """
    times = sorted(set().union(*series.values()))
    return [
        Row(time, {name: values.get(time) for name, values in series.items()}) for time in times
    ]
