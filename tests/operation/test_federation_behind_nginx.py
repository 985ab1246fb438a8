"""A registry whose mutual TLS a real nginx ends, as the guide configures it, becomes a peer of one without a proxy."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.operation.conftest import end_postgres
from tests.operation.federated_registries import GUIDE, Operated, by_hand, command_of_guide, is_active, until
from tests.operation.nginx import proxying
from tests.operation.registry_process import RegistryProcess, free_port

CERTIFICATES = "/etc/nginx/hansa"


def server_of_guide(port: int, upstream: int, certificates: Path) -> str:
    """The `server` block of the guide, with the places of this test."""
    (block,) = re.findall(r"```nginx\n(.*?)```", GUIDE, re.DOTALL)
    places = {"8443": str(port), "8000": str(upstream), CERTIFICATES: str(certificates)}
    for stated, meant in places.items():
        assert stated in block
        block = block.replace(stated, meant)
    return str(block)


@pytest.fixture(scope="module")
async def registries(
    tmp_path_factory: pytest.TempPathFactory, migrated_data: Path
) -> AsyncIterator[tuple[Operated, Operated]]:
    ports = {name: (free_port(), free_port()) for name in ("a", "b")}
    allowed = ",".join(f"127.0.0.1:{port}" for pair in ports.values() for port in pair)
    made = []
    for name, (public, mutual) in ports.items():
        settings = {
            "TRUST_DOMAIN": f"{name}.example",
            "REGISTRY_NAME": f"registry-{name}",
            "PUBLIC_BASE_URL": f"http://127.0.0.1:{public}",
            "FEDERATION_BASE_URL": f"https://127.0.0.1:{mutual}",
            "OUTGOING_ALLOW_HOSTS": allowed,
            "FEDERATION_SYNC_INTERVAL_SECONDS": "1",
            **({"FEDERATION_PORT": str(mutual)} if name == "a" else {"TRUSTED_PROXIES": "127.0.0.1"}),
        }
        data_dir = tmp_path_factory.mktemp(name) / "data"
        process = RegistryProcess(data_dir, port=public, migrated=migrated_data, **settings)
        made.append(Operated(process, settings))
    straight, proxied = made
    directory = tmp_path_factory.mktemp("nginx")
    try:
        await asyncio.gather(*(one.process.start() for one in made))
        command = command_of_guide(f"hansa peer certificate --out {CERTIFICATES} --days 30")
        await proxied.printed(command.replace(CERTIFICATES, str(directory / "certificates")))
        public, mutual = ports["b"]
        server = server_of_guide(mutual, public, directory / "certificates")
        async with proxying(directory / "run", server, mutual):
            yield straight, proxied
        for one in made:
            ended = await one.process.stop()
            assert ended.code == 0, ended
    finally:
        for one in made:
            await one.process.kill()
            await end_postgres(one.process.data_dir)


async def test_peers_added_by_hand_approve_each_other_by_the_certificate_that_nginx_forwards(
    registries: tuple[Operated, Operated], tmp_path: Path
):
    straight, proxied = registries
    for one in registries:
        bundle = await one.hansa("bundle --format spiffe")
        (tmp_path / f"{one.settings['TRUST_DOMAIN']}.json").write_text(bundle.output)
    await straight.printed(by_hand(proxied, tmp_path))
    report = await straight.printed("peer sync b.example")
    assert report["refused"] == {}
    # Read through nginx, and still pending: the other side has not added this one.
    waiting = await straight.printed("peer show b.example")
    assert (waiting["approval"], waiting["card"] is None) == ("pending", False)
    await proxied.printed(by_hand(straight, tmp_path))
    await until(lambda: is_active(straight, "b.example"))
    await until(lambda: is_active(proxied, "a.example"))


async def test_an_invitation_joins_through_nginx(registries: tuple[Operated, Operated]):
    straight, proxied = registries
    await straight.printed("peer remove b.example")
    await proxied.printed("peer remove a.example")
    invited = await proxied.printed("peer invite")
    accepted = await straight.printed(f"peer accept {invited['invitation']}")
    assert accepted["status"] == "active"
    await until(lambda: is_active(proxied, "registry-a"))


async def test_a_certificate_that_a_client_writes_into_the_headers_is_not_forwarded(
    registries: tuple[Operated, Operated],
):
    _, proxied = registries
    trusted = ssl.create_default_context(cadata=(await proxied.hansa("bundle")).output)
    forged = {"Client-Cert": ":AAAA:", "X-SSL-Client-Cert": "x"}
    address = proxied.settings["FEDERATION_BASE_URL"]
    async with httpx2.AsyncClient(base_url=address, verify=trusted, trust_env=False, timeout=60) as http:
        answer = await http.get("/.well-known/spiffe-bundle.json", headers=forged)
    # A header that arrived would be refused as unreadable.
    assert answer.status_code == 200, answer.text
    assert "peer-approval" not in answer.headers
    assert json.loads(answer.text)["spiffe_sequence"] == 1
