"""Work orders under attack: related bidders, awards round the tiers, bids above the amount, two acts at the same moment."""

from uuid import UUID, uuid4

import pytest

from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.money import parse_amount
from hansa.rooms import commerce
from hansa.rooms.treasury.work_orders.bidding import bid
from hansa.rooms.treasury.work_orders.records import NewBid
from tests.organizations import acting_as, code
from tests.registry import at_once
from tests.treasuries import ONE_OWNER, ruled
from tests.work_orders import Offering, offering


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def work(registry) -> Offering:
    return await offering(registry)


async def status_of(work, bid) -> str:
    found = await work.bids(work.guild.owner, {"id": bid["work_order_id"]})
    return next(one["status"] for one in found if one["bid_id"] == bid["bid_id"])


async def test_an_agent_of_the_organization_or_of_a_member_does_not_bid(work):
    order, viewer = await work.open(), await work.guild.member("viewer")
    owned, owner = await work.guild.agent(), work.guild.owner
    acting = await work.registry.post(f"/agents/{owned.did}/act-token", headers=owner.headers)
    of_guild = acting_as(owned, acting.json()["access_token"])
    for agent in (of_guild, await owner.agent(), await viewer.agent()):
        assert code(await work.try_bid(agent, order)) == (403, "RELATED_PARTY")
    assert (await work.read(order))["bid_count"] == 0


async def test_a_former_member_stays_related(work):
    member = await work.guild.member()
    agent, order = await member.agent(), await work.open()
    assert (await work.guild.remove(member, member)).status_code == 200
    assert code(await work.try_bid(agent, order)) == (403, "RELATED_PARTY")


async def test_a_bidder_who_becomes_related_does_not_win(registry, work):
    owner, order = await registry.developer(), await work.open()
    bid = await work.bid(await owner.agent(), order)
    token = await work.guild.invite(owner.email, "viewer")
    joined = await registry.post(
        "/organizations/invitations/accept", json={"token": token}, headers=owner.headers
    )
    assert joined.status_code == 200
    assert code(await work.award(bid)) == (403, "RELATED_PARTY")
    assert await status_of(work, bid) == "live"
    assert (await work.read(order))["status"] == "OPEN"
    assert await work.held() == ("39.95", "10.05")


async def test_an_agent_of_another_registry_does_not_bid(registry, work):
    order = await work.open()
    foreign = Agent(f"did:hansa:elsewhere.example:{uuid4()}", 1, ("client",), frozenset(), is_governed=False)

    async def admits(*_):
        return True

    with pytest.raises(commerce.FundedAcross):
        await registry.database.transaction(
            lambda tx: bid(
                tx,
                foreign,
                UUID(order["id"]),
                NewBid(parse_amount("8"), 60, ""),
                settings=registry.settings,
                bond_admits=admits,
            )
        )
    assert (await work.read(order))["bid_count"] == 0


async def test_a_suspended_bidder_does_not_win(registry, work):
    bidder, order = await registry.agent(), await work.open()
    bid, enforcer = await work.bid(bidder, order), await registry.administrator("admin_enforcement")
    body = {"agent_dids": [bidder.did], "reason": "Spam."}
    await registry.post("/admin/agents/bulk/suspend", json=body, headers=enforcer.headers)
    assert code(await work.award(bid)) == (403, "ACCESS_DENIED")
    await registry.post("/admin/agents/bulk/reinstate", json=body, headers=enforcer.headers)
    assert (await work.award(bid)).status_code == 200


async def test_an_unbonded_bidder_neither_bids_nor_wins_where_bonds_are_enforced(start_registry):
    registry = await start_registry(bond_mode="enforce", bond_minimum="50", rate_limit_reads="off")
    work, bidder = await offering(registry), await registry.agent()
    order = await work.open()
    assert code(await work.try_bid(bidder, order)) == (403, "BOND_REQUIRED")
    deposited = await registry.post(
        f"/agents/{bidder.did}/reputation-bond/deposit", json={"amount": "50"}, headers=bidder.headers
    )
    assert deposited.status_code == 200, deposited.text
    bid = await work.bid(bidder, order)
    released = await registry.post(
        f"/agents/{bidder.did}/reputation-bond/release", json={}, headers=bidder.headers
    )
    assert released.status_code == 200, released.text
    assert code(await work.award(bid)) == (403, "BOND_REQUIRED")
    assert (await work.read(order))["status"] == "OPEN"


async def test_an_award_needs_the_approvals_of_a_payment_of_its_price(registry, work):
    bidder, admin = await registry.agent(), await work.guild.member("admin")
    await ruled(work.guild, {"over": "5", "approvals": 1, "from": "admin"})
    order = await work.open()
    cheap, dear = await work.bid(await registry.agent(), order, "5"), await work.bid(bidder, order, "6")
    asked = await work.award(dear, admin)
    assert (asked.status_code, asked.json()["status"], asked.json()["approvals_needed"]) == (
        202,
        "PENDING",
        1,
    )
    assert await status_of(work, dear) == "live"
    assert code(await work.award(dear, admin)) == (409, "REQUEST_EXISTS")
    assert code(await work.guild.approve(admin, asked.json()["request_id"])) == (403, "OWN_REQUEST")
    done = (await work.guild.approve(work.guild.owner, asked.json()["request_id"])).json()
    assert (done["status"], await status_of(work, dear)) == ("EXECUTED", "won")
    assert (await work.read(order))["contract_id"] == done["result"]["contract_id"]
    assert await status_of(work, cheap) == "lost"


async def test_awards_below_a_tier_count_together(registry, work):
    await ruled(work.guild, {**ONE_OWNER, "over": "6"}, unapproved_per_day_max="10")
    orders = [await work.open() for _ in range(2)]
    bids = [await work.bid(await registry.agent(), order, "6") for order in orders]
    assert (await work.award(bids[0])).status_code == 200
    assert (await work.award(bids[1])).status_code == 202


async def test_an_award_counts_for_the_maximum_of_a_day_and_the_allowlist(registry, work):
    bidder, order = await registry.agent(), await work.open()
    bid = await work.bid(bidder, order)
    await ruled(work.guild, allowlist=[work.treasury])
    assert code(await work.award(bid)) == (403, "TREASURY_PAYEE_NOT_ALLOWED")
    await ruled(work.guild, allowlist=[bidder.did], per_day_max="7.99")
    refused = await work.award(bid)
    assert (refused.status_code, refused.json()["error"]["context"]) == (403, {"left": "7.99"})
    await ruled(work.guild, per_day_max="8")
    assert (await work.award(bid)).status_code == 200


@pytest.mark.parametrize("act", ["withdraw", "cancel"])
async def test_an_approved_award_of_what_is_gone_changes_nothing(registry, work, act):
    await ruled(work.guild, {**ONE_OWNER, "over": "1"})
    bidder, admin = await registry.agent(), await work.guild.member("admin")
    order = await work.open()
    bid = await work.bid(bidder, order)
    asked = (await work.award(bid, admin)).json()
    gone = await (work.withdraw(bidder, bid) if act == "withdraw" else work.cancel(order))
    assert gone.status_code == 200
    left = (await work.guild.approve(work.guild.owner, asked["request_id"])).json()
    assert (left["status"], left["result"]) == ("PENDING", None)
    assert left["reason"] == (
        "The bid is withdrawn." if act == "withdraw" else "The work order is CANCELLED."
    )
    assert (await work.guild.read(admin, "/contracts"))["items"] == []


async def test_a_bid_of_another_order_or_organization_is_not_awarded(registry, work):
    other, bidder = await offering(registry), await registry.agent()
    order, foreign = await work.open(), await other.open()
    bid = await work.bid(bidder, foreign)
    assert code(await work.award(bid)) == (404, "WORK_ORDER_UNKNOWN")
    assert code(await work.award({**bid, "work_order_id": order["id"]})) == (404, "BID_UNKNOWN")
    assert code(await work.cancel(foreign)) == (404, "WORK_ORDER_UNKNOWN")


async def test_a_price_that_leaves_nothing_for_a_milestone_is_refused(registry, work):
    parts = [{"title": "Begin", "amount": "0.00000001"}, {"title": "Rest", "amount": "9.99999999"}]
    order = await work.open(milestones=parts)
    assert code(await work.try_bid(await registry.agent(), order, "5")) == (422, "CONTRACT_TERMS_INVALID")


async def test_the_treasury_itself_is_nobody_who_bids(work):
    order = await work.open()
    assert (await work.registry.post(f"/work-orders/{order['id']}/bids", json={})).status_code == 401
    answer = await work.registry.post(
        f"/work-orders/{order['id']}/bids",
        json={"price": "1", "eta_seconds": 1},
        headers=work.guild.owner.headers,
    )
    assert answer.status_code == 401


async def test_two_awards_at_the_same_moment_make_one_contract(registry, work):
    order = await work.open()
    bids = [await work.bid(await registry.agent(), order) for _ in range(2)]
    answers = await at_once(*(work.award(bid) for bid in (*bids, *bids)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    contracts = await work.guild.read(work.guild.owner, "/contracts")
    assert contracts["pagination"]["total_items"] == 1
    assert await work.held() == ("41.96", "8.04")


async def test_an_award_beside_a_cancellation_is_one_of_both(registry, work):
    order = await work.open()
    bid = await work.bid(await registry.agent(), order)
    answers = await at_once(work.award(bid), work.cancel(order))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    is_awarded = answers[0].status_code == 200
    assert await work.held() == (("41.96", "8.04") if is_awarded else ("50", "0"))
    assert (await work.read(order))["status"] == ("AWARDED" if is_awarded else "CANCELLED")


async def test_an_award_beside_a_withdrawal_is_one_of_both(registry, work):
    bidder, order = await registry.agent(), await work.open()
    bid = await work.bid(bidder, order)
    awarded, withdrawn = await at_once(work.award(bid), work.withdraw(bidder, bid))
    assert sorted((awarded.status_code, withdrawn.status_code)) == [200, 409]
    assert await status_of(work, bid) == ("won" if awarded.status_code == 200 else "withdrawn")


async def test_two_bids_of_one_agent_at_the_same_moment_are_one(registry, work):
    bidder, order = await registry.agent(), await work.open()
    answers = await at_once(*(work.try_bid(bidder, order) for _ in range(3)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
    assert (await work.read(order))["bid_count"] == 1


async def test_an_agent_bids_ten_times_on_an_order(registry, work):
    bidder, order = await registry.agent(), await work.open()
    for _ in range(10):
        assert (await work.withdraw(bidder, await work.bid(bidder, order))).status_code == 200
    assert code(await work.try_bid(bidder, order)) == (409, "LIMIT_REACHED")


async def test_an_order_has_two_hundred_bids_and_an_organization_two_hundred_open_orders(registry, work):
    bidder, order = await registry.agent(), await work.open(amount="1")
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE treasury_work_order SET bid_count = 200 WHERE id = $1::text::uuid", order["id"]
        )
    )
    assert code(await work.try_bid(bidder, order, "1")) == (409, "LIMIT_REACHED")
    await registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO treasury_work_order (id, organization_id, treasury_did, opened_by, title, spec, acceptance_criteria, amount,"
            " words, bids_until, expires_at, submit_days, review_days, auto_approve, hold_id)"
            " SELECT gen_random_uuid(), $1::text::uuid, $2, $3, 'x', 'x', 'x', 1, '', now(), now() + interval '1 day', 1, 1, false,"
            " -1000 - n FROM generate_series(1, 199) n",
            work.guild.created["id"],
            work.treasury,
            1,
        )
    )
    assert code(await work.try_open(amount="1")) == (409, "LIMIT_REACHED")
    await registry.database.transaction(
        lambda tx: tx.execute("DELETE FROM treasury_work_order WHERE hold_id < 0")
    )
