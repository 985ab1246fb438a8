"""Operator contract, AGENT_IDENTITY_ISSUER `spire`: output of a start and of the commands."""

import asyncio
import json
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, free_port, run
from tests.spire import SpireAgent

DOMAIN = "hansa.local"
OWN = f"spiffe://{DOMAIN}/registry/hansa"


def by_spire(socket: Path | str) -> dict[str, str]:
    return {"AGENT_IDENTITY_ISSUER": "spire", "SPIFFE_ENDPOINT_SOCKET": f"unix://{socket}"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "is refused; allowed with AGENT_IDENTITY_ISSUER=spire is"),
        ("tcp://127.0.0.1:8081", "is refused; allowed with AGENT_IDENTITY_ISSUER=spire is"),
        ("unix:relative.sock", "is refused; allowed with AGENT_IDENTITY_ISSUER=spire is"),
        ("unix:///nowhere/api.sock", "No such file or directory; start the SPIRE agent first"),
        ("unix:///etc/passwd", "it is no socket"),
    ],
)
async def test_a_start_without_a_socket_of_an_agent_fails_in_one_line(
    tmp_path: Path, value: str, reason: str
):
    settings = {"AGENT_IDENTITY_ISSUER": "spire", "SPIFFE_ENDPOINT_SOCKET": value}
    refused = await run("serve", "--port=0", data_dir=tmp_path / "data", **settings)
    assert refused.code == 1
    (line,) = refused.complaints
    assert "SPIFFE_ENDPOINT_SOCKET" in line
    assert reason in line
    assert not (tmp_path / "data").exists()


async def test_a_socket_of_another_form_matters_only_with_spire(tmp_path: Path):
    listed = await run("db", "url", data_dir=tmp_path, SPIFFE_ENDPOINT_SOCKET="tcp://127.0.0.1:1")
    assert "SPIFFE_ENDPOINT_SOCKET" not in listed.complaint


async def test_a_registry_that_spire_certifies_serves_and_its_commands_say_who_issues(
    tmp_path: Path, founded_data: Path
):
    port = free_port()
    async with SpireAgent(tmp_path / "api.sock", DOMAIN, []) as agent:
        settings = by_spire(agent.socket)
        registry = RegistryProcess(
            tmp_path / "data", founded=founded_data, FEDERATION_PORT=str(port), **settings
        )
        try:
            await registry.start()
            doctor = await run("doctor", data_dir=registry.data_dir, FEDERATION_PORT=str(port), **settings)
            assert "federation: certificate of the Workload API failed" in doctor.output
            agent.entries = [OWN]
            agent.renew()
            root = agent.authorities[0]
            leaf = root.leaf(f"spiffe://{DOMAIN}/agent/x")
            (tmp_path / "leaf.pem").write_text(leaf.key_pem + leaf.pem)
            context = ssl.create_default_context(cadata=root.pem)
            context.check_hostname = False
            context.load_cert_chain(tmp_path / "leaf.pem")
            assert await shown_at(port, context) == agent.shown(OWN)
            doctor = await run("doctor", data_dir=registry.data_dir, FEDERATION_PORT=str(port), **settings)
            assert "Workload API failed" not in doctor.output
            assert f"SPIRE certifies, by {agent.socket}" in doctor.output
            bundle = await run("bundle", data_dir=registry.data_dir, **settings)
            assert bundle.output == root.pem
            for command in (
                ["service", "enrol", "reader", f"--out={tmp_path}"],
                ["keys", "rotate-authority"],
            ):
                refused = await run(*command, data_dir=registry.data_dir, **settings)
                assert (refused.code, len(refused.complaints)) == (1, 1)
                assert "SPIRE issues" in refused.complaint
            await agent.stop()
            doctor = await run("doctor", "--json", data_dir=registry.data_dir, **settings)
            (found,) = [one for one in json.loads(doctor.output)["findings"] if one["subject"] == "identity"]
            assert found["severity"] == "problem"
            assert (await registry.stop()).code == 0
        finally:
            await registry.kill()
            await end_postgres(registry.data_dir)


async def shown_at(port: int, context: ssl.SSLContext) -> x509.Certificate:
    """The certificate that the listener shows, once it takes connections."""
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            except (ConnectionError, ssl.SSLError):
                await asyncio.sleep(0.1)
                continue
            shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.close()
            return x509.load_der_x509_certificate(shown)
