"""Members of an organization who try to move its units past the rules of its treasury."""

from collections.abc import AsyncIterator

import pytest

from hansa.rooms.organizations.requests.delayed import carry_out_due
from tests.founded import open_copy
from tests.organizations import (
    Organization,
    acting_as,
    answer_invitation,
    code,
    found,
    id_of,
    token_mailed_to,
)
from tests.registry import DatabaseFarm, TestDeveloper, TestRegistry, at_once
from tests.treasuries import ONE_OWNER, act, end_delay, fund, liquid, pay, put_rules, ruled, team_with


@pytest.fixture(scope="module")
async def registry(database_farm: DatabaseFarm, tmp_path_factory) -> AsyncIterator[TestRegistry]:
    async with open_copy(database_farm, tmp_path_factory.mktemp("evaded")) as opened:
        yield opened


@pytest.fixture
async def guild(registry: TestRegistry) -> Organization:
    """An organization with units and one tier."""
    made = await found(registry)
    await fund(made)
    await ruled(made, ONE_OWNER)
    return made


@pytest.fixture
async def thief(guild: Organization) -> TestDeveloper:
    """An admin."""
    joining = await guild.registry.developer()
    token = await guild.invite(joining.email, "admin")
    assert (await answer_invitation(joining, "accept", token)).status_code == 200
    return joining


async def test_many_payments_just_below_a_tier_move_no_more_than_one_at_it(registry, guild, thief):
    payee = await registry.agent()
    answers = await at_once(*(pay(guild, payee, "1.9", thief) for _ in range(12)))
    states = [answer.json()["status"] for answer in answers]
    assert (states.count("EXECUTED"), states.count("PENDING")) == (5, 7)
    assert await payee.balance() == "109.5"


async def test_a_double_click_pays_once(registry, guild, thief):
    payee = await registry.agent()
    body = {"kind": "payment", "receiver_did": payee.did, "amount": "2"}
    headers = {**thief.headers, "Idempotency-Key": "pay-day"}
    address = f"/organizations/{guild.slug}/treasury/requests"
    await at_once(*(registry.post(address, json=body, headers=headers) for _ in range(5)))
    assert await payee.balance() == "102"
    number = (await pay(guild, payee, "20", thief)).json()["request_id"]
    answers = await at_once(*(guild.approve(guild.owner, number) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert await payee.balance() == "122"


async def test_an_old_request_is_not_carried_out_under_weaker_rules(registry, guild, thief):
    payee, second = await registry.agent(), await registry.developer()
    token = await guild.invite(second.email, "admin")
    await answer_invitation(second, "accept", token)
    number = (await pay(guild, payee, "20", thief)).json()["request_id"]
    changed = (await put_rules(guild, thief, tiers=[ONE_OWNER | {"over": "30"}])).json()
    assert (await guild.approve(guild.owner, changed["request_id"])).json()["status"] == "EXECUTED"
    # Below the tier of now, and still one of an owner as when it was made.
    assert code(await act(guild, thief, number, "retry")) == (409, "APPROVALS_MISSING")
    assert code(await guild.approve(second, number)) == (403, "ORG_ROLE_REQUIRED")
    assert await payee.balance() == "100"


async def test_an_old_request_meets_stricter_rules_as_well(registry, guild, thief):
    number = (await pay(guild, await registry.agent(), "20", thief)).json()["request_id"]
    await put_rules(guild, guild.owner, tiers=[ONE_OWNER], per_day_max="15")
    late = (await guild.approve(guild.owner, number)).json()
    assert (late["status"], await liquid(guild)) == ("PENDING", "90")


async def test_a_thief_who_removes_the_approvers_waits_a_day_in_public_and_is_stopped(registry, guild, thief):
    treasurer = await registry.developer()
    await answer_invitation(treasurer, "accept", await guild.invite(treasurer.email, "member"))
    await team_with(guild, "finance", treasurer)
    asked = (await put_rules(guild, thief, tiers=[ONE_OWNER | {"from": "finance"}])).json()
    assert (await guild.approve(guild.owner, asked["request_id"])).json()["status"] == "EXECUTED"
    removed = await guild.send(thief, "DELETE", f"/teams/finance/members/{await id_of(treasurer)}")
    assert removed.status_code == 200
    assert (await put_back(guild, thief, thief)).status_code == 202
    payee = await registry.agent()
    asked = (await pay(guild, payee, "50", thief)).json()
    assert (asked["status"], asked["executes_at"] is None) == ("PENDING", False)
    await carry_out_due(registry.runtime)
    assert await payee.balance() == "100"
    assert (await act(guild, guild.owner, asked["request_id"], "cancel")).json()["status"] == "CANCELLED"
    assert code(await guild.send(thief, "DELETE", "/teams/finance")) == (409, "TEAM_IN_RULES")


async def put_back(guild, by, member):
    return await guild.send(by, "PUT", f"/teams/finance/members/{await id_of(member)}")


async def test_an_initiator_who_was_removed_gets_nothing_after_the_delay(registry):
    guild = await found(registry)
    await fund(guild)
    await ruled(guild, ONE_OWNER | {"approvals": 5, "from": "admin"})
    thief = await registry.developer()
    asked = await guild.send(
        guild.owner, "POST", "/invitations", json={"email": thief.email, "role": "admin"}
    )
    await end_delay(registry, asked.json()["request_id"])
    await carry_out_due(registry.runtime)
    token = await token_mailed_to(registry, thief.email.lower())
    assert (await answer_invitation(thief, "accept", token)).status_code == 200
    payee = await registry.agent()
    number = (await pay(guild, payee, "50", thief)).json()["request_id"]
    assert (await guild.approve(guild.owner, number)).json()["executes_at"] is not None
    assert (await guild.remove(guild.owner, thief)).status_code == 200
    await end_delay(registry, number)
    await carry_out_due(registry.runtime)
    assert await payee.balance() == "100"


async def test_no_budget_is_made_or_widened_past_the_tiers(registry, guild, thief):
    team = await team_with(guild, "buyers", thief)
    body = {"name": "Own", "amount": "80", "period": "once", "team_id": team}
    asked = await guild.send(thief, "POST", "/treasury/budgets", json=body)
    assert (asked.status_code, asked.json()["kind"]) == (202, "budget")
    assert code(await guild.approve(thief, asked.json()["request_id"])) == (403, "ORG_ROLE_REQUIRED")
    assert (await guild.read(thief, "/treasury/budgets"))["items"] == []


async def test_an_agent_of_the_organization_is_no_path_past_the_tiers(registry, guild, thief):
    agent = await guild.agent(by=thief)
    # A payment to an own agent is one like any other.
    assert (await pay(guild, agent, "20", thief)).json()["status"] == "PENDING"
    body = {"name": "Own", "amount": "80", "period": "once", "agent_did": agent.did}
    assert (await guild.send(thief, "POST", "/treasury/budgets", json=body)).status_code == 202
    headers = {**thief.headers, **registry.elsewhere()}
    token = (await registry.post(f"/agents/{agent.did}/act-token", headers=headers)).json()["access_token"]
    drawn = await registry.post(
        "/organizations/treasury/draw", json={"amount": "1"}, headers=acting_as(agent, token).headers
    )
    assert code(drawn) == (404, "BUDGET_UNKNOWN")


async def test_the_budget_of_another_organization_pays_nothing(registry, guild, thief):
    other = await found(registry)
    team = await team_with(other, "buyers")
    body = {"name": "Own", "amount": "80", "period": "once", "team_id": team}
    made = await other.send(other.owner, "POST", "/treasury/budgets", json=body)
    budget_id = made.json()["budget_id"]
    refused = await pay(guild, await registry.agent(), "20", thief, budget_id=budget_id)
    assert code(refused) == (404, "BUDGET_UNKNOWN")
    path = f"/treasury/budgets/{budget_id}"
    assert code(await guild.send(thief, "PATCH", path, json={"amount": "1"})) == (404, "BUDGET_UNKNOWN")
    assert code(await guild.send(thief, "DELETE", path)) == (404, "BUDGET_UNKNOWN")


async def test_a_team_or_an_agent_of_another_organization_gets_no_budget(registry, guild, thief):
    other = await found(registry)
    team, agent = await team_with(other, "buyers"), await other.agent()
    own = await team_with(guild, "buyers", thief)
    made = {"name": "Own", "amount": "1", "period": "once"}
    for named in ({"team_id": team}, {"agent_did": agent.did}):
        refused = await guild.send(thief, "POST", "/treasury/budgets", json=made | named)
        assert refused.status_code == 404
    asked = (await guild.send(thief, "POST", "/treasury/budgets", json=made | {"team_id": own})).json()
    assert (await guild.approve(guild.owner, asked["request_id"])).json()["status"] == "EXECUTED"
    [budget] = (await guild.read(thief, "/treasury/budgets"))["items"]
    for named in ({"team_id": team}, {"agent_did": agent.did}):
        refused = await guild.send(thief, "PATCH", f"/treasury/budgets/{budget['budget_id']}", json=named)
        assert refused.status_code == 404


async def test_a_puppet_does_not_become_an_approver_by_one_person(registry, guild, thief):
    puppet = await registry.developer()
    await answer_invitation(puppet, "accept", await guild.invite(puppet.email, "member", by=thief))
    looser = await put_rules(guild, thief, tiers=[ONE_OWNER | {"from": "admin"}])
    assert looser.status_code == 202
    promoted = await guild.change(guild.owner, puppet, "owner")
    assert (promoted.status_code, promoted.json()["kind"]) == (202, "grant")


async def test_an_admin_does_not_approve_an_invitation_to_the_own_address(registry, guild, thief):
    joining = await registry.developer()
    assert (await answer_invitation(joining, "accept", await guild.invite(joining.email))).status_code == 200
    looser = await put_rules(guild, thief, tiers=[ONE_OWNER | {"from": "admin"}])
    assert (await guild.approve(guild.owner, looser.json()["request_id"])).json()["status"] == "EXECUTED"
    body = {"email": joining.email, "role": "admin"}
    number = (await guild.send(thief, "POST", "/invitations", json=body)).json()["request_id"]
    promoted = (await guild.change(guild.owner, joining, "admin")).json()
    assert (await guild.approve(thief, promoted["request_id"])).json()["status"] == "EXECUTED"
    # An approver by now, though not when the invitation was asked for.
    assert (await guild.read(joining, "/summary"))["waiting_for_me"] == []
    assert code(await guild.approve(joining, number)) == (403, "OWN_REQUEST")
    assert code(await act(guild, joining, number, "reject")) == (403, "OWN_REQUEST")
    assert (await guild.approve(guild.owner, number)).json()["status"] == "EXECUTED"


async def test_a_request_of_another_organization_is_unknown(registry, guild, thief):
    other = await found(registry)
    number = (await pay(guild, await registry.agent(), "20", thief)).json()["request_id"]
    assert code(await other.approve(other.owner, number)) == (404, "REQUEST_UNKNOWN")
    assert code(await act(other, other.owner, number, "cancel")) == (404, "REQUEST_UNKNOWN")


@pytest.mark.parametrize("amount", ["1e3", "-1", "0", "10000000001", "0.000000001", " 1", "1\u0661"])
async def test_amounts_that_are_none_are_refused(guild, thief, amount):
    assert (await pay(guild, "did:hansa:x", amount, thief)).status_code == 422
