"""Launches of the exchange (specification 7 AA): one fixed price, sealed and fully held subscriptions, a share for everybody."""

import asyncio
from itertools import chain

import pytest

from hansa.foundation.values.money import parse_amount
from hansa.rooms import auditor, ledger
from hansa.rooms.exchange.descriptor import ROOM
from hansa.rooms.exchange.launches.settling import settle_batch
from tests.all_events import require_schemas_kept
from tests.exchange import Market, market
from tests.organizations import code
from tests.registry import StartRegistry, TestAgent


@pytest.fixture
def exchange(market_of_file: Market) -> Market:
    return market_of_file


async def buyers(exchange: Market, count: int) -> list[TestAgent]:
    return [await exchange.registry.agent() for _ in range(count)]


async def require_sound(exchange: Market) -> None:
    """Units are where the events say, each escrow is that of its holds, and points are those of their postings."""
    verdict = await exchange.registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, [*chain(*verdict.findings.values())]) == ("OK", [])
    gaps = await exchange.registry.database.read(ledger.escrow_gaps)
    assert gaps == []
    unequal = await exchange.registry.database.read(
        lambda tx: tx.fetch(
            "SELECT ref, agent_did FROM exchange_holding FULL JOIN (SELECT ref, agent_did, sum(delta) AS qty"
            " FROM exchange_point_posting WHERE agent_did <> '' GROUP BY ref, agent_did) p USING (ref, agent_did)"
            " WHERE exchange_holding.qty IS DISTINCT FROM p.qty"
        )
    )
    assert unequal == []


async def test_a_subscription_holds_its_price_in_the_buyers_own_escrow_until_it_is_cancelled(
    exchange: Market,
):
    listing, (agent,) = await exchange.launching(), await buyers(exchange, 1)
    bought = await exchange.buy(agent, listing, 20)
    assert bought.status_code == 201, bought.text
    order = bought.json()
    assert order.pop("order_id")
    assert order == {"status": "subscribed", "qty": 20, "allocated": 0, "escrow_amount": "40"}
    assert await exchange.units(agent.did) == ("60", "40")
    assert (await exchange.subscription(agent, listing)).json() == bought.json()
    assert (await exchange.read(listing))["sold"] == 0
    cancelled = (await exchange.cancel(agent, listing)).json()
    assert (cancelled["status"], cancelled["escrow_amount"]) == ("cancelled", "0")
    assert await exchange.units(agent.did) == ("100", "0")
    assert code(await exchange.cancel(agent, listing)) == (409, "SUBSCRIPTION_ENDED")
    assert (await exchange.buy(agent, listing, 5)).status_code == 201


async def test_an_agent_has_one_subscription_and_repeats_it_under_its_key(exchange: Market):
    listing, (agent, other) = await exchange.launching(), await buyers(exchange, 2)
    first = await exchange.buy(agent, listing, 5, "once")
    again = await exchange.buy(agent, listing, 5, "once")
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    assert code(await exchange.buy(agent, listing, 5)) == (409, "SUBSCRIPTION_EXISTS")
    assert code(await exchange.subscription(other, listing)) == (404, "SUBSCRIPTION_UNKNOWN")
    assert code(await exchange.cancel(other, listing)) == (404, "SUBSCRIPTION_UNKNOWN")


async def test_of_two_subscriptions_at_once_one_is_made(exchange: Market):
    listing, (agent,) = await exchange.launching(), await buyers(exchange, 1)
    answers = await asyncio.gather(*(exchange.buy(agent, listing, 10) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    assert await exchange.units(agent.did) == ("80", "20")


async def test_what_is_not_covered_or_not_whole_is_refused(exchange: Market):
    listing, (agent,) = await exchange.launching(), await buyers(exchange, 1)
    assert code(await exchange.buy(agent, listing, 51)) == (402, "INSUFFICIENT_BALANCE")
    for qty in (0, -1, 1.5, "1", True, 10**10 + 1):
        assert (await exchange.buy(agent, listing, qty)).status_code == 422
    assert await exchange.units(agent.did) == ("100", "0")


async def test_a_launch_takes_subscriptions_between_its_two_moments_alone(exchange: Market):
    listing, (agent, early) = await exchange.approved(), await buyers(exchange, 2)
    assert code(await exchange.buy(agent, listing, 1)) == (409, "LAUNCH_NOT_OPEN")
    await exchange.elapse(listing, 1)
    assert (await exchange.buy(early, listing, 10)).status_code == 201
    await exchange.registry.database.transaction(
        lambda tx: tx.execute(
            "SET LOCAL session_replication_role = replica; UPDATE exchange_listing SET"
            f" closes_at = now() WHERE ref = '{listing['ref']}'"
        )
    )
    assert code(await exchange.buy(agent, listing, 1)) == (409, "LAUNCH_NOT_OPEN")
    assert code(await exchange.cancel(early, listing)) == (409, "SUBSCRIPTION_ENDED")


async def test_parties_related_to_the_organization_do_not_subscribe(exchange: Market):
    guild = await exchange.guild()
    listing, member = await exchange.launching(guild), await guild.member("viewer")
    for agent in (await guild.owner.agent(), await member.agent(), await guild.born()):
        assert code(await exchange.buy(agent, listing, 1)) == (403, "RELATED_PARTY")


async def test_all_agents_of_an_owner_share_its_maximum(exchange: Market):
    listing, owner = await exchange.launching(per_owner_max=30), await exchange.registry.developer()
    first, second = await owner.agent(), await owner.agent()
    assert code(await exchange.buy(first, listing, 31)) == (409, "OWNER_MAXIMUM")
    assert (await exchange.buy(first, listing, 30)).status_code == 201
    refused = await exchange.buy(second, listing, 1)
    assert code(refused) == (409, "OWNER_MAXIMUM")
    await exchange.cancel(first, listing)
    assert code(await exchange.buy(second, listing, 1)) == (402, "INSUFFICIENT_BALANCE")


async def test_a_launch_within_its_total_gives_everybody_what_was_subscribed(exchange: Market):
    listing, (one, two, gone) = await exchange.launching(), await buyers(exchange, 3)
    for agent, qty in ((one, 10), (two, 25), (gone, 5)):
        assert (await exchange.buy(agent, listing, qty)).status_code == 201
    await exchange.cancel(gone, listing)
    await exchange.elapse(listing, 1)
    shown = await exchange.read(listing)
    assert (shown["status"], shown["sold"], shown["last_price"]) == ("TRADING", 35, "2")
    assert await exchange.points(listing) == {one.did: 10, two.did: 25}
    # 50 basis points of 20 and of 50 units are the seller's to pay.
    assert await exchange.units(listing["treasury_did"]) == ("69.65", "0")
    assert [await exchange.units(agent.did) for agent in (one, two, gone)] == [
        ("80", "0"),
        ("50", "0"),
        ("100", "0"),
    ]
    settled = (await exchange.subscription(one, listing)).json()
    assert (settled["status"], settled["allocated"], settled["escrow_amount"]) == ("allocated", 10, "0")
    ((kind, data),) = [one for one in await exchange.events(listing) if one[0] != "ListingApproved"]
    assert (kind, data) == (
        "LaunchClosed",
        {"ref": listing["ref"], "treasury_did": listing["treasury_did"], "price": "2", "sold": 35},
    )
    await require_schemas_kept(exchange.registry.database, "LaunchClosed")
    await require_sound(exchange)


async def test_of_too_much_everybody_gets_a_share_and_the_rest_is_free(exchange: Market):
    listing = await exchange.launching(total=10, per_owner_max=10, price="5", min_raise="50")
    agents = await buyers(exchange, 3)
    for agent in agents:
        assert (await exchange.buy(agent, listing, 10)).status_code == 201
    await exchange.elapse(listing, 1)
    assert await exchange.points(listing) == dict(
        zip([agent.did for agent in agents], [4, 3, 3], strict=True)
    )
    assert [await exchange.units(agent.did) for agent in agents] == [("80", "0"), ("85", "0"), ("85", "0")]
    assert await exchange.units(listing["treasury_did"]) == ("49.75", "0")
    await require_sound(exchange)


async def test_a_subscription_that_gets_no_point_is_freed(exchange: Market):
    listing = await exchange.launching(total=1, per_owner_max=1, min_raise="2")
    first, second = await buyers(exchange, 2)
    for agent in (first, second):
        assert (await exchange.buy(agent, listing, 1)).status_code == 201
    await exchange.elapse(listing, 1)
    assert await exchange.points(listing) == {first.did: 1}
    assert (await exchange.subscription(second, listing)).json()["status"] == "failed"
    assert await exchange.units(second.did) == ("100", "0")


@pytest.mark.parametrize("qty", [4, 0], ids=["too little", "nothing"])
async def test_a_launch_that_raises_too_little_fails_and_frees_everybody(exchange: Market, qty):
    guild = await exchange.guild()
    listing, (agent,) = await exchange.launching(guild), await buyers(exchange, 1)
    if qty:
        await exchange.buy(agent, listing, qty)
    await exchange.elapse(listing, 1)
    shown = await exchange.read(listing)
    assert (shown["status"], shown["sold"], shown["ends_at"]) == ("FAILED", 0, None)
    assert await exchange.units(agent.did) == ("100", "0")
    assert await exchange.points(listing) == {}
    assert (await exchange.events(listing))[-1][1]["sold"] == 0
    assert (await exchange.try_draft(guild)).status_code == 201
    await require_sound(exchange)


async def test_the_close_fixes_the_holders_in_one_commit_and_trade_opens_after_the_last_capture(
    exchange: Market,
):
    listing, agents = await exchange.launching(), await buyers(exchange, 5)
    for agent in agents:
        await exchange.buy(agent, listing, 4)
    runtime, closing = exchange.registry.runtime, ROOM.jobs[1]
    await exchange.elapse(listing, 0.9)

    async def due(tx):
        await tx.execute("SET LOCAL session_replication_role = replica")
        await tx.execute("UPDATE exchange_listing SET closes_at = now() WHERE ref = $1", listing["ref"])

    await runtime.database.transaction(due)
    job = type("Job", (), {"key": listing["ref"]})()
    await runtime.database.transaction(lambda tx: closing.work(tx, runtime, job))
    shown = await exchange.read(listing)
    assert (shown["status"], shown["sold"]) == ("LAUNCHING", 20)
    assert set((await exchange.points(listing)).values()) == {4}
    assert {await exchange.units(agent.did) for agent in agents} == {("92", "8")}
    assert code(await exchange.decide(listing, "delist")) == (409, "LISTING_STATE")
    for captured in (2, 4):
        assert await runtime.database.transaction(lambda tx: settle_batch(tx, listing["ref"], runtime, 2))
        paid = [await exchange.units(agent.did) for agent in agents].count(("92", "0"))
        assert (paid, (await exchange.read(listing))["status"]) == (captured, "LAUNCHING")
        await require_sound(exchange)
    # Two workers at once end each hold once.
    await asyncio.gather(
        *(
            runtime.database.transaction(lambda tx: settle_batch(tx, listing["ref"], runtime, 2))
            for _ in range(2)
        )
    )
    assert (await exchange.read(listing))["status"] == "TRADING"
    assert await exchange.units(listing["treasury_did"]) == ("39.8", "0")
    await require_sound(exchange)


async def test_a_launch_that_is_delisted_frees_everybody(exchange: Market):
    listing, (agent,) = await exchange.launching(), await buyers(exchange, 1)
    await exchange.buy(agent, listing, 10)
    assert (await exchange.decide(listing, "delist")).json()["status"] == "DELISTED"
    await exchange.run_jobs()
    assert await exchange.units(agent.did) == ("100", "0")
    assert (await exchange.subscription(agent, listing)).json()["status"] == "failed"


async def test_a_listing_that_never_opened_has_failed_at_its_end(exchange: Market):
    listing = await exchange.approved()
    await exchange.elapse(listing, 3)
    assert (await exchange.read(listing))["status"] == "FAILED"


async def test_an_agent_with_points_or_a_subscription_does_not_end(exchange: Market):
    owner = await exchange.registry.developer()
    agent, listing = await owner.agent(), await exchange.launching()
    book = ledger.Book.of(exchange.registry.settings)
    await exchange.buy(agent, listing, 10)

    async def ended():
        return await exchange.registry.http.delete("/api/v1/agents/me", headers=agent.headers)

    assert code(await ended()) == (409, "AGENT_HOLDS_POINTS")
    await exchange.elapse(listing, 1)
    assert code(await ended()) == (409, "AGENT_HOLDS_POINTS")
    asked = await exchange.registry.post("/account/request-deletion", headers=owner.headers)
    blockers = {one["kind"]: one["amount"] for one in asked.json()["blockers"]}
    assert (asked.status_code, blockers["points"]) == (409, "10")
    await exchange.elapse(listing, 400)
    assert (await exchange.read(listing))["status"] == "EXPIRED"
    await exchange.registry.database.transaction(
        lambda tx: ledger.apply(tx, [ledger.orders.destroy(agent.did, parse_amount("80"), agent.did)], book)
    )
    assert (await ended()).status_code == 200


async def test_a_policy_judges_a_subscription_and_gets_back_what_is_not_spent(exchange: Market):
    owner, listing = await exchange.registry.developer(), await exchange.launching(total=10, per_owner_max=10)
    agent, (rival,) = await owner.agent(), await buyers(exchange, 1)
    path = f"/api/v1/agents/{agent.did}/authz"

    async def put(**policy):
        answer = await exchange.registry.http.put(path, json={"spend_policy": policy}, headers=owner.headers)
        assert answer.status_code == 200, answer.text

    async def spent():
        return (await exchange.registry.http.get(path, headers=owner.headers)).json()["spent_today"]

    await put(per_tx_max="10")
    assert code(await exchange.buy(agent, listing, 6)) == (403, "SPEND_OVER_PER_TX_MAX")
    await put(per_day_max="30")
    assert (await exchange.buy(agent, listing, 10)).status_code == 201
    assert await spent() == "20"
    await exchange.cancel(agent, listing)
    assert await spent() == "0"
    await put(per_day_max="30", approval_over="5")
    asked = await exchange.buy(agent, listing, 10, "wished")
    assert code(asked) == (403, "SPEND_APPROVAL_REQUIRED")
    assert await exchange.units(agent.did) == ("100", "0")
    approval = asked.json()["error"]["context"]["approval_id"]
    for wrong in (approval, "5e0bd4a6-2b3d-4b8c-9d5e-3f3a1f1f1f1f"):
        refused = await exchange.buy(agent, listing, 10, approval_id=wrong)
        assert refused.status_code in {404, 409}, refused.text
    decided = await exchange.registry.post(
        f"/agents/{agent.did}/spend-approvals/{approval}/approve", headers=owner.headers
    )
    assert decided.status_code == 200, decided.text
    assert (await exchange.buy(agent, listing, 10, "wished", approval_id=approval)).status_code == 201
    assert (await exchange.buy(rival, listing, 10)).status_code == 201
    await exchange.elapse(listing, 1)
    assert (await exchange.points(listing))[agent.did] == 5
    assert await spent() == "10"


async def suspend(exchange: Market, agent: TestAgent) -> None:
    body = {"agent_dids": [agent.did], "reason": "For a test."}
    done = await exchange.post(exchange.enforcement, "/admin/agents/bulk/suspend", body)
    assert done.status_code == 200, done.text


async def test_subscriptions_of_a_suspended_agent_are_cancelled_while_the_launch_is_open(exchange: Market):
    listing, (agent, late) = await exchange.launching(), await buyers(exchange, 2)
    for one in (agent, late):
        assert (await exchange.buy(one, listing, 10)).status_code == 201
    await suspend(exchange, agent)
    await exchange.react(agent)
    await exchange.run_jobs()
    assert await exchange.units(agent.did) == ("100", "0")
    await exchange.elapse(listing, 1)
    assert await exchange.points(listing) == {late.did: 10}


async def test_a_suspended_buyer_and_a_suspended_seller_settle_what_was_allocated(exchange: Market):
    guild, (agent,) = await exchange.guild(), await buyers(exchange, 1)
    listing = await exchange.launching(guild)
    assert (await exchange.buy(agent, listing, 10)).status_code == 201
    await suspend(exchange, agent)
    path, reason = f"/admin/organizations/{guild.created['id']}/suspend", {"reason": "For a test."}
    assert (await exchange.post(exchange.enforcement, path, reason)).status_code == 200
    await exchange.elapse(listing, 1)
    assert (await exchange.read(listing))["status"] == "TRADING"
    assert await exchange.units(agent.did) == ("80", "0")
    assert await exchange.units(listing["treasury_did"]) == ("19.9", "0")
    await require_sound(exchange)


async def test_a_capability_that_another_agent_holds_buys_nothing(exchange: Market):
    listing, (holder, other, delegator) = await exchange.launching(), await buyers(exchange, 3)
    issued = await exchange.post(
        delegator,
        "/agents/capabilities",
        {
            "holder_agent_did": holder.did,
            "caveats": {
                "permissions": ["exchange.trade"],
                "counterparty_allow": [listing["treasury_did"]],
            },
            "budget_total": "20",
        },
    )
    assert issued.status_code == 200, issued.text
    shown = {"X-Capability-Token": issued.json()["token"]}
    path, body = f"/agora/listings/{listing['ref']}/launch/buy", {"qty": 10}
    refused = await exchange.registry.post(path, json=body, headers={**other.headers, **shown})
    assert refused.status_code == 403, refused.text
    made = await exchange.registry.post(path, json=body, headers={**holder.headers, **shown})
    assert made.status_code == 201, made.text


async def test_the_audit_finds_a_subscription_without_its_hold_and_points_without_a_posting(
    start_registry: StartRegistry,
):
    exchange = await market(await start_registry(exchange_enabled=True))
    traded = await exchange.traded((await buyers(exchange, 1))[0])
    listing, (agent,) = await exchange.launching(), await buyers(exchange, 1)
    bought = (await exchange.buy(agent, listing, 10)).json()

    async def found():
        verdict = await exchange.registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
        return verdict.checks, verdict.findings["subscriptions"], verdict.findings["points"]

    checks, *nothing = await found()
    assert (checks["escrow"], checks["shares"], nothing) == ("OK", "OK", [[], []])
    await exchange.registry.database.transaction(
        lambda tx: tx.execute("UPDATE exchange_holding SET qty = qty + 1 WHERE ref = $1", traded["ref"])
    )
    await exchange.registry.database.transaction(
        lambda tx: tx.execute("UPDATE exchange_subscription SET qty = 11 WHERE ref = $1", listing["ref"])
    )
    checks, subscriptions, points = await found()
    assert (checks["escrow"], checks["shares"]) == ("BREACH", "BREACH")
    assert subscriptions == [bought["order_id"]]
    assert [gap.split()[0] for gap in points] == [traded["ref"]]


async def test_statements_and_aggregates_of_both_sides_have_the_sale_and_its_fee(exchange: Market):
    guild, (agent,) = await exchange.guild(), await buyers(exchange, 1)
    listing = await exchange.launching(guild)
    await exchange.buy(agent, listing, 10)
    await exchange.elapse(listing, 1)
    bought = (await exchange.registry.get("/teg/transactions", headers=agent.headers)).json()["items"]
    sold = (await guild.read(guild.owner, "/treasury/transactions"))["items"]

    def line(one):
        names = ("tx_type", "direction", "counterparty", "amount", "fee_amount", "balance_after")
        return tuple(one[name] for name in names)

    assert line(bought[0]) == ("launch", "sent", listing["treasury_did"], "20", "0", "80")
    assert line(sold[0]) == ("launch", "received", agent.did, "19.9", "0", "19.9")
    for did in (agent.did, listing["treasury_did"]):
        path = f"/events/aggregate/{did}"
        found = (await exchange.registry.get(path, headers=exchange.registry.internal)).json()
        assert found["pagination"]["total_items"] == len(found["items"])
