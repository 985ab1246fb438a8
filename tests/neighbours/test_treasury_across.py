"""Payments from a treasury to an agent of another registry: resumed until they are decided, given back where they are aborted."""

from uuid import UUID

import pytest

from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import parse_amount
from hansa.rooms import commerce
from hansa.rooms.treasury.payments.crossings import FOLLOW_CROSSINGS
from hansa.rooms.treasury.work_orders.bidding import bid
from hansa.rooms.treasury.work_orders.records import NewBid
from tests.neighbours.crossing_scene import deadlines_pass, run, settle
from tests.neighbours.two_registries import Neighbours
from tests.organizations import code, found
from tests.running_jobs import run_due
from tests.treasuries import ONE_OWNER, act, fund, liquid, pay, ruled, team_with
from tests.work_orders import Offering


@pytest.fixture
async def guild(pair: Neighbours):
    return await found(pair.a.registry)


async def followed(one):
    """Run the job of the treasury's crossings once."""
    await run(one, "UPDATE plumbing_job SET due_at = now() WHERE kind = $1", FOLLOW_CROSSINGS.name)
    return await run_due(one.registry.runtime, FOLLOW_CROSSINGS)


async def test_a_payment_across_is_executing_until_the_other_registry_has_decided(pair: Neighbours, guild):
    await fund(guild)
    bob = await pair.b.registry.agent()
    asked = await pay(guild, bob, "10", message="Invoice 17")
    assert asked.status_code == 201, asked.text
    request = asked.json()
    assert (request["status"], request["result"]["transfer_id"]) == ("EXECUTING", request["request_id"])
    number = request["request_id"]
    assert (await liquid(guild), (await guild.read(guild.owner, "/treasury"))["spent_today"]) == ("80", "10")
    for name in ("cancel", "reject", "retry"):
        assert code(await act(guild, guild.owner, number, name)) == (409, "REQUEST_ENDED")
    ended = await guild.send(guild.owner, "DELETE")
    assert "request" in {one["kind"] for one in ended.json()["blockers"]}
    await followed(pair.a)
    await settle(pair.a, pair.b)
    await followed(pair.a)
    done = await guild.read(guild.owner, f"/treasury/requests/{number}")
    assert (done["status"], done["result"]) == ("EXECUTED", request["result"])
    assert await bob.balance() == "109.95"
    assert (await pair.a.registry.supply())["status"] == "OK"


async def test_an_aborted_payment_has_failed_and_does_not_count(pair: Neighbours, guild):
    await fund(guild)
    await ruled(guild, ONE_OWNER, per_day_max="20")
    bob, admin = await pair.b.registry.agent(), await guild.member("admin")
    number = (await pay(guild, bob, "20", admin)).json()["request_id"]
    assert (await guild.approve(guild.owner, number)).json()["status"] == "EXECUTING"
    assert code(await pay(guild, bob, "1", admin)) == (403, "TREASURY_OVER_PER_DAY_MAX")
    await deadlines_pass(pair.a)
    await settle(pair.a, pair.b)
    await followed(pair.a)
    failed = await guild.read(guild.owner, f"/treasury/requests/{number}")
    assert failed["status"] == "FAILED"
    assert "aborted" in failed["reason"]
    treasury = await guild.read(guild.owner, "/treasury")
    assert (treasury["balances"]["liquid"], treasury["spent_today"]) == ("90", "0")
    assert code(await act(guild, admin, number, "retry")) == (409, "REQUEST_ENDED")
    assert (await pay(guild, bob, "1", admin)).json()["status"] == "EXECUTING"


@pytest.mark.parametrize("period", ["month", "once"])
async def test_an_aborted_payment_of_an_earlier_month_gives_a_budget_nothing_back(
    pair: Neighbours, guild, period
):
    await fund(guild)
    bob, payee = await pair.b.registry.agent(), await pair.a.registry.agent()
    team_id = await team_with(guild, "finance", guild.owner)
    members = {"name": "Calls", "amount": "20", "period": "month", "team_id": team_id}
    made = (await guild.send(guild.owner, "POST", "/treasury/budgets", json=members)).json()
    number = (await pay(guild, bob, "10", budget_id=made["budget_id"])).json()["request_id"]
    await run(pair.a, "UPDATE treasury_budget SET period_start = period_start - interval '1 month'")
    path = f"/treasury/budgets/{made['budget_id']}"
    assert (await guild.send(guild.owner, "PATCH", path, json={"period": period})).status_code == 200
    assert (await pay(guild, payee, "15", budget_id=made["budget_id"])).json()["status"] == "EXECUTED"
    await deadlines_pass(pair.a)
    await settle(pair.a, pair.b)
    await followed(pair.a)
    assert (await guild.read(guild.owner, f"/treasury/requests/{number}"))["status"] == "FAILED"
    (budget,) = (await guild.read(guild.owner, "/treasury"))["budgets"]
    assert (budget["period"], budget["spent"]) == (period, "15")


async def test_an_aborted_payment_goes_back_to_a_budget_whose_period_was_changed_meanwhile(
    pair: Neighbours, guild
):
    await fund(guild)
    bob = await pair.b.registry.agent()
    team_id = await team_with(guild, "finance", guild.owner)
    members = {"name": "Calls", "amount": "20", "period": "once", "team_id": team_id}
    made = (await guild.send(guild.owner, "POST", "/treasury/budgets", json=members)).json()
    await run(pair.a, "UPDATE treasury_budget SET period_start = period_start - interval '1 month'")
    await pay(guild, bob, "10", budget_id=made["budget_id"])
    path = f"/treasury/budgets/{made['budget_id']}"
    changed = await guild.send(guild.owner, "PATCH", path, json={"period": "month"})
    assert changed.json()["spent"] == "10"
    await deadlines_pass(pair.a)
    await settle(pair.a, pair.b)
    await followed(pair.a)
    (budget,) = (await guild.read(guild.owner, "/treasury"))["budgets"]
    assert budget["spent"] == "0"


async def test_an_agent_of_no_known_registry_is_not_paid(pair: Neighbours, guild):
    await fund(guild)
    assert code(await pay(guild, "did:hansa:elsewhere.example:nobody", "1")) == (404, "ACCOUNT_UNKNOWN")
    assert await liquid(guild) == "90"


async def propose(guild, by, provider):
    """Ask for a funded contract with a provider."""
    contract = {
        "provider_did": provider.did,
        "title": "Manual",
        "contract_type": "service",
        "amount": "20",
        "terms": "Translate the manual.",
        "acceptance_criteria": "All pages.",
        "review_by": "2030-01-01T00:00:00Z",
        "funded": True,
    }
    return await guild.send(by, "POST", "/treasury/requests", json={"kind": "contract", "contract": contract})


async def test_a_funded_contract_with_a_provider_of_another_registry_is_refused_and_nothing_is_stored(
    pair: Neighbours, guild
):
    await fund(guild)
    refused = await propose(guild, guild.owner, await pair.b.registry.agent())
    assert code(refused) == (422, "FUNDED_ACROSS")
    assert (await guild.read(guild.owner, "/treasury/requests"))["items"] == []
    assert (await guild.read(guild.owner, "/treasury"))["spent_today"] == "0"


async def test_an_approved_contract_with_a_provider_of_another_registry_stays_pending_with_the_reason(
    pair: Neighbours, guild
):
    await fund(guild)
    await ruled(guild, ONE_OWNER)
    admin = await guild.member("admin")
    asked = (await propose(guild, admin, await pair.b.registry.agent())).json()
    approved = (await guild.approve(guild.owner, asked["request_id"])).json()
    assert (approved["status"], approved["reason"]) == ("PENDING", commerce.FundedAcross().detail)
    assert code(await act(guild, admin, asked["request_id"], "retry")) == (422, "FUNDED_ACROSS")
    assert (await guild.read(guild.owner, "/treasury"))["spent_today"] == "0"


async def test_an_agent_of_another_registry_does_not_bid_for_work(pair: Neighbours, guild):
    await fund(guild)
    work, bob = Offering(guild), await pair.b.registry.agent()
    order = await work.open()
    # Its token is not one of this registry.
    assert (await work.try_bid(bob, order)).status_code == 401
    registry = pair.a.registry
    foreign = Agent(bob.did, 1, (), frozenset(), is_governed=False)
    given = {"settings": registry.settings, "bond_admits": commerce.BOND_ADMITS.of(registry.runtime)}
    new = NewBid(parse_amount("8"), 60, "")
    with pytest.raises(commerce.FundedAcross):
        await registry.database.transaction(lambda tx: bid(tx, foreign, UUID(order["id"]), new, **given))
    assert (await work.read(order))["bid_count"] == 0
