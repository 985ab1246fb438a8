"""Every guide with commands works as pasted, after others, in any order, twice, on one registry; so does the README."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
from packaging.requirements import Requirement

from tests.client import clean_environment
from tests.data_directories import copy_data_directory
from tests.doors.guides import (
    GUIDES,
    ROOT,
    blocks_of_guide,
    blocks_of_readme,
    paste,
    settings_of_guide,
    shells_of_walk,
)
from tests.made_once import made_once
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, free_port, until_async
from tests.properties.scale import by_tier

README = "README.md"
PAID = {"be-paid.md", "pay-for-a-call.md"}
# Walked as the account of the registry, on a PostgreSQL of its own: tests/operation/test_production_walked.py.
OF_AN_ACCOUNT = "production.md"
# A guide that promises it is walked; one for several machines has a test of its own.
PROMISE = re.compile(r"Run the\s+commands")
WALKED = sorted(
    guide.name
    for guide in GUIDES.glob("*.md")
    if guide.name != OF_AN_ACCOUNT and PROMISE.search(guide.read_text())
)


@pytest.fixture(scope="module")
async def operated(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry as its operator starts it, with the listener for services that their guide sets in the settings file."""
    home = tmp_path_factory.mktemp("home")
    # The data directory that commands use without a setting: the one below the home of their user.
    data_dir = home / ".local" / "share" / "hansa"
    data_dir.parent.mkdir(parents=True)
    copy_data_directory(founded_data, data_dir)
    stated = settings_of_guide("services.md")[0]
    assert stated.keys() == {"FEDERATION_PORT"}
    file = home / "hansa.env"
    file.write_text(f"FEDERATION_PORT={free_port()}\n")
    registry = RegistryProcess(data_dir, HANSA_CONFIG=str(file))
    try:
        await registry.start()
        # The auditor has written its first record; a reader comes later than that.
        await until_async(lambda: is_attested(registry.url))
        yield registry
        await registry.stop()
    finally:
        await registry.kill()
        await end_postgres(registry.data_dir)


@pytest.fixture(scope="session")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a reader without a checkout: `.venv` has the packages that the guides of paid calls name, and nothing else."""
    with made_once(tmp_path_factory, "paid_environment") as (directory, is_missing):
        if is_missing:
            clean_environment.make(
                directory / ".venv",
                *clean_environment.extras("fastapi", "a2a", "mcp"),
                Requirement("uvicorn"),
            )
        return directory


async def is_attested(url: str) -> bool:
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        return (await http.get("/api/auditor/attestations/head")).status_code == 200


def test_the_guides_with_commands_are_found():
    assert {"accounts.md", "administrators.md", "agent-rights.md", "discovery.md", "first-agent.md"} <= {
        *WALKED
    }
    assert {"services.md", "staking.md", "suspension.md", "webhooks.md"} <= {*WALKED}


# The usual run walks them forwards, and one of them again after all the others. Deeper ones walk all of them backwards
# too: each comes once before and once after every other.
AGAIN = by_tier(("services.md",), tuple(reversed(WALKED)), tuple(reversed(WALKED)))
ORDER = [
    (turn, guide, shell)
    for turn, guide in enumerate([*WALKED, README, *AGAIN])
    for shell in shells_of_walk(turn)
]


@pytest.mark.parametrize(("turn", "guide", "shell"), ORDER)
async def test_each_guide_works_after_every_other(
    operated: RegistryProcess, customer: Path, turn: int, guide: str, shell: str
):
    del turn
    # A reader takes longer over a guide than the minute of the limits.
    connection = await asyncpg.connect(await operated.database())
    await connection.execute("DELETE FROM plumbing_rate_limit")
    await connection.close()
    home = operated.data_dir.parents[2]
    if guide == README:
        shown = await paste(blocks_of_readme(operated.url), home, shell=shell)
        assert '"status": "OK"' in shown
        assert '"balance":"89.95"' in shown, "Lingua after a payment of 10 and its fee"
        assert shown.split()[-1] == "88.945"
        return
    blocks = await blocks_of_guide(guide, operated.url)
    await paste(blocks, home, shell=shell, directory=customer if guide in PAID else ROOT)
