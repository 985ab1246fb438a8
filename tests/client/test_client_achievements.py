"""Achievements and flares by the client."""

import json
from decimal import Decimal

import pytest

from hansa_client import ApiKey
from hansa_client.errors import ApprovalNeeded, Conflict, Invalid, NotFound
from hansa_verify import read_keys, verify_achievement
from tests.achieving import count
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.test_client_contracts import credentials_of
from tests.registry import TestRegistry

NOBODY = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"
EARNED = """
INSERT INTO achievements_earned (agent_did, code, earned_at, event_seq) VALUES ($1, 'first_bond', now(), 1)
"""


async def test_a_flare_is_bought_once_and_shown(connect: Open, registry: TestRegistry, faults: Faults):
    agent = await registry.agent()
    own, anyone = connect(agent=credentials_of(agent)), connect()
    prices = {one.variant: one.price for one in await anyone.achievements.flares()}
    assert prices["ring"] == Decimal(10)
    path = "/api/v1/achievements/flares/purchase"
    faults.next(path, "answer lost")
    bought = await own.achievements.buy_flare("ring", 10)
    assert (bought.slot, bought.price, bought.balance_after) == (
        "encirclement",
        Decimal(10),
        Decimal("89.95"),
    )
    first, again = faults.keys(path)
    assert first == again
    with pytest.raises(Conflict):
        await own.achievements.buy_flare("ring", 10)
    with pytest.raises(Invalid):
        await own.achievements.select(overlay="stars")
    shown = await own.achievements.select(encirclement="ring")
    assert (shown.encirclement, shown.owned) == ("ring", ["ring"])
    assert await own.achievements.selection() == shown


async def test_a_purchase_that_its_owner_has_to_approve_names_the_approval(
    connect: Open, registry: TestRegistry
):
    owner = await registry.developer()
    agent = await owner.agent()
    body = {"spend_policy": {"approval_over": "1"}}
    await registry.http.put(f"/api/v1/agents/{agent.did}/authz", json=body, headers=owner.headers)
    own = connect(agent=credentials_of(agent))
    with pytest.raises(ApprovalNeeded) as asked:
        await own.achievements.buy_flare("laurel", "5")
    path = f"/agents/{agent.did}/spend-approvals/{asked.value.pending.approval_id}/approve"
    assert (await registry.post(path, headers=owner.headers)).status_code == 200
    bought = await own.achievements.buy_flare("laurel", "5", approval_id=asked.value.pending.approval_id)
    assert bought.price == Decimal(5)


async def test_achievements_are_public_with_statements_until_their_owner_hides_them(
    connect: Open, registry: TestRegistry
):
    owner = await registry.developer()
    agent, anyone = await owner.agent(), connect()
    await count(registry)
    await registry.database.transaction(lambda tx: tx.execute(EARNED, agent.did))
    definitions = await anyone.achievements.definitions()
    assert len([one for one in definitions if one.mark]) == 7
    found = await anyone.achievements.of_agent(agent.did)
    (earned,) = found.earned
    keys = read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())
    assert (earned.code, earned.dashed) == ("first_bond", False)
    assert verify_achievement(json.dumps(earned.statement), keys).is_valid
    assert "mark_proven" in [one.code for one in found.next]
    own = connect(developer=ApiKey((await owner.api_key("agents:write")).token))
    assert not (await own.achievements.show(agent.did, shown=False)).shown
    assert not (await anyone.achievements.of_agent(agent.did)).earned
    with pytest.raises(NotFound):
        await anyone.achievements.of_agent(NOBODY)
