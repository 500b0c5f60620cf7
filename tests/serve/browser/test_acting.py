"""What people do on the pages: move through time, judge, watch rows come, lose the service."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.serve.browser.plant import SIGNALS, STEP, make_token, measure, now, rows_until, serving
from tests.serve.browser.watching import Watched, drawn, open_page, told

pytestmark = pytest.mark.slow


@pytest.fixture
def watched(chromium) -> Iterator[Watched]:
    made = open_page(chromium)
    yield made
    made.page.context.close()


def visible(page: Any) -> tuple[float, float]:
    """The stretch of time in the address, in seconds.

    The page writes it 0.4 s after the frame of the last move. Its timers run in the order in which
    they are due, so one that is set later and longer comes after that, however slow the page is.
    """
    address = page.evaluate(
        """async () => {
          for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
          await new Promise((done) => setTimeout(done, 450));
          return location.hash;
        }"""
    )
    asked = parse_qs(address.partition("?")[2])
    ends = [dt.datetime.fromisoformat(asked[name][0]).timestamp() for name in ("from", "to")]
    return ends[0], ends[1]


def test_zoom_and_pan_by_mouse_wheel_and_keys(watched, plant_service):
    page = watched.page
    page.goto(f"{plant_service.url}/#/sources/plant")
    chart = page.locator("[aria-label^='Score of plant']")
    drawn(page, "[aria-label^='Score of plant'] canvas")
    page.wait_for_selector(".flag")
    page.click("text=All")
    low, high = visible(page)
    box = chart.locator(".u-over").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    wheel = visible(page)
    assert low < wheel[0] < wheel[1] < high
    # The moment under the pointer stays under it.
    assert sum(wheel) / 2 == pytest.approx((low + high) / 2, abs=0.02 * (high - low))
    page.mouse.wheel(200, 0)
    side = visible(page)
    assert side[0] > wheel[0]
    assert side[1] - side[0] == pytest.approx(wheel[1] - wheel[0], rel=0.01)

    page.mouse.move(x - 100, y)
    page.mouse.down()
    page.mouse.move(x + 100, y, steps=4)
    page.mouse.up()
    dragged = visible(page)
    share = 200 / box["width"]
    assert dragged[1] - dragged[0] == pytest.approx(share * (side[1] - side[0]), rel=0.1)

    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(x, y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    pulled = visible(page)
    assert pulled[0] > dragged[0]

    chart.focus()
    for key, later in (("ArrowRight", True), ("ArrowLeft", False)):
        before = visible(page)
        page.keyboard.press(key)
        assert (visible(page)[0] > before[0]) == later
    before = visible(page)
    page.keyboard.press("-")
    assert visible(page)[1] - visible(page)[0] > before[1] - before[0]
    page.keyboard.press("Home")
    assert visible(page) == pytest.approx((low, high), abs=5)
    page.mouse.move(x, y)
    page.mouse.move(x + 3, y)
    page.wait_for_selector(".tip:has-text('score:'):has-text('UTC')")
    # A link to a stretch of time opens at that stretch.
    page.reload()
    drawn(page, "[aria-label^='Score of plant'] canvas")
    assert visible(page) == pytest.approx((low, high), abs=5)
    assert watched.complaints == []


def test_fingers_pull_and_stretch(chromium, plant_service):
    watched = open_page(chromium, width=390, has_touch=True, is_mobile=True)
    page = watched.page
    page.goto(f"{plant_service.url}/#/sources/plant")
    drawn(page, "[aria-label^='Score of plant'] canvas")
    page.click("text=1 h")
    page.click("button:has-text('+')")
    before = visible(page)
    box = page.locator("[aria-label^='Score of plant'] .u-over").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *places: float) -> None:
        points = [{"x": place, "y": y, "id": at} for at, place in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", x)
    for step in range(1, 6):
        send("touchMove", x + 10 * step)
    send("touchEnd")
    pulled = visible(page)
    assert pulled[0] < before[0]
    assert pulled[1] - pulled[0] == pytest.approx(before[1] - before[0], rel=0.01)
    send("touchStart", x - 30, x + 30)
    for step in range(1, 6):
        send("touchMove", x - 30 - 10 * step, x + 30 + 10 * step)
    send("touchEnd")
    stretched = visible(page)
    assert stretched[1] - stretched[0] < 0.6 * (pulled[1] - pulled[0])
    assert watched.complaints == []
    page.context.close()


def test_keyboard_reaches_everything(watched, plant_service):
    page = watched.page
    page.goto(plant_service.url)
    page.wait_for_selector(".source .spark")
    page.keyboard.press("Tab")
    page.wait_for_selector(".skip:focus")
    page.keyboard.press("Enter")
    page.wait_for_selector("#content:focus")
    page.keyboard.press("Tab")
    page.wait_for_selector("[data-source=plant]:focus")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('plant')")
    assert watched.complaints == []


def test_a_verdict_and_its_undoing(watched, plant_service):
    page = watched.page
    page.goto(f"{plant_service.url}/#/incidents")
    page.click(".incident-list a:has(.grade.high)")
    # What it would do is shown before it is done; nothing happens until it is confirmed.
    page.click("button:has-text('Normal operation')")
    page.wait_for_selector(".ahead:has-text('would not have alarmed')")
    page.select_option("#days", "7")
    page.click("text=Cancel")
    page.click("text=A real problem")
    page.click("text=Protect this pattern")
    page.wait_for_selector("text=You said: this was a real problem.")
    key = page.evaluate("location.hash.split('/')[2]")
    with plant_service.client() as client:
        assert client.get(f"/incidents/{key}").json()["verdict"] == "real"
        page.reload()
        page.click("text=Undo")
        page.wait_for_selector("text=What was it?")
        assert client.get(f"/incidents/{key}").json()["verdict"] is None
        page.click("button:has-text('Normal operation')")
        page.click("text=Silence this pattern")
        page.wait_for_selector("text=are silenced until")
        assert client.get(f"/incidents/{key}").json()["standing"]["silenced_until"]
        page.click("nav >> text=Incidents")
        page.click("[aria-label='Patterns that people judged'] button")
        page.wait_for_selector("[aria-label^=Patterns]", state="detached")
        assert client.get("/patterns").json() == []
    assert watched.complaints == []


def test_rows_appear_as_they_come(watched, plant_service):
    page = watched.page
    page.goto(f"{plant_service.url}/#/sources/plant")
    drawn(page, "[aria-label^='Score of plant'] canvas")
    values = measure(15, seed=5, fault=slice(3, 15))
    begin = now() - 15 * STEP
    page.wait_for_selector("#link-state[data-state=live]")
    for at in range(15):
        cells = dict(zip(SIGNALS, values[at].tolist(), strict=True))
        plant_service.post([{"time": (begin + at * STEP).isoformat(), "values": cells}])
    page.wait_for_selector(".badge[data-state=alarm]")
    told(page, "New incident in plant")
    page.wait_for_selector("#news:has-text('New incident in plant')", state="attached")
    page.wait_for_selector("#open-count >> text=1")
    # The alarm comes with one of the first rows of the fault; the tiles follow to the last.
    last = (begin + 14 * STEP).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    page.wait_for_selector(f".tiles time[datetime='{last}']")
    assert watched.complaints == []


def test_the_service_goes_and_comes_back(watched, plant_model, tmp_path):
    page, folder = watched.page, tmp_path / "data"
    with serving(folder, plant_model) as running:
        running.post(rows_until(now() - 100 * STEP, rows=60))
        page.goto(running.url)
        page.wait_for_selector(".source .spark")
        port = int(running.url.rsplit(":", 1)[1])
        running.process.kill()
        running.process.wait()
        page.wait_for_selector("#link-state:has-text('again in')")
        # What was last heard stays.
        assert page.locator(".source").count() == 1
        page.click("nav >> text=Health")
        page.wait_for_selector("text=The service does not answer.")
    with serving(folder, plant_model, port=port):
        page.wait_for_selector("#link-state[data-state=live]")
        page.wait_for_selector("text=No connector is configured.")
    watched.forgive("ERR_")
    assert watched.complaints == []


def test_training_comparison_and_activation(watched, plant_model, tmp_path):
    page = watched.page
    with serving(tmp_path / "data", plant_model) as running:
        running.post(rows_until(now() - 100 * STEP))
        page.goto(f"{running.url}/#/models")
        page.fill("#fit-name", "retrained")
        page.click("text=Start training")
        page.wait_for_selector(".fits li[data-state=done]", timeout=400_000)
        page.wait_for_selector(".fits >> text=They agree on")
        page.click(".fits button:has-text('Activate')")
        told(page, "The new model is active.")
        page.click(".incident-list a:has-text('retrained')")
        page.wait_for_selector("h1:has-text('retrained')")
        page.click("button:has-text('Roll back')")
        told(page, "plant is back at its model before.")
        page.wait_for_selector("button:has-text('Activate')")
        # Before the service ends, which the browser complains about.
        assert watched.complaints == []


def test_a_training_shows_how_far_it_is(watched, plant_service):
    page = watched.page
    run = {
        "id": "f_1", "source": "plant", "name": "slow", "settings": {}, "state": "running",
        "created": "2026-01-01T00:00:00Z", "start": "2026-01-01T00:00:00Z",
        "end": "2026-01-02T00:00:00Z", "progress": 0.4, "message": "fitting", "model_id": None,
        "comparison": None,
    }  # fmt: skip
    # A real one may be over before the page looks.
    page.route("**/api/v1/fits", lambda route: route.fulfill(json=[run]))
    page.goto(f"{plant_service.url}/#/models")
    page.wait_for_selector(".fits progress[value='0.4']")
    page.wait_for_selector(".fits >> text=40% fitting")
    page.wait_for_selector(".fits button:has-text('Cancel')")
    assert watched.complaints == []


def test_a_token_is_asked_for_and_kept_in_the_tab(watched, plant_model, tmp_path):
    page, folder = watched.page, tmp_path / "data"
    token = make_token(folder, "write")
    with serving(folder, plant_model, token=token) as running:
        running.post(rows_until(now() - 100 * STEP, rows=60))
        page.goto(running.url)
        page.wait_for_selector("dialog")
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=The service refused that token.")
        page.fill("#token", token)
        page.keyboard.press("Enter")
        page.wait_for_selector(".source .spark")
        page.wait_for_selector("#link-state[data-state=live]")
        page.wait_for_selector("dialog", state="detached")
        page.reload()
        page.wait_for_selector(".source .spark")
        # What needs a higher role is refused with a word, not with a new question.
        page.click(".source")
        page.click("text=Recalibrate the alarm level")
        told(page, "needs the role admin")
        page.click("nav >> text=Health")
        page.click("text=Forget the access token")
        told(page, "The token is forgotten in this tab.")
        page.reload()
        page.wait_for_selector("dialog")
        assert page.evaluate("document.cookie + JSON.stringify(localStorage)") == "{}"
    for expected in ("401", "403", "429", "ERR_"):
        watched.forgive(expected)
    assert watched.complaints == []
