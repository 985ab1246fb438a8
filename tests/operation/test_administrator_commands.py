"""Administrators from the shell: list, reset a password or a second factor, change areas, remove."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conversations.person import App
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import Ended, RegistryProcess, run
from tests.registry import address_elsewhere

PASSWORD = "Quiet-Harbour-41-Lantern"
OTHER_PASSWORD = "Other-Harbour-42-Lantern"
REST = "admin_platform,admin_federation,admin_treasury,admin_enforcement"


@pytest.fixture(scope="module")
async def registry(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry with an administrator `root` of all areas but support; each test acts on people of its own."""
    data_dir = tmp_path_factory.mktemp("shell") / "data"
    registry = RegistryProcess(data_dir, founded=founded_data, TRUSTED_PROXIES="127.0.0.1")
    await registry.start()
    await create(registry, "root", REST)
    yield registry
    await registry.kill()
    await end_postgres(registry.data_dir)


@pytest.fixture
async def http(registry: RegistryProcess) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=f"{registry.url}/api/v1", trust_env=False, timeout=60) as client:
        yield client


async def admin(registry: RegistryProcess, *arguments: str, password: str = PASSWORD) -> Ended:
    return await run("admin", *arguments, data_dir=registry.data_dir, HANSA_ADMIN_PASSWORD=password)


async def create(registry: RegistryProcess, name: str, areas: str) -> str:
    """Return the e-mail address of a new administrator."""
    email = f"{name}@example.org"
    ended = await admin(registry, "create", f"--name={name}", f"--email={email}", f"--areas={areas}")
    assert ended.code == 0, ended
    return email


async def log_in(http: httpx2.AsyncClient, email: str, password: str = PASSWORD) -> httpx2.Response:
    # Logins are limited by address.
    elsewhere = {"X-Forwarded-For": address_elsewhere()}
    return await http.post("/auth/login", data={"username": email, "password": password}, headers=elsewhere)


async def session(http: httpx2.AsyncClient, email: str) -> dict[str, str]:
    """Return the headers of a new session."""
    answer = await log_in(http, email)
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


async def is_open(http: httpx2.AsyncClient, headers: dict[str, str]) -> bool:
    return (await http.get("/auth/profile", headers=headers)).status_code == 200


async def acts(http: httpx2.AsyncClient, developer_id: int) -> list[tuple[str, str | None]]:
    """Return the operator's acts on this developer and their reasons, the newest first."""
    headers = await session(http, "root@example.org")
    query = {"subject": f"developer:{developer_id}", "limit": "50"}
    answer = await http.get("/admin/audit-log", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    items = answer.json()["items"]
    assert {item["credential"] for item in items} == {"command line"}
    return [(item["act"], item["reason"]) for item in items]


async def listed(registry: RegistryProcess) -> dict[str, dict[str, Any]]:
    ended = await admin(registry, "list", "--json")
    assert ended.code == 0, ended
    return {one["email"]: one for one in json.loads(ended.output)["administrators"]}


def refused_in_one_line(ended: Ended) -> str:
    assert (ended.code, ended.output, len(ended.complaints)) == (1, "", 1), ended
    return ended.complaints[0]


async def test_the_list_names_every_administrator_with_areas_and_second_factor(registry: RegistryProcess):
    email = await create(registry, "lea", "admin_support")
    shown = (await listed(registry))[email]
    assert (shown["name"], shown["areas"]) == ("lea", ["admin_support"])
    assert (shown["has_second_factor"], shown["is_suspended"]) == (False, False)
    assert f"{email}  admin_support  without a second factor" in (await admin(registry, "list")).output


async def test_a_password_that_is_reset_ends_the_sessions_and_opens_the_account(
    registry: RegistryProcess, http: httpx2.AsyncClient
):
    email = await create(registry, "pat", "admin_support")
    headers = await session(http, email)
    ended = await admin(registry, "reset-password", email.upper(), "--json", password=OTHER_PASSWORD)
    assert (ended.code, ended.complaint) == (0, ""), ended
    assert not await is_open(http, headers)
    assert (await log_in(http, email)).status_code == 401
    assert (await log_in(http, email, OTHER_PASSWORD)).status_code == 200
    [(act, _), _] = await acts(http, json.loads(ended.output)["developer_id"])
    assert act == "administrator.reset_password"


async def test_a_weak_password_changes_nothing(registry: RegistryProcess, http: httpx2.AsyncClient):
    email = await create(registry, "wes", "admin_support")
    headers = await session(http, email)
    ended = await admin(registry, "reset-password", email, password="short")
    assert "short" not in refused_in_one_line(ended)
    assert await is_open(http, headers)


async def test_a_second_factor_that_is_reset_lets_the_password_alone_open_the_account(
    registry: RegistryProcess, http: httpx2.AsyncClient
):
    email = await create(registry, "fay", "admin_support")
    headers = await session(http, email)
    off = await admin(registry, "reset-2fa", email)
    assert "Two-factor login is not on" in refused_in_one_line(off)
    app = App((await http.post("/auth/2fa/setup", headers=headers)).json()["secret"])
    turned_on = await http.post("/auth/2fa/verify", json={"code": app.code()}, headers=headers)
    assert turned_on.status_code == 200, turned_on.text
    assert (await listed(registry))[email]["has_second_factor"] is True
    ended = await admin(registry, "reset-2fa", email, "--json")
    assert (ended.code, ended.complaint) == (0, ""), ended
    assert not await is_open(http, headers)
    assert (await log_in(http, email)).json()["requires_2fa"] is False
    [(act, _), _] = await acts(http, json.loads(ended.output)["developer_id"])
    assert act == "administrator.reset_second_factor"


async def test_areas_are_set_as_named_and_end_the_sessions(
    registry: RegistryProcess, http: httpx2.AsyncClient
):
    await create(registry, "sam", "admin_support")
    email = await create(registry, "ann", "admin_support")
    headers = await session(http, email)
    ended = await admin(registry, "areas", email, "admin_treasury,admin_platform", "--json")
    assert (ended.code, ended.complaint) == (0, ""), ended
    shown = json.loads(ended.output)
    assert (shown["areas"], shown["changed"]) == (["admin_platform", "admin_treasury"], True)
    assert not await is_open(http, headers)
    again = await session(http, email)
    assert (await http.get("/admin/audit-log", headers=again)).status_code == 200
    assert (await http.get("/admin/invite-codes", headers=again)).status_code == 403
    [(act, reason), _] = await acts(http, shown["developer_id"])
    assert (act, reason) == ("administrator.set_areas", "admin_platform, admin_treasury")
    same = await admin(registry, "areas", email, "admin_platform,admin_treasury", "--json")
    assert (same.code, json.loads(same.output)["changed"]) == (0, False)
    assert await is_open(http, again)


async def test_no_other_account_is_made_an_administrator(registry: RegistryProcess, http: httpx2.AsyncClient):
    body = {"name": "dev", "email": "dev@example.org", "password": PASSWORD, "tos_accepted": True}
    answer = await http.post("/auth/register", json={**body, "age_confirmed": True})
    assert answer.status_code == 201, answer.text
    for email in ("dev@example.org", "nobody@example.org"):
        ended = await admin(registry, "areas", email, "admin_support")
        assert "No administrator has this e-mail address" in refused_in_one_line(ended)


async def test_a_removed_administrator_keeps_the_account_without_areas(
    registry: RegistryProcess, http: httpx2.AsyncClient
):
    await create(registry, "rob", "admin_support")
    email = await create(registry, "ray", "admin_support")
    headers = await session(http, email)
    ended = await admin(registry, "remove", email, "--json")
    assert (ended.code, ended.complaint) == (0, ""), ended
    assert not await is_open(http, headers)
    assert email not in await listed(registry)
    profile = (await http.get("/auth/profile", headers=await session(http, email))).json()
    assert (profile["role"], profile["is_admin"]) == ("developer", False)
    [(act, _), _] = await acts(http, json.loads(ended.output)["developer_id"])
    assert act == "administrator.remove"
    again = await admin(registry, "remove", email)
    assert "No administrator has this e-mail address" in refused_in_one_line(again)


async def test_the_last_administrator_of_an_area_stays_in_it(
    registry: RegistryProcess, http: httpx2.AsyncClient
):
    headers = await session(http, "root@example.org")
    for arguments in (["remove", "root@example.org"], ["areas", "root@example.org", "admin_platform"]):
        line = refused_in_one_line(await admin(registry, *arguments))
        assert "Nobody else administers" in line
        assert "admin_federation" in line
        assert "admin_support" not in line
    assert await is_open(http, headers)
    assert (await listed(registry))["root@example.org"]["areas"] == REST.split(",")


async def test_of_two_last_administrators_removed_at_once_one_stays(tmp_path: Path, founded_data: Path):
    registry = RegistryProcess(tmp_path / "data", founded=founded_data)
    await registry.start()
    try:
        emails = [await create(registry, name, "admin_support") for name in ("one", "two")]
        ended = await asyncio.gather(*(admin(registry, "remove", email) for email in emails))
        assert sorted(one.code for one in ended) == [0, 1], ended
        assert len(await listed(registry)) == 1
    finally:
        await registry.kill()
        await end_postgres(registry.data_dir)
