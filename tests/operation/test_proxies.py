"""The proxies of `deploy/ha`, each in front of a registry of which one machine is gone."""

import asyncio
import base64
import os
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from tests.operation.proxies import DEPLOYED, NAME, PROXIES, Places, certify
from tests.operation.registry_process import RegistryProcess, free_port
from tests.outside import Authority
from tests.registry import PASSWORD

SPOOFED = "203.0.113.9"
SNI = {"sni_hostname": NAME}
GONE_AT_FIRST = 20


@pytest.fixture(scope="module")
async def registry(
    tmp_path_factory: pytest.TempPathFactory, migrated_data: Path
) -> AsyncIterator[RegistryProcess]:
    registry = RegistryProcess(
        tmp_path_factory.mktemp("behind") / "data",
        migrated=migrated_data,
        PUBLIC_BASE_URL=f"https://{NAME}",
        TRUSTED_PROXIES="127.0.0.1",
        port=free_port(),
    )
    try:
        await registry.start()
        yield registry
        ended = await registry.stop()
        assert ended.code == 0, ended
    finally:
        await registry.kill()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return certify(tmp_path)


@pytest.fixture
def places(tmp_path: Path, registry: RegistryProcess) -> Places:
    """One machine serves, nothing listens at the other one."""
    return Places(tmp_path, free_port(), (f"127.0.0.1:{free_port()}", registry.url.removeprefix("http://")))


def client_of(places: Places, authority: Authority) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=f"https://127.0.0.1:{places.port}",
        verify=authority.trust(),
        headers={"Host": NAME, "X-Forwarded-For": SPOOFED},
        timeout=60,
    )


@pytest.mark.parametrize("name", PROXIES)
async def test_a_machine_that_is_gone_costs_no_request_and_clients_state_no_address_of_their_own(
    places: Places, authority: Authority, name: str
):
    async with PROXIES[name](places), client_of(places, authority) as client:
        for _ in range(GONE_AT_FIRST):
            answer = await client.get("/livez", extensions=SNI)
            assert answer.status_code == 200, answer.text
        body = {"name": f"Ada {name}", "email": f"{name}@example.org", "password": PASSWORD}
        consent = {"tos_accepted": True, "age_confirmed": True}
        made = await client.post("/api/v1/auth/register", json={**body, **consent}, extensions=SNI)
        assert made.status_code == 201, made.text
        credentials = {"username": body["email"], "password": PASSWORD}
        login = await client.post("/api/v1/auth/login", data=credentials, extensions=SNI)
        assert login.status_code == 200, login.text
        token = {"Authorization": f"Bearer {login.json()['access_token']}"}
        sessions = await client.get("/api/v1/auth/sessions", headers=token, extensions=SNI)
        assert "127.0.0.1" in sessions.text
        assert SPOOFED not in sessions.text


@pytest.mark.parametrize("name", PROXIES)
async def test_a_socket_of_the_live_feed_opens_through_the_proxy(
    places: Places, authority: Authority, name: str
):
    key = base64.b64encode(os.urandom(16)).decode()
    head = (
        f"GET /ws/events HTTP/1.1\r\nHost: {NAME}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    )
    async with PROXIES[name](places):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", places.port, ssl=trusting(authority), server_hostname=NAME
        )
        writer.write(head.encode())
        async with asyncio.timeout(60):
            status = await reader.readline()
        writer.close()
    assert re.fullmatch(rb"HTTP/1.1 101 .*\r\n", status), status


def test_the_guide_shows_the_configuration_of_nginx_that_is_tested():
    guide = (DEPLOYED.parents[1] / "docs/guides/several-machines.md").read_text()
    [block] = re.findall(r"```nginx\n(.*?)```", guide, re.DOTALL)
    assert (DEPLOYED / "nginx.conf").read_text().partition("\n")[2] == block


def trusting(authority: Authority) -> ssl.SSLContext:
    context = authority.trust()
    context.set_alpn_protocols(["http/1.1"])
    return context


@pytest.mark.parametrize("name", PROXIES)
async def test_without_a_machine_the_answer_is_a_problem_document_with_a_time_to_retry(
    places: Places, authority: Authority, name: str
):
    gone = replace(places, machines=(f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"))
    async with PROXIES[name](gone), client_of(gone, authority) as client:
        answer = await client.get("/livez", extensions=SNI)
        assert answer.status_code == 503
        assert answer.headers["content-type"].startswith("application/problem+json")
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["status"] == 503
