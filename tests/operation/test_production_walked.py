"""The guide of production as its reader walks it: its account, its settings file, its database on a PostgreSQL 15, its service, an upgrade.

The account is made where the tests run as root and useradd succeeds; otherwise the present account has the same files with the same
modes.
"""

import grp
import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tests.doors.guides import DEBIAN_PATH, blocks_of_guide, paste, shells_of_walk
from tests.operation.plain_postgresql import plain_postgresql, until_it_answers
from tests.operation.registry_process import (
    RegistryProcess,
    free_port,
    launch,
)
from tests.operation.test_production_guide import GUIDE, database_of_guide, stated_settings
from tests.operation.test_systemd import service_of

CONSOLE = re.compile(r"^\$ (.*)$", re.MULTILINE)
ACCOUNT = re.compile(r"(?<= )registry(?= |$)")
PASSPHRASE = {"HANSA_KEYS_PASSPHRASE": "Quiet-Harbour-41-Lantern"}


@dataclass(frozen=True)
class Machine:
    """The account of the registry, and the places of the guide below a folder of this test."""

    folder: Path
    account: pwd.struct_passwd
    owner: str

    @property
    def settings_file(self) -> Path:
        return self.folder / "etc/hansa/hansa.env"

    @property
    def data_dir(self) -> Path:
        return self.folder / "srv/hansa"

    @property
    def as_account(self) -> list[str]:
        """Command in front of another one that runs it as the account of the registry."""
        if self.account.pw_uid == os.geteuid():
            return []
        launcher = [sys.executable, "-I", "-S", str(Path(__file__).with_name("as_ordinary.py"))]
        return [*launcher, str(self.account.pw_uid), str(self.account.pw_gid)]

    def meant(self, text: str) -> str:
        """Text of the guide with the places of this test."""
        return re.sub(r"/(etc|srv)/hansa|/backups", lambda place: f"{self.folder}{place[0]}", text)

    def carry_out(self, beginning: str) -> None:
        """Run the command lines of the guide that begin so, with the names of this test."""
        lines = [line for line in CONSOLE.findall(GUIDE) if line.startswith(beginning)]
        assert lines, f"the guide has no command {beginning}"
        group = grp.getgrgid(self.account.pw_gid).gr_name
        for line in lines:
            named = line.replace("-g registry", f"-g {group}").replace("-o root", f"-o {self.owner}")
            subprocess.run(
                shlex.split(self.meant(ACCOUNT.sub(self.account.pw_name, named))), check=True, umask=0o022
            )

    async def run(self, command: str) -> str:
        """Output of a command `sudo -u registry …` of the guide, which succeeds."""
        arguments = shlex.split(self.meant(command))
        assert arguments[:4] == ["sudo", "-u", "registry", "hansa"]
        process = await launch(
            *arguments[4:],
            environment={**self.environment, **PASSPHRASE},
            stderr=subprocess.PIPE,
            as_account=self.as_account,
        )
        output, complaint = await process.communicate()
        assert await process.wait() == 0, complaint.decode()
        return output.decode()

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment that systemd gives to a service of this account."""
        return {
            "PATH": DEBIAN_PATH,
            "HOME": str(self.data_dir),
            "LANG": "C.UTF-8",
            "USER": self.account.pw_name,
        }


@contextmanager
def account_of_guide(home: Path) -> Iterator[pwd.struct_passwd]:
    """The account that the guide makes, under a name of its own; the present one where no account can be made."""
    [line] = [one for one in CONSOLE.findall(GUIDE) if one.startswith("useradd")]
    name = f"hansa-{uuid4().hex[:8]}"
    arguments = shlex.split(ACCOUNT.sub(name, line.replace("/srv/hansa", str(home))))
    home.parent.mkdir(parents=True)
    program = shutil.which(arguments[0], path=f"{DEBIAN_PATH}:/usr/sbin")
    is_made = (
        os.geteuid() == 0
        and program is not None
        and subprocess.run([program, *arguments[1:]], check=False, capture_output=True).returncode == 0
    )
    if not is_made:
        home.mkdir()
        yield pwd.getpwuid(os.geteuid())
        return
    try:
        yield pwd.getpwnam(name)
    finally:
        subprocess.run(["/usr/sbin/userdel", name], check=True)


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """The account and the settings file of the guide, which is still empty."""
    # Every account can reach it.
    folder = Path(tempfile.mkdtemp(prefix="hansa-production-"))
    folder.chmod(0o755)
    try:
        with account_of_guide(folder / "srv/hansa") as account:
            made = Machine(folder, account, pwd.getpwuid(os.geteuid()).pw_name)
            made.carry_out("install -d -m 0755")
            made.carry_out("install -m 0640")
            yield made
    finally:
        shutil.rmtree(folder)


class GuidesService(RegistryProcess):
    """The service of the guide's unit, as its account and with nothing in its environment."""

    def __init__(self, machine: Machine, port: int) -> None:
        super().__init__(machine.data_dir, as_account=machine.as_account)
        self.log = machine.folder / "service.log"
        self._machine, self._port = machine, port

    async def start_without_waiting(self) -> None:
        unit = service_of("hansa.service")
        _, *arguments = shlex.split(self._machine.meant(unit["ExecStart"]))
        assert unit["User"] == "registry"
        arguments[arguments.index("--port") + 1] = str(self._port)
        with self.log.open("ab") as log:
            self._process = await launch(
                *arguments,
                environment=self._machine.environment,
                stderr=log.fileno(),
                as_account=self._machine.as_account,
                as_program=True,
            )


@pytest.fixture(scope="module")
async def service(machine: Machine) -> AsyncIterator[GuidesService]:
    """The service on a database of the guide in a cluster of PostgreSQL 15, which asks its role for the password."""
    port, postgres_port = free_port(), free_port()
    with plain_postgresql() as postgresql:
        cluster = postgresql.make("cluster")
        postgresql.ask_for_passwords(cluster)
        server = f"postgresql://hansa@127.0.0.1:{postgres_port}/postgres"
        with postgresql.running(cluster, "listen_addresses=127.0.0.1", f"port={postgres_port}"):
            await until_it_answers(server)
            settings = stated_settings()
            # Mails are files: no mail server has that name; and no host has the public one.
            del settings["SMTP_URL"]
            settings["PUBLIC_BASE_URL"] = f"http://127.0.0.1:{port}"
            async with database_of_guide(server, settings["DATABASE_URL"]) as database:
                settings["DATABASE_URL"] = database
                machine.settings_file.write_text(
                    "".join(f"{name}={value}\n" for name, value in settings.items())
                )
                registry = GuidesService(machine, port)
                try:
                    await registry.start()
                    yield registry
                    assert (await registry.stop()).code == 0
                finally:
                    await registry.kill()


def mode_of(path: Path) -> tuple[int, str, str]:
    found = path.stat()
    return found.st_mode & 0o7777, pwd.getpwuid(found.st_uid).pw_name, grp.getgrgid(found.st_gid).gr_name


@pytest.mark.parametrize("shell", shells_of_walk(1))
async def test_the_guide_is_walked_as_the_account_of_the_registry(
    service: GuidesService, machine: Machine, shell: str
):
    blocks = [machine.meant(one) for one in await blocks_of_guide("production.md", service.url)]
    shown = await paste(blocks, machine.data_dir, shell=shell, as_account=machine.as_account)
    assert "ready           yes" in shown
    assert "database        external, PostgreSQL 15" in shown
    assert shown.count("-rw-------") == 2, "the backup and the exported keys are for their owner alone"
    assert "all keys already exist" in shown


async def test_the_files_of_the_guide_have_its_owners_and_modes(service: GuidesService, machine: Machine):
    del service
    name, group = machine.account.pw_name, grp.getgrgid(machine.account.pw_gid).gr_name
    assert mode_of(machine.settings_file) == (0o640, machine.owner, group)
    keys = machine.data_dir / "keys"
    assert mode_of(keys) == (0o700, name, group)
    assert {mode_of(key) for key in keys.iterdir()} == {(0o600, name, group)}
    checked = await machine.run("sudo -u registry hansa config --check --json --data-dir /srv/hansa")
    assert '"warnings": []' in checked
    doctor = await machine.run("sudo -u registry hansa doctor --data-dir /srv/hansa")
    assert "problem " not in doctor


async def test_the_commands_of_an_upgrade_back_up_restart_and_state_that_the_registry_is_ready(
    service: GuidesService, machine: Machine
):
    _, _, upgrade = GUIDE.partition("## Upgrade")
    backup, status = [line for line in CONSOLE.findall(upgrade) if line.startswith("sudo ")]
    machine.carry_out("install -d -m 0700")
    await machine.run(backup)
    assert mode_of(machine.folder / "backups/before-upgrade.hansa")[0] == 0o600
    assert (await service.stop()).code == 0
    await service.start()
    assert "ready           yes" in await machine.run(status)
