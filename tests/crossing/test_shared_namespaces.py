"""Several peers share a namespace: a frame and an operator of it, as a registry of another trust domain meets them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.keys.trust_bundle import bundle_of
from hansa.rooms import catalogue, federation, transfers
from hansa.rooms.federation import NewPeer, VerifiedCard
from tests.registry import StartRegistry, TestRegistry, card_of

FRAME = "frame.example"
NORTH = f"{FRAME}/registry/north"
FEE = "fees.cross_registry.base_rate_percent"


def card_of_peer(name: str, ledger_id: str) -> VerifiedCard:
    now = datetime.now(UTC)
    text = {"fees": {"cross_registry": {"base_rate_percent": 0.5}}, "signature": {"signed_canonical": [FEE]}}
    return VerifiedCard(
        spiffe_id=f"spiffe://{FRAME}/registry/{name}",
        ledger_id=ledger_id,
        registry_name=name,
        trust_domain=FRAME,
        did_namespace=FRAME,
        settlement_currency="AVT",
        federation_base_url=f"https://{name}.{FRAME}",
        text=json.dumps(text),
        etag="0" * 32,
        kid="k",
        signed_at=now,
        expires_at=now + timedelta(days=30),
        keys={"keys": []},
        verdicts=[],
    )


async def add_peer(registry: TestRegistry, authority: IdentityAuthority, card: VerifiedCard) -> None:
    bundle = bundle_of(FRAME, authority.bundle_pem, 1)
    new = NewPeer(f"https://{card.registry_name}.{FRAME}", bundle, "approved", card=card)
    await registry.database.transaction(lambda tx: federation.add_peer(tx, new))


@pytest.fixture
async def registry(start_registry: StartRegistry, tmp_path: Path) -> TestRegistry:
    registry = await start_registry()
    authority = IdentityAuthority(Keyring(tmp_path), FRAME)
    for card in (card_of_peer("mainframe", FRAME), card_of_peer("north", NORTH)):
        await add_peer(registry, authority, card)
    return registry


async def registry_of(registry: TestRegistry, did: str) -> str | None:
    peer = await registry.database.query(lambda tx: transfers.peer_of(tx, did, registry.settings))
    return None if peer is None else peer.ledger_id


async def mirrored(registry: TestRegistry, ledger_id: str) -> str:
    """An agent whose card is mirrored from this registry; its DID."""
    did = f"did:hansa:{FRAME}:{uuid4()}"
    item = {"did": did, "version": 1, "card_data": card_of("Somebody")}
    await registry.database.transaction(
        lambda tx: catalogue.mirror_cards(
            tx, source_registry=ledger_id, trust_domain=FRAME, settlement_currency="AVT", items=[item]
        )
    )
    return did


async def test_the_mirrored_card_names_the_registry_and_without_one_the_nearest_peer_does(
    registry: TestRegistry,
):
    for ledger_id in (FRAME, NORTH):
        assert await registry_of(registry, await mirrored(registry, ledger_id)) == ledger_id
    assert await registry_of(registry, f"did:hansa:{FRAME}:{uuid4()}") == FRAME
    assert await registry_of(registry, f"did:hansa:nowhere.example:{uuid4()}") is None


async def test_a_did_of_the_own_namespace_is_foreign_only_where_another_registry_claimed_it(
    registry: TestRegistry,
):
    did, settings = (await registry.agent()).did, registry.settings
    assert await registry_of(registry, did) is None
    assert not await registry.database.query(lambda tx: transfers.is_foreign(tx, did, settings))
