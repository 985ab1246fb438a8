"""The commands of the guide to keys: rotation, theft and loss, at a registry that serves and at one that rests."""

import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.key_files import private_pem
from hansa_verify import WITNESS_KEY, read_verifier_key
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, run

PASSWORD = "Quiet-Harbour-41-Lantern"


@pytest.fixture(scope="module")
async def registry(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    registry = RegistryProcess(tmp_path_factory.mktemp("keys") / "data", founded=founded_data)
    await registry.start()
    yield registry
    await registry.kill()
    await end_postgres(registry.data_dir)


async def rotated(registry: RegistryProcess, *arguments: str) -> dict[str, Any]:
    ended = await run("keys", *arguments, "--json", data_dir=registry.data_dir)
    assert (ended.code, ended.complaint) == (0, "")
    shown: dict[str, Any] = json.loads(ended.output)
    return shown


async def read(registry: RegistryProcess, path: str) -> Any:
    async with httpx2.AsyncClient(base_url=registry.url, timeout=60) as client:
        return (await client.get(path)).json()


async def log_in(registry: RegistryProcess) -> str:
    """The token of the administrator."""
    async with httpx2.AsyncClient(base_url=registry.url, timeout=60) as client:
        form = {"username": "ada@example.org", "password": PASSWORD}
        answer = await client.post("/api/v1/auth/login", data=form)
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["access_token"]
        return token


async def status_with(registry: RegistryProcess, token: str) -> int:
    async with httpx2.AsyncClient(base_url=registry.url, timeout=60) as client:
        answer = await client.get("/api/v1/auth/profile", headers={"Authorization": f"Bearer {token}"})
        return answer.status_code


async def test_each_signing_key_is_rotated_while_the_registry_serves(registry: RegistryProcess):
    auditor = await rotated(registry, "rotate-auditor", "--reason=yearly")
    published = (await read(registry, "/.well-known/auditor-jwks.json"))["keys"]
    assert [key["kid"] for key in published if "retired_at_id" not in key] == [auditor["kid"]]
    pem = registry.data_dir.with_name("brought.pem")
    pem.write_bytes(private_pem(Ed25519PrivateKey.generate()))
    for more in ([f"--key={pem}"], ["--stolen"]):
        witness = await rotated(registry, "rotate-witness", *more)
        shown = await read(registry, "/witness")
        assert read_verifier_key(shown["key"], WITNESS_KEY).text == witness["key"]
        assert shown["ml_dsa_44_key"] == witness["ml_dsa_44_key"]
    licensing = await rotated(registry, "rotate-licensing")
    assert licensing["waits"] is False
    key = await run("licence", "key", "--json", data_dir=registry.data_dir)
    assert json.loads(key.output)["x"] == licensing["x"]


async def status_of_internal_call(registry: RegistryProcess, key: str) -> int:
    async with httpx2.AsyncClient(base_url=registry.url, timeout=60) as client:
        return (await client.get("/api/v1/events/", headers={"X-Internal-Key": key})).status_code


async def test_after_the_theft_of_a_token_key_or_the_internal_key_a_new_one_ends_what_the_former_opened(
    registry: RegistryProcess,
):
    created = await run(
        *("admin", "create", "--name=ada", "--email=ada@example.org"),
        data_dir=registry.data_dir,
        HANSA_ADMIN_PASSWORD=PASSWORD,
    )
    assert created.code == 0, created.complaint
    token = await log_in(registry)
    assert await status_with(registry, token) == 200
    before = (await read(registry, "/.well-known/dev-jwks.json"))["keys"]
    internal = registry.data_dir / "keys" / "internal-api-key"
    former, new = internal.read_text(), secrets.token_hex(32)
    assert await status_of_internal_call(registry, former) == 200
    await registry.stop()
    internal.write_text(new)
    _remove(registry.data_dir, "developer-token.pem")
    await refused_start(registry)
    unconfirmed = await run("keys", "replace", data_dir=registry.data_dir)
    assert (unconfirmed.code, "--lost is required" in unconfirmed.complaint) == (2, True)
    replaced = await rotated(registry, "replace", "--lost")
    assert replaced["changed"] == ["key developer-token"]
    await registry.start()
    assert await status_with(registry, token) == 401
    assert await status_with(registry, await log_in(registry)) == 200
    assert [await status_of_internal_call(registry, key) for key in (former, new)] == [401, 200]
    after = (await read(registry, "/.well-known/dev-jwks.json"))["keys"]
    assert [old["kid"] == new["kid"] for old, new in zip(before, after, strict=True)] == [False, True, True]


async def test_after_the_loss_of_the_sealing_and_the_internal_key_every_signing_key_begins_anew(
    registry: RegistryProcess,
):
    before = await read(registry, "/.well-known/registry-jwks.json")
    witness = (await read(registry, "/witness"))["key"]
    await registry.stop()
    _remove(registry.data_dir, "sealing-key")
    await refused_start(registry)
    _remove(registry.data_dir, "internal-api-key")
    replaced = await rotated(registry, "replace", "--lost")
    assert replaced["changed"] == ["key sealing-key"]
    await registry.start()
    after = await read(registry, "/.well-known/registry-jwks.json")
    (former,) = after["keys"][1:]
    assert former.pop("retired_at")
    assert [former] == before["keys"]
    card = await read(registry, "/.well-known/registry-card.json")
    assert card["signature"]["kid"] == after["keys"][0]["kid"]
    assert (await read(registry, "/witness"))["key"] != witness
    # A lost internal key is made anew at the start.
    made = (registry.data_dir / "keys" / "internal-api-key").read_text()
    assert await status_of_internal_call(registry, made) == 200


def _remove(data_dir: Path, file: str) -> None:
    (data_dir / "keys" / file).unlink()


async def refused_start(registry: RegistryProcess) -> None:
    """Without the key the registry does not start, and names the file to copy."""
    ended = await run("serve", f"--data-dir={registry.data_dir}", "--port=0", data_dir=registry.data_dir)
    assert ended.code == 1
    assert "hansa keys export" in ended.complaint
