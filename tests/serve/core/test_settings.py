"""Settings: read from three places, refused with their place, changed while it runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from alora_ts.serve.service import Service
from alora_ts.serve.settings import Settings
from alora_ts.serve.settings_file import PREFIX, SettingsError, read_settings
from tests.conftest import REPOSITORY

FILE = """\
# A comment
port = 9000
late_limit = 10

[models]
plant = "plant.alora"

[[notify.webhook]]
name = "pager"
url = "http://127.0.0.1:9/"

[[notify.webhook]]
name = "second"
url = "http://127.0.0.1:9/"
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "serve.toml"
    file.write_text(text)
    return file


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = write(tmp_path, FILE)
    environment = {PREFIX + "PORT": "9001", PREFIX + "LATE_LIMIT": "20", "HOME": "/x"}
    found = read_settings(
        file, flags={"port": 9002, "models": {"b": "b.alora"}}, environment=environment
    )
    assert (found.port, found.late_limit) == (9002, 20)
    # A path in the file is relative to the file's folder, one in a flag to the working directory.
    assert found.models == {"plant": tmp_path / "plant.alora", "b": Path("b.alora")}
    assert [section.name for section in found.notify.webhook] == ["pager", "second"]


PATHS = """\
folder = "data"
store = "kept/plant.db"

[models]
plant = "models/plant.alora"
other = "/srv/other.alora"

[[connect.directory]]
name = "in"
source = "plant"
path = "inbox"

[[connect.mqtt]]
name = "line"
source = "plant"
host = "broker"
ca_file = "ca.pem"
username = "me"
password_file = "~/broker.key"
topics = [{ topic = "rows", payload = "row" }]

[[notify.webhook]]
name = "pager"
url = "http://127.0.0.1:9/"
secret_file = "/etc/pager.key"
"""


def test_paths_are_meant_from_where_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(tmp_path, PATHS)
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("HOME", "/home/me")
    found = read_settings(Path("../serve.toml"), environment={})
    assert (found.folder, found.store) == (tmp_path / "data", str(tmp_path / "kept/plant.db"))
    assert found.models == {
        "plant": tmp_path / "models/plant.alora",
        "other": Path("/srv/other.alora"),
    }
    assert found.connect.directory[0].path == tmp_path / "inbox"
    broker = found.connect.mqtt[0]
    assert (broker.ca_file, broker.password_file) == (
        tmp_path / "ca.pem",
        Path("/home/me/broker.key"),
    )
    assert broker.topics[0].topic == "rows"
    assert found.notify.webhook[0].secret_file == Path("/etc/pager.key")
    # What is typed is relative to the working directory, and an address is not a path.
    typed = {"models": {"plant": Path("b.alora")}, "folder": Path("d"), "store": "s.db"}
    found = read_settings(Path("../serve.toml"), flags=typed, environment={})
    assert (found.folder, found.store) == (Path("d"), "s.db")
    assert found.models["plant"] == Path("b.alora")
    write(tmp_path, 'store = "postgresql://db/alora"')
    assert read_settings(Path("../serve.toml"), environment={}).store == "postgresql://db/alora"


@pytest.mark.parametrize(
    ("change", "line", "what"),
    [
        (("port = 9000", "port = 70000"), 2, "less than or equal"),
        (("port = 9000", "prot = 9000"), 2, "did you mean 'port'"),
        (("late_limit = 10", 'late_limit = "soon"'), 3, "valid number"),
        (('plant = "', '"../x" = "'), 5, "cannot name a source"),
        (('name = "second"', 'nmae = "second"'), 13, "no such setting"),
        (('url = "http://127.0.0.1:9/"\n\n', "\n"), 8, "required"),
        (("port = 9000", "port = = 9000"), 2, "not TOML"),
    ],
)
def test_errors_name_the_line(
    tmp_path: Path, change: tuple[str, str], line: int, what: str
) -> None:
    text = FILE.replace(*change, 1)
    assert text != FILE
    with pytest.raises(SettingsError) as caught:
        read_settings(write(tmp_path, text), environment={})
    assert f"line {line}" in str(caught.value)
    assert what in str(caught.value)


def test_errors_name_variable_and_flag() -> None:
    with pytest.raises(SettingsError, match="ALORA_TS_SERVE_PORT"):
        read_settings(None, environment={PREFIX + "PORT": "x"})
    with pytest.raises(SettingsError, match="--port"):
        read_settings(None, flags={"port": -1}, environment={})
    with pytest.raises(SettingsError, match="did you mean 'store'"):
        read_settings(None, environment={PREFIX + "STOER": "x"})
    with pytest.raises(SettingsError, match="No such file"):
        read_settings(Path("absent.toml"), environment={})


def test_no_value_is_repeated(tmp_path: Path) -> None:
    text = '[[connect.mqtt]]\nname = "a"\nsource = "b"\nhost = "h"\npassword = ["s3cret"]\n'
    with pytest.raises(SettingsError) as caught:
        read_settings(write(tmp_path, text), environment={})
    assert "s3cret" not in str(caught.value)


def test_a_reload_takes_all_or_nothing(settings: Settings) -> None:
    async def run() -> None:
        service = Service(settings)
        async with service.running():
            await service.reload(settings.model_copy(update={"late_limit": 5.0}))
            assert service.settings.late_limit == 5.0
            for change in ({"port": 1}, {"models": {"other": Path("absent.alora")}}):
                kept = service.settings
                with pytest.raises(Exception, match=r"restart|absent"):
                    await service.reload(kept.model_copy(update={**change, "late_limit": 6.0}))
                assert service.settings is kept
            found = Settings.model_validate(
                {"notify": {"webhook": [{"name": "p", "url": "http://127.0.0.1:9/"}]}}
            )
            await service.reload(service.settings.model_copy(update={"notify": found.notify}))
            assert service.channels() == ["p"]

    asyncio.run(run())


def test_the_documented_settings_are_the_defaults(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/how-to/operate-the-service.md").read_text(encoding="utf-8")
    text = page.split("```toml\n")[1].split("```")[0]
    found = read_settings(write(tmp_path, text), environment={})
    plain = Settings(folder=tmp_path / "data", models={"plant": tmp_path / "plant.alora"})
    assert found == plain
