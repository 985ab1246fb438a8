"""Well-formed requests about peers and invitations: another registry answers them where that is needed."""

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from hansa.rooms import federation
from hansa.rooms.federation import NewPeer
from hansa_verify import decoded, read_json
from tests.other_registry import OtherRegistry, let_reach
from tests.registry import TestRegistry

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage

REDEEM_AT = "/api/v1/federation/invitations/redeem"
BEFORE: dict[str, tuple[str, dict[str, str]]] = {
    "resume": ("pause", {}),
    "release": ("quarantine", {"reason": "For a test."}),
}
FORGET = "DELETE FROM federation_peer WHERE trust_domain = 'other.example.com'"


async def new_other(registry: TestRegistry) -> OtherRegistry:
    """A registry that can be read and is no peer."""
    other = OtherRegistry()
    other.answers[REDEEM_AT] = (
        201,
        json.dumps({"name": "registry", "trust_domain": "-", "status": "inactive"}),
    )
    await registry.database.transaction(lambda tx: tx.execute(FORGET))
    let_reach(registry.runtime, other)
    return other


async def new_peer(registry: TestRegistry) -> str:
    """The trust domain of an approved peer that can be read."""
    other = await new_other(registry)
    new = NewPeer(other.public_url, other.bundle, "approved", registry_name=other.name)
    await registry.database.transaction(lambda tx: federation.add_peer(tx, new))
    return other.trust_domain


_SETTLEMENT = """
INSERT INTO commerce_settlement (direction, peer, frame, dispute_id, defendant_did, complainant_did, amount, currency, status,
  expires_at, rate_own, rate_foreign, message)
SELECT 'incoming', 'spiffe://other.example.com/registry/registry', 'other.example.com',
  1 + (SELECT count(*) FROM commerce_settlement), $1, 'did:hansa:other.example.com:someone', 100, 'AVT', 'PENDING_SLASH',
  now() + interval '1 day', 1, 1, 'e30.e30.c2ln'
RETURNING settlement_id
"""


_UNCOLLECTED = """
UPDATE commerce_settlement SET direction = 'outgoing', status = 'SETTLED', is_closed = true, slashed_amount = amount,
  decided_at = now(), uncollected_since = now()
WHERE settlement_id = $1
"""


def settlement_that_can(act: str) -> Callable[["Stage"], Awaitable[str]]:
    """The rest of the path of an act on a new settlement that waits for a decision, or whose units could not be collected."""

    async def make(stage: "Stage") -> str:
        act_on = stage.registry.database.transaction
        settlement_id = await act_on(lambda tx: tx.fetchval(_SETTLEMENT, stage.spare.did))
        if act == "write-off":
            await act_on(lambda tx: tx.execute(_UNCOLLECTED, settlement_id))
        return f"{settlement_id}/{act}".removesuffix("/")

    return make


async def peer_to_configure(stage: "Stage") -> str:
    """The name of a new peer."""
    return await new_peer(stage.registry)


def peer_that_can(act: str) -> Callable[["Stage"], Awaitable[str]]:
    """The rest of the path of an act on a new peer."""

    async def make(stage: "Stage") -> str:
        trust_domain = await new_peer(stage.registry)
        if act in BEFORE:
            earlier, body = BEFORE[act]
            changed = await stage.registry.post(
                f"/admin/federation/peers/{trust_domain}/{earlier}",
                json=body,
                headers=stage.administrator.headers,
            )
            assert changed.status_code == 200, changed.text
        return f"{trust_domain}/{act}"

    return make


async def a_peer(stage: "Stage") -> str:
    """The rest of the path of a new peer."""
    return await new_peer(stage.registry)


async def number_of_a_peer(stage: "Stage") -> str:
    """The number of a new peer."""
    trust_domain = await new_peer(stage.registry)
    peer = await stage.registry.database.read(lambda tx: federation.peer_by_name(tx, trust_domain))
    return str(peer.id)


async def open_invitation(stage: "Stage") -> str:
    """The id of a new invitation of this registry."""
    made = await stage.registry.post(
        "/admin/federation/invitations", json={}, headers=stage.administrator.headers
    )
    assert made.status_code == 201, made.text
    return str(read_json(decoded(made.json()["invitation"].split(".")[1]))["jti"])


async def added(stage: "Stage") -> dict[str, Any]:
    """A registry to add by hand."""
    other = await new_other(stage.registry)
    return {"registry_url": other.public_url, "bundle": other.bundle.pem}


async def accepted(stage: "Stage") -> dict[str, Any]:
    """An invitation to accept."""
    return {"invitation": (await new_other(stage.registry)).signed("invitation")}


async def redeemed(stage: "Stage") -> dict[str, Any]:
    """The acceptance of a new invitation of this registry."""
    jti = await open_invitation(stage)
    other = await new_other(stage.registry)
    return {"acceptance": other.signed("acceptance", jti)}
