"""Every guide with commands works after others, in any order, twice, on one registry; so does the README."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
from packaging.requirements import Requirement

from tests.client import clean_environment
from tests.doors.guides import BLOCK, GUIDES, ROOT, follow, run_shell
from tests.made_once import made_once
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, free_port, until_async
from tests.properties.scale import by_tier

README = "README.md"
PAID = {"be-paid.md", "pay-for-a-call.md"}
# A guide that promises it is walked; one for several machines has a test of its own.
PROMISE = re.compile(r"Run the\s+commands")
WALKED = sorted(guide.name for guide in GUIDES.glob("*.md") if PROMISE.search(guide.read_text()))


@pytest.fixture(scope="module")
async def operated(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry as its operator starts it, with a listener for services."""
    directory = tmp_path_factory.mktemp("guides")
    federation_port = str(free_port())
    registry = RegistryProcess(directory / "data", founded=founded_data, FEDERATION_PORT=federation_port)
    registry.federation_port = federation_port  # type: ignore[attr-defined]
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
def paid_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with what the guides of paid calls say has to be installed, and nothing else."""
    with made_once(tmp_path_factory, "paid_environment") as (directory, is_missing):
        if not is_missing:
            return directory / "bin"
        return clean_environment.make(
            directory, *clean_environment.extras("fastapi", "a2a", "mcp"), Requirement("uvicorn")
        )


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
ORDER = [*enumerate([*WALKED, README, *AGAIN])]


@pytest.mark.parametrize(("turn", "guide"), ORDER)
async def test_each_guide_works_after_every_other(
    operated: RegistryProcess, paid_programs: Path, tmp_path: Path, turn: int, guide: str
):
    del turn
    # A reader takes longer over a guide than the minute of the limits.
    connection = await asyncpg.connect(await operated.database())
    await connection.execute("DELETE FROM plumbing_rate_limit")
    await connection.close()
    if guide == README:
        await walk_readme(operated.url, tmp_path)
        return
    of_a_customer = {"PATH": f"{paid_programs}:/usr/local/bin:/usr/bin:/bin"} if guide in PAID else {}
    await follow(
        guide,
        operated.url,
        tmp_path,
        **of_a_customer,
        HANSA_DATA_DIR=str(operated.data_dir),
        FEDERATION_PORT=operated.federation_port,  # type: ignore[attr-defined]
    )


async def walk_readme(url: str, directory: Path) -> None:
    blocks = BLOCK.findall((ROOT / README).read_text())
    commands = "".join(text for language, _, text in blocks if language == "sh")
    program = "".join(text for language, _, text in blocks if language == "python")
    program += """
import json
from pathlib import Path

payer, payee = (json.loads(Path(name).read_text()) for name in ("Lingua.json", "Babel.json"))
print(pay(payer, payee, "1", "order-2"))
"""
    (directory / "pay.py").write_text(program.replace("http://127.0.0.1:8000", url))
    shown = await run_shell(
        f"cd {directory}\n{commands}\npython3 pay.py\n".replace("http://127.0.0.1:8000", url), directory
    )
    assert '"status": "OK"' in shown
    assert '"balance":"89.95"' in shown, "Lingua after a payment of 10 and its fee"
    assert shown.splitlines()[-1] == "88.945"
