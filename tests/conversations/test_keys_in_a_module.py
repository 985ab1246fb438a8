"""Signing keys in a PKCS#11 module: the registry signs with keys that it cannot read."""

from pathlib import Path

import httpx2
import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.foundation.plumbing.keys import sealed_keys
from hansa.foundation.plumbing.keys.key_files import BadKey
from hansa.foundation.plumbing.keys.sealed_keys import KeyUnusable, key_at
from hansa.foundation.values.jwk import jwk_of
from hansa.rooms import auditor, federation
from hansa_verify import (
    WITNESS_KEY,
    read_auditor_keys,
    read_certificate,
    read_keys,
    read_record,
    read_verifier_key,
    verify_card,
    verify_registry_card,
)
from hansa_verify.log import read_checkpoint
from tests.registry import StartRegistry, TestRegistry
from tests.softhsm import PIN, Token

DOMAIN = "network.example.org"
MAINFRAME = {"trust_domain": DOMAIN, "sovereign_mainframes": [DOMAIN], "is_central_registry": True}
KEYS = ("registry", "auditor", "licensing", "witness")


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Token:
    token = Token.make(tmp_path_factory.mktemp("module"), "hansa")
    token.make_keys(*KEYS)
    return token


@pytest.fixture(autouse=True)
def reachable(token: Token, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in token.settings.items():
        monkeypatch.setenv(name, value)


async def rotate_all(registry: TestRegistry, token: Token) -> dict[str, bytes]:
    """Rotate each signing key into the module; their public halves."""
    settings, seal = registry.settings, registry.runtime.seal
    keys = {label: key_at(token.address(label)) for label in KEYS}
    frame = settings.trust_domain
    await registry.database.transaction(
        lambda tx: federation.rotate_key(tx, settings, seal, keys["registry"])
    )
    await registry.database.transaction(
        lambda tx: auditor.rotate_auditor_key(tx, frame, seal, keys["auditor"])
    )
    await registry.database.transaction(
        lambda tx: federation.rotate_licensing_key(tx, None, settings, seal, keys["licensing"], reason=None)
    )
    await registry.database.transaction(
        lambda tx: auditor.rotate_witness_key(tx, frame, seal, keys["witness"], stolen=False)
    )
    return {label: key.public_key().public_bytes_raw() for label, key in keys.items()}


async def export(registry: TestRegistry) -> httpx2.Response:
    """The signed card of a new agent."""
    agent = await registry.agent()
    return await registry.get(f"/agents/{agent.did}/card-export", headers=agent.headers)


async def test_each_signing_key_of_a_registry_can_be_one_that_never_leaves_a_module(
    start_registry: StartRegistry, token: Token
):
    registry = await start_registry(**MAINFRAME)
    public = await rotate_all(registry, token)
    keys = read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())
    assert keys[0].public_key == public["registry"]
    card = (await registry.http.get("/.well-known/registry-card.json")).text
    verdict = verify_registry_card(card, keys)
    assert (verdict.code, verdict.kid) == ("verified", keys[0].kid)
    assert verify_card((await export(registry)).text, keys).kid == keys[0].kid

    await auditor.run_cycle(registry.runtime)
    listed = (await registry.http.get("/.well-known/auditor-jwks.json")).json()
    signers = [key for key in read_auditor_keys(listed) if key.public_key == public["auditor"]]
    newest = (await registry.http.get("/api/auditor/attestations?limit=1")).json()["attestations"][0]
    assert read_record(newest, signers)["kind"] == "audit"
    checkpoint = (await registry.http.get("/log/checkpoint")).text
    assert read_checkpoint(checkpoint, [public["auditor"]]).origin == f"{DOMAIN}/log"
    witness = (await registry.http.get("/witness")).json()["key"]
    assert read_verifier_key(witness, WITNESS_KEY).public_key == public["witness"]

    admin = await registry.administrator("admin_federation")
    path = "/admin/federation/licences/genesis"
    issued = await registry.post(path, json={}, headers=admin.headers)
    certificate = read_certificate(issued.json()["certificate"])
    assert certificate.payload["key"] == jwk_of(public["licensing"])
    assert certificate.signature.is_by(public["licensing"])
    for key in (token.address(label) for label in KEYS[:2]):
        brought = key_at(key)
        with pytest.raises(BadKey, match="never leaves"):
            brought.private_bytes_raw()
    with pytest.raises(KeyUnusable):
        await rotate_all(registry, token)


async def test_while_the_module_is_away_what_needs_a_signature_is_503_and_all_else_is_served(
    start_registry: StartRegistry, token: Token
):
    registry = await start_registry()
    await rotate_all(registry, token)
    assert (await export(registry)).status_code == 200
    aside = token.directory / "aside"
    token.store.rename(aside)
    refused = await export(registry)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SIGNING_KEY_MODULE_UNAVAILABLE")
    assert (await registry.http.get("/.well-known/registry-card.json")).status_code == 200
    aside.rename(token.store)
    assert (await export(registry)).status_code == 200


@pytest.mark.parametrize(
    ("address", "settings", "said"),
    [
        ("pkcs11:token=hansa;object=absent", {}, "has no Ed25519 key at"),
        ("pkcs11:object=registry", {}, "pkcs11:token=LABEL;object=LABEL"),
        ("pkcs11:token=hansa;object=registry?pin-value=1", {}, "pkcs11:token=LABEL;object=LABEL"),
        ("pkcs11:token=other;object=registry", {}, "cannot be reached"),
        ("pkcs11:token=hansa;object=registry", {"HANSA_KEY_MODULE": ""}, "HANSA_KEY_MODULE is required"),
        ("pkcs11:token=hansa;object=registry", {"HANSA_KEY_MODULE": "/nowhere.so"}, "cannot be loaded"),
        ("pkcs11:token=hansa;object=registry", {"HANSA_KEY_MODULE_PIN": "wrong"}, "cannot be reached"),
        ("pkcs11:token=hansa;object=registry", {"HANSA_KEY_MODULE_PIN_FILE": "/nowhere"}, "is not readable"),
        ("/nowhere.pem", {}, "cannot be read"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_with_one_line(
    address: str, settings: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sealed_keys, "_sessions", {})
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    ended = CliRunner().invoke(app, ["keys", "rotate", f"--key={address}", f"--data-dir={tmp_path}"])
    assert ended.exit_code != 0
    (line,) = ended.stderr.splitlines()
    assert said in line
    assert PIN not in line
    assert list(tmp_path.iterdir()) == []
