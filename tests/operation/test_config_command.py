"""`hansa config`: the settings that a start would take, with their sources and without their secrets."""

import json
from pathlib import Path
from typing import Any

import pytest

from hansa.foundation.plumbing.settings import Settings, read_settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.embedded import running_dsn
from tests.governed_values import changed
from tests.operation.conftest import Launch
from tests.operation.registry_process import Ended, RegistryProcess, run
from tests.operation.test_bad_settings import REFUSED
from tests.properties.scale import by_tier

SECRETS = {
    "DATABASE_URL": "postgresql://hansa:Quiet-Harbour@db.example:5432/hansa?sslpassword=Quiet-Harbour",
    "SMTP_URL": "smtp://registry:Quiet-Harbour@mail.example:587",
    "INTERNAL_API_KEY": "Quiet-Harbour-41-Lantern-Quiet-Harbour-41-Lantern",
    "HANSA_KEY_SEALING_KEY": "Quiet-Harbour-41-Lantern",
}


def file_of(directory: Path, *lines: str, mode: int = 0o600, **values: str) -> Path:
    file = directory / "hansa.env"
    file.write_text("".join(f"{line}\n" for line in (*lines, *(f"{n}={v}" for n, v in values.items()))))
    file.chmod(mode)
    return file


async def config(data_dir: Path, *arguments: str, **environment: str) -> Ended:
    return await run("config", *arguments, data_dir=data_dir, **environment)


async def settings_shown(data_dir: Path, *arguments: str, **environment: str) -> dict[str, tuple[Any, str]]:
    ended = await config(data_dir, "--json", *arguments, **environment)
    assert ended.code == 0, ended
    return {one["name"]: (one["value"], one["source"]) for one in json.loads(ended.output)["settings"]}


async def test_each_setting_is_shown_with_its_value_and_its_source(tmp_path: Path):
    file = file_of(tmp_path, REGISTRY_NAME="example", PORT="8100", TRUSTED_PROXIES="127.0.0.1, ::1")
    shown = await settings_shown(tmp_path / "data", f"--config={file}", PORT="8200")
    names = {str(field.validation_alias or name).upper() for name, field in Settings.model_fields.items()}
    assert shown.keys() == names
    assert shown["PORT"] == (8200, "environment")
    assert shown["REGISTRY_NAME"] == ("example", "file")
    assert shown["TRUSTED_PROXIES"] == (["127.0.0.1", "::1"], "file")
    assert shown["DATABASE_URL"] == (None, "default")
    assert shown["HANSA_DATA_DIR"] == (str(tmp_path / "data"), "environment")
    given = await settings_shown(tmp_path / "data", f"--data-dir={tmp_path / 'other'}")
    assert given["HANSA_DATA_DIR"] == (str(tmp_path / "other"), "option")
    printed = (await config(tmp_path / "data", HANSA_CONFIG=str(file), PORT="8200")).output.splitlines()
    assert printed[0] == f"settings file: {file}"
    rows = {name: rest for name, *rest in map(str.split, printed[1:])}
    assert rows["PORT"] == ["environment", "8200"]
    assert rows["TRUSTED_PROXIES"] == ["file", "127.0.0.1,::1"]
    assert rows["DATABASE_URL"] == ["default", "none"]
    assert rows["REQUIRE_ADMIN_2FA"] == ["default", "false"]
    assert not (tmp_path / "data").exists()


async def test_no_secret_is_shown(tmp_path: Path):
    token = tmp_path / "metrics-token"
    token.write_text(SECRETS["INTERNAL_API_KEY"])
    for form in ([], ["--json"], ["--check"], ["--check", "--json"]):
        ended = await config(tmp_path / "data", *form, **SECRETS, METRICS_TOKEN_FILE=str(token))
        assert ended.code == 0, ended
        assert "Quiet" not in ended.output + ended.complaint
    shown = await settings_shown(tmp_path / "data", **SECRETS)
    hidden = "postgresql://hansa:[hidden]@db.example:5432/hansa?sslpassword=[hidden]"
    assert shown["DATABASE_URL"] == (hidden, "environment")
    assert shown["SMTP_URL"] == ("smtp://registry:[hidden]@mail.example:587", "environment")
    assert shown["INTERNAL_API_KEY"] == shown["HANSA_KEY_SEALING_KEY"] == ("[hidden]", "environment")


async def test_a_check_states_each_fault_in_one_sentence_and_needs_no_server(tmp_path: Path):
    lines = ("REGISTRY_NAME example", "PORT=http", "PORT=1", "DATABSE_URL=x", "LOG_LEVEL=loud")
    file = file_of(tmp_path, *lines)
    ended = await config(tmp_path / "data", "--check", f"--config={file}", TRUST_DOMIAN="registry.example")
    assert (ended.code, ended.output) == (1, "")
    faults = [
        f"{file}, line 1: expected NAME=value or a comment that begins with #",
        f"{file}, line 3: PORT is set twice; state it once",
        f"{file}: DATABSE_URL is no setting; is DATABASE_URL meant?",
        "PORT='http' is refused; allowed is a whole number",
        "LOG_LEVEL='loud' is refused; allowed is 'debug', 'info', 'warning' or 'error'",
        "TRUST_DOMIAN is not a setting; rename it to TRUST_DOMAIN, or unset it",
    ]
    assert ended.complaints == [f"hansa: {fault}" for fault in faults]
    as_json = await config(
        tmp_path / "data", "--check", "--json", f"--config={file}", TRUST_DOMIAN="registry.example"
    )
    assert as_json.code == 1
    assert json.loads(as_json.output) == {
        "sound": False,
        "settings_file": str(file),
        "faults": faults,
        "warnings": [],
    }
    sound = await config(tmp_path / "data", "--check", LOG_LEVL="info")
    assert (sound.code, sound.output) == (0, "the settings have allowed values\n")
    [warned] = sound.complaints
    assert warned == "hansa: warning: LOG_LEVL is not a setting; rename it to LOG_LEVEL, or unset it"


async def test_a_check_refuses_the_values_that_a_start_refuses(tmp_path: Path):
    # A start refuses each of them in the tests of bad settings; both read the same settings.
    for variable, value, allowed in REFUSED[:: by_tier(8, 2, 1)]:
        ended = await config(tmp_path / "data", "--check", **{variable: value})
        assert ended.code == 1, variable
        assert any(f"{variable}=" in line and allowed in line for line in ended.complaints), ended


async def test_the_settings_of_a_registry_are_those_of_its_recorded_file_and_its_database(
    operated: Launch, tmp_path: Path
):
    file = file_of(tmp_path, FEDERATION_SYNC_INTERVAL_SECONDS="120")
    registry = operated("bound", HANSA_CONFIG=str(file))
    await registry.start()
    shown = await settings_shown(registry.data_dir)
    assert shown["FEDERATION_SYNC_INTERVAL_SECONDS"] == (120, "file")
    assert (await registry.stop()).code == 0
    checked = await config(registry.data_dir, "--check", DATABASE_URL="postgresql://db.example/hansa")
    assert checked.code == 1
    [line] = checked.complaints
    assert "in its own embedded PostgreSQL, and DATABASE_URL names another database" in line


@pytest.fixture
async def exposed(operated: Launch, tmp_path: Path) -> RegistryProcess:
    """A registry whose settings file every account can read, stopped after its start."""
    file = file_of(tmp_path, mode=0o644, INTERNAL_API_KEY=SECRETS["INTERNAL_API_KEY"])
    registry = operated("exposed", HANSA_CONFIG=str(file))
    await registry.start()
    return registry


async def test_a_settings_file_with_secrets_that_every_account_can_read_is_a_warning(
    exposed: RegistryProcess, tmp_path: Path
):
    file = tmp_path / "hansa.env"
    sentence = f"every account can read {file}, which holds INTERNAL_API_KEY"

    async def warnings() -> list[bool]:
        shown = await config(exposed.data_dir, "--check")
        doctor = json.loads((await run("doctor", "--json", data_dir=exposed.data_dir)).output)
        found = [one["severity"] for one in doctor["findings"] if one["message"] == sentence]
        assert shown.code == 0, shown
        return [sentence in shown.complaint, found == ["warning"]]

    assert sentence in exposed.log.read_text()
    assert "Quiet" not in exposed.log.read_text()
    assert await warnings() == [True, True]
    file.chmod(0o640)
    assert await warnings() == [False, False]
    file.chmod(0o644)
    file.write_text("DATABASE_POOL_SIZE=8\nSMTP_URL=smtp://mail.example\n")
    assert await warnings() == [False, False]
    assert (await exposed.stop()).code == 0


async def test_a_value_of_governance_is_shown_where_the_database_is_reached(operated: Launch):
    registry = operated(workers=1, FEE_BASE_RATE_PERCENT="0.75")
    await registry.start()
    dsn = running_dsn(registry.data_dir)
    database = Database(dsn, pool_size=1)
    await database.open()
    settings = read_settings(data_dir=registry.data_dir)
    await changed(
        database, settings, {"fee_base_rate_percent": ("0.5", "1.5"), "bond_minimum": ("100", "40")}
    )
    await database.close()
    shown = await settings_shown(registry.data_dir, FEE_BASE_RATE_PERCENT="0.75")
    assert shown["FEE_BASE_RATE_PERCENT"] == ("1.5", "governance")
    assert shown["BOND_MINIMUM"] == ("40", "governance")
    assert shown["BOND_MATURITY_DAYS"] == (14, "default")
    assert (await registry.stop()).code == 0
    printed = (await config(registry.data_dir)).output.splitlines()
    assert printed[-1] == "The database was not reached: values of governance are not shown."
