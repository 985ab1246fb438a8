"""The guide of licences, walked in two interactive shells: one at the genesis, one at a frame, each with its settings file."""

import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

from tests.doors.guides import GUIDES, blocks_of_guide, open_shell, settings_of_guide, shells_of_walk
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess

GUIDE = "licences.md"
MACHINES = ("genesis", "frame")
MACHINE_OF_BLOCK = re.compile(r"At the (genesis|frame)[^`]*:\n\n```sh\n")


@pytest.fixture
async def registries(tmp_path: Path, migrated_data: Path) -> AsyncIterator[dict[str, RegistryProcess]]:
    """Genesis and frame of the guide, each with the data directory below its home that commands use without a setting."""
    async with AsyncExitStack() as stack:
        made = {}
        for name, stated in zip(MACHINES, settings_of_guide(GUIDE), strict=True):
            home = tmp_path / name
            data_dir = home / ".local/share/hansa"
            data_dir.parent.mkdir(parents=True)
            file = home / "hansa.env"
            file.write_text("".join(f"{one}={value}\n" for one, value in stated.items()))
            registry = RegistryProcess(data_dir, migrated=migrated_data, HANSA_CONFIG=str(file))
            stack.push_async_callback(end_postgres, data_dir)
            stack.push_async_callback(registry.kill)
            await registry.start()
            made[name] = registry
        yield made


@pytest.mark.parametrize("shell", shells_of_walk(0))
async def test_a_network_is_founded_extended_and_verified_as_the_guide_describes(
    registries: dict[str, RegistryProcess], tmp_path: Path, shell: str
):
    machines = MACHINE_OF_BLOCK.findall((GUIDES / GUIDE).read_text())
    pages = {name: await blocks_of_guide(GUIDE, registry.url) for name, registry in registries.items()}
    assert len(machines) == len(pages["genesis"])
    shown: list[str] = []
    with ExitStack() as shells:
        run: dict[str, Callable[[str], str]] = {
            name: shells.enter_context(open_shell(tmp_path / name, shell=shell)) for name in MACHINES
        }
        for number, machine in enumerate(machines):
            block = pages[machine][number]
            if "licence install" in block:
                trust_root(tmp_path / "frame" / "hansa.env", hash_in(shown[0]))
                assert (await registries["frame"].stop()).code == 0
                await registries["frame"].start()
            shown.append(run[machine](block))
            send_files(tmp_path)
    [installed] = [
        text for text, block in zip(shown, pages["frame"], strict=True) if "licence install" in block
    ]
    assert installed.split()[-1] == "active"
    assert "frame.example north: revoked, plan operator-free" in shown[-3]
    assert "verified: " in shown[-2]
    assert shown[-1].splitlines()[-1].startswith("valid at ")


def hash_in(text: str) -> str:
    [found] = re.findall(r"\b[0-9a-f]{64}\b", text)
    return str(found)


def trust_root(settings_file: Path, root: str) -> None:
    with settings_file.open("a") as file:
        file.write(f"FEDERATION_ROOT_HASH={root}\n")


def send_files(homes: Path) -> None:
    """Each file that the guide sends is at both machines."""
    for name in ("frame-key.json", "licence.json"):
        for file in homes.glob(f"*/tmp.*/{name}"):
            for directory in homes.glob("*/tmp.*"):
                if not (directory / name).exists():
                    shutil.copy(file, directory)
