"""Line protocol as Telegraf and InfluxDB's documentation write it, over HTTP as its clients do."""

from __future__ import annotations

import base64
import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alora_ts.serve.connect.line_protocol import LineError, read_lines
from alora_ts.serve.connect.receiver import Point
from alora_ts.serve.times import now_micros
from tests.serve.connect.serving import Served, served, small_model, wait_until

SECOND = 1_000_000
Send = Callable[..., httpx.Response]


def numbers(line: str, precision: str = "ns") -> tuple[dict[str, str], dict[str, Any], int]:
    """The tags (with the measurement), the numbers and the time of one line."""
    [points] = read_lines(line, precision=precision, now=7)
    assert not isinstance(points, LineError), points
    labels = [{k: v for k, v in point.labels.items() if k != "_field"} for point in points]
    fields = {point.labels["_field"]: point.value for point in points}
    return (labels[0] if labels else {}), fields, (points[0].time if points else -1)


# Examples of the documentation of Telegraf's plugins and of the line protocol itself, each with
# the numbers that it holds.
PUBLISHED: list[tuple[str, dict[str, str], dict[str, float]]] = [
    (
        "cpu,cpu=cpu0,host=loaner time_active=202224.15999999992,time_guest=30250.35,"
        "time_idle=1527035.04,time_nice=1352,usage_active=5.2,usage_idle=94.8 1568760922000000000",
        {"_measurement": "cpu", "cpu": "cpu0", "host": "loaner"},
        {
            "time_active": 202224.15999999992,
            "time_guest": 30250.35,
            "time_idle": 1527035.04,
            "time_nice": 1352.0,
            "usage_active": 5.2,
            "usage_idle": 94.8,
        },
    ),
    (
        "mem active=9299595264i,available=16818249728i,available_percent=80.41654254645131,"
        "used_percent=13.54 1522370305000000000",
        {"_measurement": "mem"},
        {
            "active": 9299595264.0,
            "available": 16818249728.0,
            "available_percent": 80.41654254645131,
            "used_percent": 13.54,
        },
    ),
    (
        "disk,fstype=autofs,mode=rw,path=/sys/fs free=0i,inodes_total=0i,used_percent=0 "
        "1453832006274071563",
        {"_measurement": "disk", "fstype": "autofs", "mode": "rw", "path": "/sys/fs"},
        {"free": 0.0, "inodes_total": 0.0, "used_percent": 0.0},
    ),
    (
        'system,host=tyrion load1=3.72,n_users=3i,uptime=1249632i,uptime_format="14 days, 11:07" '
        "1483964144000000000",
        {"_measurement": "system", "host": "tyrion"},
        {"load1": 3.72, "n_users": 3.0, "uptime": 1249632.0},
    ),
    (
        'myMeasurement,tag1=value1,tag2=value2 fieldKey="fieldValue" 1556813561098000000',
        {},
        {},
    ),
    (
        "myMeasurement fieldKey=-1.234456e+78",
        {"_measurement": "myMeasurement"},
        {"fieldKey": -1.234456e78},
    ),
    (
        "myMeasurement fieldKey=12485903u,on=true,off=F",
        {"_measurement": "myMeasurement"},
        {"fieldKey": 12485903.0},
    ),
    (
        r"my\ Measurement,tag\ Key1=tag\ Value1,a\=b=c\,d field\ Key=100i 1",
        {"_measurement": "my Measurement", "tag Key1": "tag Value1", "a=b": "c,d"},
        {"field Key": 100.0},
    ),
    (
        r'"my\ measurement",tag=C:\temp say="a \"quoted\", text = here \\",n=1',
        {"_measurement": '"my measurement"', "tag": r"C:\temp"},
        {"n": 1.0},
    ),
    ("wetter,stadt=köln temp=21.5", {"_measurement": "wetter", "stadt": "köln"}, {"temp": 21.5}),
]


@pytest.mark.parametrize(("line", "tags", "fields"), PUBLISHED)
def test_published_examples(line: str, tags: dict[str, str], fields: dict[str, float]) -> None:
    found, values, _ = numbers(line)
    assert (found, values) == (tags, fields)


@pytest.mark.parametrize(
    ("precision", "text", "time"),
    [
        ("ns", "1556813561098000999", 1556813561098000),
        ("n", "1999", 1),
        ("us", "1556813561098001", 1556813561098001),
        ("ms", "1556813561098", 1556813561098000),
        ("s", "1556813561", 1556813561 * SECOND),
        ("m", "10", 600 * SECOND),
        ("h", "2", 7200 * SECOND),
    ],
)
def test_times_have_a_precision(precision: str, text: str, time: int) -> None:
    assert numbers(f"a b=1 {text}", precision)[2] == time
    assert numbers("a b=1", precision)[2] == 7, "a line without a time has that of its arrival"


@pytest.mark.parametrize(
    "line",
    [
        "cpu",
        ",host=a b=1",
        "cpu,host b=1",
        "cpu,host= b=1",
        "cpu value",
        "cpu value=",
        'cpu value="open',
        "cpu value=abc",
        "cpu value=NaN",
        "cpu value=1.5i",
        "cpu value=1e999",
        "cpu value=1 yesterday",
        "cpu value=1 -5",
        "cpu value=1 9223372036854775807000",
        "cpu value=1" + "0" * 5000 + "i",
    ],
)
def test_lines_that_are_none_are_named(line: str) -> None:
    [error] = read_lines(line, precision="s", now=0)
    assert isinstance(error, LineError)
    assert str(error).startswith(f"unable to parse '{line[:200]}': ")


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for found in read_lines(text, precision="ns", now=0):
        assert isinstance(found, LineError) or all(isinstance(one, Point) for one in found)


names = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=8
).filter(lambda text: not text.endswith("\\") and text[0] != "#")


def escaped(text: str, which: str) -> str:
    return "".join(f"\\{one}" if one in which else one for one in text)


@given(
    names,
    st.dictionaries(names, names, max_size=3),
    names,
    # The parser refuses numbers too small to have all their digits.
    st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False),
    st.integers(0, 2**62),
)
def test_what_is_written_is_read_again(
    measurement: str, tags: dict[str, str], field: str, value: float, time: int
) -> None:
    # A backslash before what is escaped cannot be written.
    if any("\\" in text for text in (measurement, field, *tags, *tags.values())):
        return
    line = escaped(measurement, ", ")
    line += "".join(f",{escaped(k, ',= ')}={escaped(v, ',= ')}" for k, v in tags.items())
    line += f" {escaped(field, ',= ')}={value!r} {time}"
    [found] = read_lines(line, precision="ns", now=0)
    labels = {"_measurement": measurement, **tags, "_field": field}
    assert found == [Point(labels, time // 1000, value)]


def test_long_nonsense_is_refused_quickly() -> None:
    for text in ("\\" * 200_000, "a," * 100_000, 'a b="' + '\\"' * 100_000, "a b=" + ",=" * 99_999):
        assert all(isinstance(found, LineError) for found in read_lines(text, precision="s", now=0))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("influx")
    section = {
        "name": "telegraf",
        "source": "{host}",
        "series": [
            {
                "match": {"_measurement": "cpu", "cpu": "cpu-total", "_field": "usage"},
                "variable": "x0",
            },
            {"match": {"_measurement": "mem"}, "variable": "{_field}"},
        ],
        "assemble": {"step": 1, "wait": 1},
        "silent_after": 0,
    }
    model = small_model(folder / "plant.alora")
    given = {
        "folder": folder / "data",
        "models": {"plant": model, "other": model},
        "connect": {"influx": [section]},
    }
    with served(given) as running:
        yield running


@pytest.fixture(scope="module")
def token(here: Served) -> str:
    return here.token()


@pytest.fixture
def send(here: Served, token: str) -> Send:
    def post(path: str, body: str | bytes, **headers: str) -> httpx.Response:
        login = {"authorization": f"Token {token}"} | headers
        return httpx.post(f"{here.url}{path}", content=body, headers=login, timeout=60)

    return post


@pytest.mark.slow
def test_both_ways_of_telegraf(here: Served, send: Send, token: str) -> None:
    now = now_micros() // SECOND
    lines = (
        f"cpu,cpu=cpu-total,host=plant usage=1.5,idle=98.5 {now}\n"
        f"cpu,cpu=cpu0,host=plant usage=9 {now}\n"
        f"mem,host=plant x1=2i,used=3i {now}\n"
        f'system,host=plant uptime_format="1 day" {now}\n'
    )
    # outputs.influxdb_v2: gzip, `Authorization: Token`, precision in the query.
    answer = send(
        "/api/v2/write?bucket=b&org=o&precision=s",
        gzip.compress(lines.encode()),
        **{"content-encoding": "gzip"},
    )
    assert (answer.status_code, answer.content) == (204, b"")
    wait_until(lambda: here.rows("plant"))
    assert here.rows("plant") == {now * SECOND: {"x0": 1.5, "x1": 2.0}}
    # outputs.influxdb: makes its database first, logs in by name and password.
    login = base64.b64encode(f"telegraf:{token}".encode()).decode()
    basic = {"authorization": f"Basic {login}"}
    made = send("/query", "q=CREATE+DATABASE+%22telegraf%22", **basic)
    assert (made.status_code, made.json()) == (200, {"results": [{"statement_id": 0}]})
    assert send("/query", "q=SHOW+DATABASES", **basic).status_code == 400
    later = lines.replace("plant", "other")
    assert send("/write?db=telegraf&precision=s", later, **basic).status_code == 204
    wait_until(lambda: here.rows("other"))
    assert here.rows("other") == {now * SECOND: {"x0": 1.5, "x1": 2.0}}


@pytest.mark.slow
def test_partial_errors_are_told_as_influxdb_tells_them(here: Served, send: Send) -> None:
    now = now_micros() // SECOND + 1
    lines = f"mem,host=plant x1=2 {now}\nmem,host=plant x1=\nmem,host=plant x1=3 {now + 10**6}"
    answer = send("/write?precision=s", lines)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error.startswith("partial write: unable to parse 'mem,host=plant x1=': ")
    assert error.endswith(" (and 1 more) dropped=2")
    wait_until(lambda: now * SECOND in here.rows("plant"))
    answer = send("/api/v2/write?precision=s", "cpu")
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid"
    assert answer.json()["message"].startswith("unable to parse 'cpu': ")
    assert here.connector()["rejected"]["from the future"] == 1


@pytest.mark.slow
def test_bodies_are_bounded(send: Send) -> None:
    packed = {"content-encoding": "gzip"}
    bomb = gzip.compress(b"#" * 100 * 2**20)
    assert send("/api/v2/write", bomb, **packed).status_code == 413
    assert send("/write", "a b=1\n" * 100_001).status_code == 413
    assert send("/write", gzip.compress(b"a b=1")[:-4], **packed).status_code == 400
    assert send("/write", b"no gzip", **packed).status_code == 400
    assert send("/write", b"\xff").status_code == 400
    assert send("/write", b"a b=1", **{"content-encoding": "br"}).status_code == 400
    assert send("/write?precision=year", b"a b=1").status_code == 400
    assert send("/write", b"").status_code == 204


@pytest.mark.slow
def test_who_may_write(here: Served, token: str) -> None:
    def status(path: str, **headers: str) -> int:
        while True:
            answer = httpx.post(f"{here.url}{path}", headers=headers, timeout=60)
            # Who fails often is slowed down.
            if answer.status_code != 429:
                return answer.status_code
            time.sleep(0.2)

    for path in ("/write", "/api/v2/write", "/query"):
        assert status(path) == 401
        assert status(path, authorization="Basic !!") == 401
    # Only where InfluxDB's clients need it.
    login = f"Token {token}"
    assert status("/api/v1/write", authorization=login) == 401
    assert status("/api/v1/sources/plant/rows", authorization=login) == 401
