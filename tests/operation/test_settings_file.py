"""One settings file, which the server and every command read; the environment wins."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hansa.foundation.plumbing.settings import BadSetting, load_settings_file, read_settings_file
from tests.operation.own_database import own_database
from tests.operation.registry_process import Ended, RegistryProcess, environment, free_port, run

SECRET = "Quiet-Harbour-41-Lantern"


class ConfiguredProcess(RegistryProcess):
    """A registry whose settings stand in a file alone."""

    def __init__(self, data_dir: Path, file: Path, *, port: int) -> None:
        super().__init__(data_dir, port=port, HANSA_CONFIG=str(file))
        self.file = file


@pytest.fixture(scope="module")
async def configured(
    postgres: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ConfiguredProcess]:
    directory = tmp_path_factory.mktemp("configured")
    async with own_database(postgres) as dsn:
        file = directory / "hansa.env"
        file.write_text(
            f"# The registry of a test.\nDATABASE_URL='{dsn}'\nREGISTRY_NAME=\"example\"\n"
            f"TRUST_DOMAIN=registry.example.org\nFEDERATION_PORT={free_port()}\nPUBLIC_BASE_URL=https://registry.example.org\n"
        )
        registry = ConfiguredProcess(directory / "data", file, port=free_port())
        await registry.start()
        yield registry
        await registry.stop()


async def fresh_shell(registry: RegistryProcess, *command: str, **settings: str) -> Ended:
    """A command in a shell that has none of the settings."""
    return await run(*command, data_dir=registry.data_dir, **settings)


@pytest.mark.parametrize(
    "command",
    [
        "status",
        "doctor",
        "db url",
        "db migrate",
        "jobs list",
        "mint --amount=1 --ref=first",
        "peer list",
        "peer invite",
        "bundle",
        "service list",
    ],
)
async def test_a_command_works_in_a_fresh_shell_beside_the_service(
    configured: ConfiguredProcess, command: str
):
    ended = await fresh_shell(configured, *command.split())
    assert ended.code == 0, ended


async def test_an_administrator_is_made_and_a_backup_taken_and_restored_in_a_fresh_shell(
    configured: ConfiguredProcess, tmp_path: Path
):
    made = await fresh_shell(
        configured,
        *["admin", "create", "--name", "Ada", "--email", "ada@example.org"],
        HANSA_ADMIN_PASSWORD=SECRET,
    )
    assert made.code == 0, made
    file = tmp_path / "registry.hansa"
    saved = await fresh_shell(configured, "db", "backup", str(file), HANSA_KEYS_PASSPHRASE=SECRET)
    assert saved.code == 0, saved
    more = {"HANSA_CONFIG": str(configured.file), "HANSA_KEYS_PASSPHRASE": SECRET}
    restored = await run("db", "restore", str(file), "--embedded", data_dir=tmp_path / "copy", **more)
    assert restored.code == 0, restored
    assert json.loads((tmp_path / "copy" / "registry.json").read_text())["database"] == "embedded"


async def test_the_doctor_judges_the_settings_of_the_running_process(configured: ConfiguredProcess):
    ended = await fresh_shell(configured, "doctor", "--json")
    findings = {one["subject"]: one["message"] for one in json.loads(ended.output)["findings"]}
    assert findings["settings"].startswith(
        f"the settings of process {configured.pid} (settings file {configured.file})"
    )
    assert "the federation listener answers" in findings["federation"]


async def test_the_doctor_says_what_it_does_not_know(configured: ConfiguredProcess):
    ended = await fresh_shell(configured, "doctor", "--json", HANSA_CONFIG="")
    assert ended.code == 0, ended
    [database] = [one for one in json.loads(ended.output)["findings"] if one["subject"] == "database"]
    assert database["severity"] == "note"
    assert "DATABASE_URL is not known" in database["message"]


async def test_the_record_of_the_process_has_no_secret(configured: ConfiguredProcess):
    [record] = (configured.data_dir / "serving").glob("*.json")
    recorded = record.read_text()
    assert "registry.example.org" in recorded
    assert "Plain-Harbour-17" not in recorded
    assert "Plain-Harbour-17" not in (configured.data_dir / "registry.json").read_text()


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_the_option_may_stand_anywhere_and_the_environment_wins(
    configured: ConfiguredProcess, tmp_path: Path, place: int
):
    for option in (["--config", str(configured.file)], [f"--config={configured.file}"]):
        arguments = ["db", "url"]
        arguments[place:place] = option
        ended = await run(*arguments, data_dir=tmp_path / "elsewhere")
        assert ended.code == 0, ended
        assert "Plain-Harbour-17" in ended.output
    own = await run(
        "db",
        "url",
        f"--config={configured.file}",
        data_dir=tmp_path / "elsewhere",
        DATABASE_URL="postgresql://h/own",
    )
    assert own.output.strip() == "postgresql://h/own"


async def test_the_file_may_name_the_data_directory(configured: ConfiguredProcess, tmp_path: Path):
    file = tmp_path / "hansa.env"
    file.write_text(configured.file.read_text() + f"HANSA_DATA_DIR={configured.data_dir}\n")
    variables = environment(tmp_path / "unused")
    del variables["HANSA_DATA_DIR"]
    ended = await run("status", "--config", str(file), "--json", data_dir=configured.data_dir)
    assert ended.code == 0, ended


async def test_a_settings_file_that_cannot_be_read_is_named(configured: ConfiguredProcess, tmp_path: Path):
    ended = await run("serve", "--port=0", "--config", str(tmp_path / "none.env"), data_dir=tmp_path / "data")
    assert ended.code == 1
    [line] = ended.complaints
    assert (
        line == f"hansa: the settings file {tmp_path / 'none.env'} cannot be read: No such file or directory"
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("MAIL_FROM=a b", "a b"),
        ("MAIL_FROM = a", None),
        ("  MAIL_FROM=a  ", "a"),
        ("MAIL_FROM='a \"b\" $c \\d'", 'a "b" $c \\d'),
        ('MAIL_FROM="a \\"b\\" \\$c \\\\"', 'a "b" $c \\'),
        ("MAIL_FROM=", ""),
        ("MAIL_FROM=a#b", "a#b"),
        ("MAIL_FROM='a", None),
        ("MAIL_FROM=a\\", None),
        ("export MAIL_FROM=a", None),
        ("MAIL_FROM", None),
        ("MAIL_FROM=a\nMAIL_FROM=b", None),
    ],
)
def test_the_format_is_that_of_an_environment_file(tmp_path: Path, line: str, value: str | None):
    file = tmp_path / "hansa.env"
    file.write_text(f"; a comment\n\n# another\n{line}\n")
    if value is None:
        with pytest.raises(BadSetting, match=r"line [45]: "):
            read_settings_file(file)
    else:
        assert read_settings_file(file) == {"MAIL_FROM": value}


def test_a_misspelt_name_in_the_file_is_refused(tmp_path: Path):
    file = tmp_path / "hansa.env"
    file.write_text("LOG_LEVL=info\n")
    with pytest.raises(BadSetting, match="LOG_LEVL is not a setting; rename it to LOG_LEVEL"):
        load_settings_file(file, {})
