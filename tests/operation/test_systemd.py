"""The service of systemd: the registry reports when it serves and when it stops; the units are hardened and run commands that exist."""

import configparser
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from typer.main import get_command

from hansa.doors.commands.program import app
from tests import debian_packages
from tests.operation.conftest import Launch
from tests.operation.registry_process import health, run

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
SERVICES = ["hansa.service", "hansa-backup.service"]
EXPOSURE_MAX = 2.0
EXPOSURE = re.compile(r"Overall exposure level for \S+: ([\d.]+) ")


@contextmanager
def manager_at(address: str | bytes) -> Iterator[socket.socket]:
    """The socket of a service manager, which waits at most a minute for a datagram."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(60)
        yield manager


@pytest.mark.parametrize("workers", [1, 2])
async def test_the_service_manager_learns_once_that_the_registry_serves_and_once_that_it_stops(
    operated: Launch, tmp_path: Path, workers: int
):
    with manager_at(str(tmp_path / "notify")) as manager:
        registry = operated(workers=workers, NOTIFY_SOCKET=str(tmp_path / "notify"))
        await registry.start()
        assert manager.recv(4096) == b"READY=1"
        assert await health(registry.url) == 200
        assert (await registry.stop()).code == 0
        assert manager.recv(4096) == b"STOPPING=1"
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(4096)


async def test_an_abstract_socket_is_notified_as_well_and_a_missing_one_is_a_line_of_the_log(
    operated: Launch, tmp_path: Path
):
    name = f"hansa-test-{tmp_path.name}"
    with manager_at(f"\0{name}") as manager:
        registry = operated(NOTIFY_SOCKET=f"@{name}")
        await registry.start()
        assert manager.recv(4096) == b"READY=1"
    ended = await registry.stop()
    assert ended.code == 0
    assert "the service manager cannot be notified" in ended.complaint
    assert "Traceback" not in ended.complaint


async def test_a_command_notifies_nobody(operated: Launch, tmp_path: Path):
    with manager_at(str(tmp_path / "notify")) as manager:
        registry = operated()
        await registry.start()
        status = await run("status", data_dir=registry.data_dir, NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert status.code == 0, status
        async with httpx2.AsyncClient(trust_env=False) as http:
            assert (await http.get(f"{registry.url}/livez")).status_code == 200
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(4096)


def service_of(name: str) -> dict[str, str]:
    # A filter of system calls stands in two lines.
    parsed = configparser.RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string((UNITS / name).read_text())
    return dict(parsed["Service"])


@pytest.mark.parametrize("name", SERVICES)
def test_a_unit_runs_a_command_that_exists_and_writes_where_it_may(name: str):
    service = service_of(name)
    program, *words = shlex.split(service["ExecStart"])
    assert program == "/opt/hansa/.venv/bin/hansa"
    command = get_command(app)
    options = {option for parameter in command.params for option in parameter.opts}
    while words and not words[0].startswith("-"):
        command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
    options |= {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options
    directories = {
        words[words.index(option) + 1] for option in ("--data-dir", "--out-dir") if option in words
    }
    assert directories == set(service["ReadWritePaths"].split())


def systemd_analyze() -> str:
    """The program. Where there is none, Debian's package is installed."""
    if shutil.which("systemd-analyze") is None:
        debian_packages.install("systemd")
    found = shutil.which("systemd-analyze")
    assert found, "systemd-analyze is needed: apt-get install systemd"
    return found


@pytest.mark.parametrize("name", SERVICES)
def test_a_unit_is_hardened(name: str):
    command = [systemd_analyze(), "security", "--offline=yes", "--no-pager", UNITS / name]
    judged = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    [exposure] = EXPOSURE.findall(judged)
    assert float(exposure) <= EXPOSURE_MAX, judged


def test_the_units_are_understood(tmp_path: Path):
    for file in UNITS.iterdir():
        text = file.read_text().replace("/opt/hansa/.venv/bin/hansa", "/bin/true")
        (tmp_path / file.name).write_text(text)
    names = sorted(str(file) for file in tmp_path.iterdir() if file.suffix in {".service", ".timer"})
    assert len(names) == len(SERVICES) + 1, "each service, and a timer"
    verified = subprocess.run(
        [systemd_analyze(), "verify", "--man=no", *names], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_service_is_ready_when_it_says_so_and_a_long_migration_is_not_killed():
    service = service_of("hansa.service")
    assert (service["Type"], service["NotifyAccess"]) == ("notify", "main")
    assert service["TimeoutStartSec"] == "infinity"


def test_the_account_of_the_units_is_the_one_that_is_made():
    [account] = re.findall(r"^u (\S+) ", (UNITS / "hansa.sysusers").read_text(), re.MULTILINE)
    assert {service_of(name)["User"] for name in SERVICES} == {account}
