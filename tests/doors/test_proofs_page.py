"""Page of proofs: registry card, licence and chain, log and witnesses, as their routes answer."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.rooms import auditor
from hansa_verify import WITNESS_KEY, VerifierKey
from tests.registry import StartRegistry

POINT = Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
WITNESS = VerifierKey("witness.example/w", POINT, WITNESS_KEY)


@pytest.fixture
async def witnessed(start_registry: StartRegistry):
    return await start_registry(log_witnesses=[f"{WITNESS.text}@https://witness.example"])


async def test_the_page_shows_the_verified_card_the_log_and_its_witnesses(witnessed):
    empty = (await witnessed.http.get("/proofs.json")).json()
    assert (empty["licence"], empty["log"]) == (None, None)
    await auditor.run_cycle(witnessed.runtime)
    shown = (await witnessed.http.get("/proofs.json")).json()
    assert shown["card"]["code"] == "verified"
    assert all(check["holds"] for check in shown["card"]["checks"])
    note = (await witnessed.http.get("/log/checkpoint")).text.split("\n")
    assert [shown["log"]["origin"], str(shown["log"]["size"])] == note[:2]
    assert shown["witnesses"] == (await witnessed.http.get("/log/witnesses")).json()
    answer = await witnessed.http.get("/proofs", headers={"Accept": "text/html"})
    text = answer.text
    for part in (
        "Verified",
        shown["log"]["root"],
        WITNESS.name,
        "Not asked yet",
        "holds no licence certificate",
    ):
        assert part in text, part


async def test_a_genesis_registry_shows_its_licence_with_its_chain(start_registry: StartRegistry):
    registry = await start_registry(
        trust_domain="genesis.example", is_central_registry=True, sovereign_mainframes="genesis.example"
    )
    admin = await registry.administrator("admin_federation")
    answer = await registry.post("/admin/federation/licences/genesis", json={}, headers=admin.headers)
    assert answer.status_code < 300, answer.text
    licence = (await registry.http.get("/proofs.json")).json()["licence"]
    own = (await registry.http.get("/.well-known/federation-licence.json")).json()
    assert licence["state"] == own["state"]
    assert [one["hash"] for one in licence["chain"]] == [own["hash"]]
    assert licence["chain"][0]["type"] == "genesis"
    assert own["hash"] in (await registry.http.get("/proofs", headers={"Accept": "text/html"})).text
