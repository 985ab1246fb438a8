"""Commands beside a service whose settings stand in a file alone: the data directory names the file."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.operation.own_database import own_database
from tests.operation.registry_process import Ended, RegistryProcess, free_port, run

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
            f"# The registry of a test.\nDATABASE_URL='{dsn}'\nREGISTRY_NAME=\"example\"\nMARK_MIN_FEE=0.02\n"
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
        "db url",
        "db migrate",
        "jobs list",
        "mint --amount=1 --ref=first",
        "peer list",
        "peer invite",
        "peer invitations",
        "bundle",
        "service list",
    ],
)
async def test_a_command_works_in_a_fresh_shell_beside_the_service(
    configured: ConfiguredProcess, command: str
):
    ended = await fresh_shell(configured, *command.split())
    assert ended.code == 0, ended


async def test_an_invitation_is_listed_and_revoked_by_commands_beside_the_service(
    configured: ConfiguredProcess,
):
    await fresh_shell(configured, "peer", "invite")
    listed = json.loads((await fresh_shell(configured, "peer", "invitations", "--json")).output)
    newest = listed[0]["id"]
    assert newest in (await fresh_shell(configured, "peer", "invitations")).output
    revoked = await fresh_shell(configured, "peer", "revoke-invitation", newest)
    assert (revoked.code, revoked.output.strip()) == (0, f"{newest}: revoked")
    left = json.loads((await fresh_shell(configured, "peer", "invitations", "--json")).output)
    assert newest not in {one["id"] for one in left}
    again = await fresh_shell(configured, "peer", "revoke-invitation", newest)
    assert (again.code != 0, "No open invitation" in again.complaint) == (True, True)
    assert (await fresh_shell(configured, "peer", "revoke-invitation", "x")).code == 2


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


async def test_attacks_are_played_under_the_settings_of_the_service(configured: ConfiguredProcess):
    played = await fresh_shell(configured, "simulate", "reputation", "--json")
    assert played.code == 0, played
    marks = json.loads(played.output)["tables"][0]["rows"]
    assert (marks[-1]["Mark"], marks[-1]["Fees"]) == ("Sovereign", "5.00")
