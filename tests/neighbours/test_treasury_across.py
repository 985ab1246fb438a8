"""Payments from a treasury to an agent of another registry: resumed until they are decided, given back where they are aborted."""

import pytest

from hansa.rooms.treasury.payments.crossings import FOLLOW_CROSSINGS
from tests.neighbours.crossing_scene import deadlines_pass, run, settle
from tests.neighbours.two_registries import Neighbours
from tests.organizations import code, found
from tests.running_jobs import run_due
from tests.treasuries import ONE_OWNER, act, fund, liquid, pay, ruled


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


async def test_an_agent_of_no_known_registry_is_not_paid(pair: Neighbours, guild):
    await fund(guild)
    assert code(await pay(guild, "did:hansa:elsewhere.example:nobody", "1")) == (404, "ACCOUNT_UNKNOWN")
    assert await liquid(guild) == "90"
