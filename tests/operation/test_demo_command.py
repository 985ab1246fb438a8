"""`hansa demo URL` as a command: its question before it writes into somebody's registry."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from hansa.doors.demo.cards import demo_cards
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, run

PASSWORD = "Quiet-Harbour-41-Lantern"


@pytest.fixture(scope="module")
async def inhabited(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry with one agent that no demo made."""
    registry = RegistryProcess(tmp_path_factory.mktemp("inhabited") / "data", founded=founded_data)
    await registry.start()
    async with httpx2.AsyncClient(base_url=f"{registry.url}/api/v1", trust_env=False, timeout=60) as http:
        await create_an_agent(http)
    yield registry
    await registry.kill()
    await end_postgres(registry.data_dir)


async def create_an_agent(http: httpx2.AsyncClient) -> None:
    person = {"name": "ada", "email": "ada@example.org", "password": PASSWORD}
    registered = await http.post(
        "/auth/register", json={**person, "tos_accepted": True, "age_confirmed": True}
    )
    assert registered.status_code == 201, registered.text
    login = await http.post("/auth/login", data={"username": person["email"], "password": PASSWORD})
    bearer = {"Authorization": f"Bearer {login.json()['access_token']}"}
    bootstrap = await http.post("/onboard/bootstrap/request-token", json={}, headers=bearer)
    # The tag is how the demo knows its own.
    card = {**demo_cards("x")[0], "tags": ["translation"]}
    created = await http.post(
        "/onboard/create_agent",
        json={"agent_did_method": "hansa", "agent_card": card},
        headers={"Bootstrap-Token": bootstrap.json()["bootstrap_token"]},
    )
    assert created.status_code == 201, created.text


async def test_without_a_terminal_nothing_is_written_into_a_registry_with_agents_of_others(
    inhabited: RegistryProcess,
):
    ended = await run("demo", inhabited.url, data_dir=inhabited.data_dir)
    assert ended.code == 2
    [line] = ended.complaints
    assert "has 1 cards that are not from a demo" in line
    assert "with --yes" in line
    async with httpx2.AsyncClient(base_url=inhabited.url, trust_env=False, timeout=60) as http:
        assert (await http.get("/api/v1/agent-cards/discover")).json()["total"] == 1


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("ftp://registry.example", "URL must start with http:// or https://, got 'ftp://registry.example'"),
        ("127.0.0.1:8000", "URL must start with http:// or https://, got '127.0.0.1:8000'"),
        ("http://127.0.0.1:1", "cannot connect to 127.0.0.1:1: connection refused"),
    ],
)
async def test_an_address_that_does_not_work_is_explained_in_one_line(
    inhabited: RegistryProcess, url: str, complaint: str
):
    ended = await run("demo", url, "--json", data_dir=inhabited.data_dir)
    assert (ended.code, ended.output, ended.complaints) == (1, "", [f"hansa: {complaint}"])
