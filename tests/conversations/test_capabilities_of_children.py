"""Capabilities of children: within those of the parent by budget, by permission and in time."""

import pytest

from tests.conversations.test_capabilities import ask, consume, draw, drawn, issue, pay, revoke
from tests.founded import open_copy
from tests.organizations import code
from tests.paying import Payments
from tests.spawning import child_of, ended

ACROSS = {"permissions": ["teg.transfer_xreg"]}


@pytest.fixture(scope="module")
async def registry(database_farm, tmp_path_factory):
    """One for all: every test speaks of agents of its own."""
    async with open_copy(database_farm, tmp_path_factory.mktemp("capabilities")) as opened:
        yield opened


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def parent(owner):
    """An agent with 100 units."""
    return await owner.agent(name="Parent")


@pytest.fixture
async def lender(owner, parent):
    """Another agent of the owner, that issues capabilities."""
    return await owner.agent(name="Lender")


@pytest.fixture
async def payee(registry):
    return await registry.agent(name="Payee")


async def give_roles(owner, agent, *roles):
    path = f"/api/v1/agents/{agent.did}/authz"
    answer = await owner.registry.http.put(path, json={"roles": list(roles)}, headers=owner.headers)
    assert answer.status_code == 200, answer.text


async def test_a_budget_that_a_parent_shares_is_spent_by_it_and_its_child_once(parent, lender, payee):
    shared = await issue(lender, parent, budget_total=10)
    child = await child_of(parent, funding="30")
    lent = await drawn(parent, shared, child, budget_total=8)
    assert code(await draw(parent, shared, child, budget_total=11)) == (403, "CAPABILITY_WIDENED")
    assert (await pay(child, payee, "6", lent)).status_code == 200
    assert (await pay(parent, payee, "3", shared)).status_code == 200
    # The child's own rest is 2, that of its parent 1.
    assert code(await pay(child, payee, "2", lent)) == (403, "CAPABILITY_BUDGET")
    assert (await pay(child, payee, "1", lent)).status_code == 200
    assert code(await pay(parent, payee, "0.1", shared)) == (403, "CAPABILITY_BUDGET")


async def test_a_grandchild_draws_from_the_same_budget(parent, lender, payee):
    shared = await issue(lender, parent, budget_total=5)
    child = await child_of(parent, funding="30")
    grandchild = await child_of(child, funding="10")
    lent = await drawn(parent, shared, child)
    last = await drawn(child, lent, grandchild)
    assert (await pay(grandchild, payee, "4", last)).status_code == 200
    assert code(await pay(child, payee, "2", lent)) == (403, "CAPABILITY_BUDGET")


async def test_when_that_of_the_parent_ends_that_of_the_child_ends(registry, parent, lender, payee):
    child = await child_of(parent, funding="30")
    over = "UPDATE agents_capability SET expires_at = now() WHERE id = $1::text::uuid"
    for is_revoked in (True, False):
        shared = await issue(lender, parent)
        lent = await drawn(parent, shared, child)
        assert (await pay(child, payee, "1", lent)).status_code == 200
        if is_revoked:
            assert (await revoke(lender, shared)).status_code == 200
        else:
            ended_id = shared["id"]
            await registry.database.transaction(lambda tx, one=ended_id: tx.execute(over, one))
        assert code(await pay(child, payee, "1", lent)) == (403, "CAPABILITY_ENDED")


async def test_a_capability_never_lives_longer_than_that_of_the_parent(parent, lender):
    shared = await issue(lender, parent, ttl_seconds=600)
    child = await child_of(parent)
    lent = await drawn(parent, shared, child, ttl_seconds=3600)
    assert lent["expires_at"] <= shared["expires_at"]


async def test_a_child_is_lent_no_permission_that_its_parent_lacks(parent, lender, owner, payee):
    await give_roles(owner, parent, "service-provider")
    child = await child_of(parent, owner, funding="30")
    past_the_parent = await issue(lender, child)
    assert code(await pay(child, payee, "1", past_the_parent)) == (403, "PERMISSION_MISSING")
    # Lent to the parent and lent on, the permission is within that of the parent.
    shared = await issue(lender, parent)
    assert (await pay(parent, payee, "1", shared)).status_code == 200
    lent = await drawn(parent, shared, child)
    assert (await pay(child, payee, "1", lent)).status_code == 200
    assert code(await child.transfer(payee, "1")) == (403, "PERMISSION_MISSING")


async def test_a_permission_is_lent_down_generation_by_generation(parent, lender, owner, payee):
    await give_roles(owner, parent, "service-provider")
    child = await child_of(parent, owner, funding="30")
    grandchild = await child_of(child, owner, funding="10")
    shared = await issue(lender, parent)
    # The child in between drew no link and has no such role.
    skipped = await drawn(parent, shared, grandchild)
    assert code(await pay(grandchild, payee, "1", skipped)) == (403, "PERMISSION_MISSING")
    lent = await drawn(child, await drawn(parent, shared, child), grandchild)
    assert (await pay(grandchild, payee, "1", lent)).status_code == 200


async def test_a_child_that_loses_a_role_with_its_parent_gets_it_by_no_loan(parent, lender, owner, payee):
    child = await child_of(parent, funding="30")
    lent = await issue(lender, child)
    assert (await pay(child, payee, "1", lent)).status_code == 200
    await give_roles(owner, parent, "service-provider")
    assert code(await pay(child, payee, "1", lent)) == (403, "PERMISSION_MISSING")


async def test_a_child_that_is_ending_lends_draws_and_consumes_nothing(
    registry, parent, lender, owner, payee
):
    child = await child_of(parent, funding="30")
    shared = await issue(lender, child, budget_total=10)
    lent_on = await drawn(child, shared, parent)
    assert (await consume(parent, lent_on, amount="1")).status_code == 200
    pays = Payments(registry, child, payee)
    token = (await pays.authorized("2", capture_by="payee"))["token"]
    await pays.verify(token, target_agent_did=payee.did, use_id="use-1")
    assert (await ended(child, parent))["state"] == "ending"
    assert code(await consume(parent, lent_on, amount="1")) == (403, "CAPABILITY_DELEGATOR")
    assert code(await consume(child, shared, amount="1")) == (409, "CHILD_ENDING")
    assert code(await draw(child, shared, parent)) == (409, "CHILD_ENDING")
    assert (await ask(child, caveats=ACROSS)).status_code == 403
    assert code(await pay(child, payee, "1", shared)) == (403, "SPEND_PAYEE_NOT_ALLOWED")
