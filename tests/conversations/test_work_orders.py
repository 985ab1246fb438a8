"""Work orders: work is offered with its money set aside, agents bid, an award makes a funded contract."""

import json
from collections import Counter
from datetime import datetime, timedelta

import pytest

from hansa.rooms import auditor
from tests.all_events import require_schemas_kept
from tests.notified import notified_of, subscribe
from tests.organizations import code
from tests.registry import TestAgent
from tests.work_orders import Offering, in_days, offering


@pytest.fixture
async def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def work(registry) -> Offering:
    return await offering(registry)


@pytest.fixture
async def bidder(registry) -> TestAgent:
    return await registry.agent()


async def contract_of(bidder: TestAgent, awarded) -> dict:
    contract_id = awarded.json()["result"]["contract_id"]
    answer = await bidder.registry.get(f"/contracts/{contract_id}", headers=bidder.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def events_of(work: Offering, order) -> list[tuple[str, dict]]:
    rows = await work.registry.database.read(
        lambda tx: tx.fetch(
            "SELECT event_type, data::text FROM journal_event WHERE data ->> 'work_order_id' = $1 ORDER BY seq",
            order["id"],
        )
    )
    return [(row["event_type"], json.loads(row["data"])) for row in rows]


async def test_an_open_order_holds_its_amount_and_fee(work):
    order = await work.open(skills=["translate"], milestones=[{"title": "Draft", "amount": "10"}])
    assert await work.held() == ("39.95", "10.05")
    members = {name: order[name] for name in ("status", "bid_count", "contract_id", "contract_status")}
    assert members == {"status": "OPEN", "bid_count": 0, "contract_id": None, "contract_status": None}
    assert order["organization"] == {"slug": work.guild.slug, "name": "Guild of translators"}
    assert order["treasury_did"] == work.treasury
    assert order["milestones"] == [{"title": "Draft", "amount": "10"}]
    assert await work.read(order) == order


async def test_an_order_that_the_treasury_does_not_cover_is_refused_and_nothing_is_stored(work):
    assert code(await work.try_open(amount="50")) == (402, "INSUFFICIENT_BALANCE")
    assert await work.held() == ("50", "0")
    board = await work.registry.get("/work-orders")
    assert work.treasury not in {one["treasury_did"] for one in board.json()["items"]}


async def test_admins_open_award_and_cancel(work, bidder):
    member, stranger = await work.guild.member(), await work.registry.developer()
    assert code(await work.try_open(member)) == (403, "ORG_ROLE_REQUIRED")
    assert code(await work.try_open(stranger)) == (404, "ORGANIZATION_UNKNOWN")
    admin = await work.guild.member("admin")
    order = (await work.try_open(admin)).json()
    bid = await work.bid(bidder, order)
    assert code(await work.award(bid, member)) == (403, "ORG_ROLE_REQUIRED")
    assert code(await work.cancel(order, stranger)) == (404, "ORGANIZATION_UNKNOWN")
    assert (await work.cancel(order, admin)).json()["status"] == "CANCELLED"


@pytest.mark.parametrize(
    "members",
    [
        {"bids_until": in_days(61)},
        {"bids_until": in_days(-1)},
        {"milestones": [{"title": "All", "amount": "9"}]},
        {"title": "x" * 201},
        {"spec": "x" * 20_001},
        {"skills": ["x"] * 21},
        {"submit_days": 0},
        {"amount": "0"},
    ],
    ids=lambda members: next(iter(members)),
)
async def test_an_order_that_is_not_sound_is_refused(work, members):
    refused = await work.try_open(**members)
    assert refused.status_code == 422, refused.text
    assert await work.held() == ("50", "0")


async def test_everyone_reads_the_board_by_words_skill_and_status(work):
    word = work.guild.slug.replace("-", "")
    first = await work.open(title=f"Paint {word} houses", skills=["Painting"], amount="1")
    second = await work.open(spec=f"Something {word} else.", amount="1")
    await work.cancel(second)

    async def found(**query):
        answer = await work.registry.get("/work-orders", params=query)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["items"]]

    assert await found(q=word.upper()) == [second["id"], first["id"]]
    assert await found(q=f"houses {word}") == [first["id"]]
    assert await found(q=word, status="CANCELLED") == [second["id"]]
    assert await found(q=word, skill="painting") == [first["id"]]
    assert await found(q=f"{word} nowhere") == []
    assert await found(q="&|!()") == []
    assert first["id"] in await found(status="OPEN", limit=100)
    page = (await work.registry.get("/work-orders", params={"q": word, "limit": 1, "offset": 1})).json()
    assert [one["id"] for one in page["items"]] == [first["id"]]
    assert (page["pagination"]["total_items"], page["total_is_exact"]) == (2, True)


async def test_an_agent_reads_its_own_bids_and_a_member_reads_all(work, bidder):
    rival, order = await work.registry.agent(), await work.open()
    own, other = await work.bid(bidder, order, "8"), await work.bid(rival, order, "7")
    assert await work.bids(bidder, order) == [own]
    assert await work.bids(await work.guild.member("viewer"), order) == [own, other]
    stranger = await work.registry.developer()
    refused = await work.registry.get(f"/work-orders/{order['id']}/bids", headers=stranger.headers)
    assert code(refused) == (404, "ORGANIZATION_UNKNOWN")
    assert (await work.read(order))["bid_count"] == 2


async def test_an_agent_has_one_live_bid_of_at_most_the_amount(work, bidder):
    order = await work.open()
    assert code(await work.try_bid(bidder, order, "10.00000001")) == (422, "PRICE_TOO_HIGH")
    first = await work.bid(bidder, order, "10")
    assert code(await work.try_bid(bidder, order)) == (409, "BID_EXISTS")
    assert (await work.withdraw(bidder, first)).json() == {"deleted": True}
    assert (await work.read(order))["bid_count"] == 0
    await work.bid(bidder, order, "9")
    assert [one["status"] for one in await work.bids(bidder, order)] == ["withdrawn", "live"]


async def test_a_bid_is_withdrawn_by_its_agent_once(work, bidder):
    order = await work.open()
    bid = await work.bid(bidder, order)
    assert code(await work.withdraw(await work.registry.agent(), bid)) == (404, "BID_UNKNOWN")
    assert (await work.withdraw(bidder, bid)).status_code == 200
    refused = await work.withdraw(bidder, bid)
    assert code(refused) == (409, "BID_ENDED")
    assert refused.json()["error"]["context"] == {"state": "withdrawn"}


async def test_bids_bind_from_the_end_of_bidding_until_the_order_expires(work, bidder):
    order = await work.open()
    bid = await work.bid(bidder, order)
    await work.elapse(order, 6)
    assert code(await work.withdraw(bidder, bid)) == (409, "BIDDING_ENDED")
    assert code(await work.try_bid(await work.registry.agent(), order)) == (409, "BIDDING_ENDED")
    awarded = await work.award(bid)
    assert (awarded.status_code, awarded.json()["status"]) == (200, "EXECUTED")


async def test_an_award_makes_a_funded_contract_that_is_accepted(work, bidder):
    parts = [
        {"title": "Draft", "amount": "3"},
        {"title": "Proofs", "amount": "3"},
        {"title": "Rest", "amount": "4"},
    ]
    order = await work.open(milestones=parts)
    bid = await work.bid(bidder, order, "7.77777777")
    assert await work.held() == ("39.95", "10.05")
    awarded = await work.award(bid)
    assert awarded.status_code == 200, awarded.text
    request = awarded.json()
    assert (request["kind"], request["status"]) == ("award", "EXECUTED")
    contract = await contract_of(bidder, awarded)
    expected = {
        "version": 2,
        "status": "ACCEPTED",
        "funded": True,
        "amount": "7.77777777",
        "contractor_did": work.treasury,
        "provider_did": bidder.did,
        "title": order["title"],
        "terms": order["spec"],
        "acceptance_criteria": order["acceptance_criteria"],
    }
    assert {name: contract[name] for name in expected} == expected
    # 3 of 10 of the price, rounded down; the last one has the rest.
    assert [one["amount"] for one in contract["milestones"]] == ["2.33333333", "2.33333333", "3.11111111"]
    accepted = datetime.fromisoformat(contract["accepted_at"])
    assert datetime.fromisoformat(contract["submit_by"]) - accepted == timedelta(days=7)
    assert datetime.fromisoformat(contract["review_by"]) - accepted == timedelta(days=10)
    assert [one["act"] for one in contract["history"]] == ["awarded", "accepted"]
    # The price and its fee at the rate of the order are held, the difference is free.
    assert await work.held() == ("42.18333334", "7.81666666")
    read = await work.read(order)
    assert (read["status"], read["contract_id"], read["contract_status"]) == (
        "AWARDED",
        contract["id"],
        "ACCEPTED",
    )


async def test_the_other_bids_are_lost(work, bidder):
    rival, order = await work.registry.agent(), await work.open()
    won, lost = await work.bid(bidder, order), await work.bid(rival, order)
    assert (await work.award(won)).status_code == 200
    assert [one["status"] for one in await work.bids(work.guild.owner, order)] == ["won", "lost"]
    refused = await work.award(lost)
    assert code(refused) == (409, "WORK_ORDER_NOT_OPEN")
    assert refused.json()["error"]["context"] == {"state": "AWARDED"}


async def test_the_status_of_the_contract_is_read_from_the_contract(work, bidder):
    order = await work.open()
    contract = await contract_of(bidder, await work.award(await work.bid(bidder, order)))
    path = f"/contracts/{contract['id']}/submit"
    assert (await work.registry.post(path, json={}, headers=bidder.headers)).status_code == 200
    assert (await work.read(order))["contract_status"] == "SUBMITTED"
    approved = await work.act(contract["id"], "approve-completion")
    assert (approved.status_code, approved.json()["status"]) == (200, "COMPLETED")
    assert (await work.read(order))["contract_status"] == "COMPLETED"
    assert await work.held() == ("41.96", "0")


async def test_a_cancelled_order_frees_what_it_held(work, bidder):
    order = await work.open()
    bid = await work.bid(bidder, order)
    cancelled = await work.cancel(order)
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "CANCELLED")
    assert await work.held() == ("50", "0")
    assert [one["status"] for one in await work.bids(bidder, order)] == ["lost"]
    for refused in (await work.cancel(order), await work.award(bid), await work.try_bid(bidder, order)):
        assert code(refused) == (409, "WORK_ORDER_NOT_OPEN")


async def test_an_order_expires_fourteen_days_after_the_end_of_bidding(work, bidder):
    order = await work.open()
    bid = await work.bid(bidder, order)
    await work.elapse(order, 18)
    await work.run_jobs()
    assert (await work.read(order))["status"] == "OPEN"
    await work.elapse(order, 1.01)
    assert code(await work.award(bid)) == (409, "WORK_ORDER_NOT_OPEN")
    await work.run_jobs()
    assert (await work.read(order))["status"] == "EXPIRED"
    assert await work.held() == ("50", "0")
    assert [name for name, _ in await events_of(work, order)] == [
        "WorkOrderOpened",
        "WorkOrderBid",
        "WorkOrderClosed",
        "WorkOrderBidLost",
    ]


async def test_each_step_is_an_event(work, bidder):
    order = await work.open()
    bid = await work.bid(bidder, order)
    contract = await contract_of(bidder, await work.award(bid))
    named = {"work_order_id": order["id"], "treasury_did": work.treasury}
    assert await events_of(work, order) == [
        (
            "WorkOrderOpened",
            {
                **named,
                "title": order["title"],
                "amount": "10",
                "bids_until": order["bids_until"].replace("Z", "+00:00"),
            },
        ),
        (
            "WorkOrderBid",
            {**named, "bid_id": bid["bid_id"], "provider_did": bidder.did, "amount": "8", "status": "live"},
        ),
        (
            "WorkOrderAwarded",
            {**named, "contract_id": contract["id"], "provider_did": bidder.did, "amount": "8"},
        ),
    ]


async def test_a_bid_is_public_nowhere(work, bidder):
    await work.bid(bidder, await work.open())
    page = await work.registry.get("/public/eventstore-recent")
    assert "WorkOrderBid" not in page.text


async def test_members_and_the_owner_of_the_bidder_receive_webhooks(registry, work):
    owner, stranger = await registry.developer(), await registry.developer()
    bidder = await owner.agent()
    for one in (work.guild.owner, owner, stranger):
        await subscribe(one, "work_order.opened", "work_order.bid", "work_order.awarded", "work_order.closed")
    await work.award(await work.bid(bidder, await work.open()))
    await work.cancel(await work.open())
    sent = Counter(kind for kind, _ in await notified_of(registry, work.treasury))
    assert sent == {
        "work_order.opened": 2,
        "work_order.bid": 2,
        "work_order.awarded": 2,
        "work_order.closed": 1,
    }


@pytest.mark.parametrize("reason", ["awarded", "cancelled", "expired"])
async def test_the_owner_of_a_losing_bid_is_notified_once_and_learns_of_no_other_bid(registry, work, reason):
    owner, rival, winner = [await registry.developer() for _ in range(3)]
    for one in (owner, rival, work.guild.owner):
        await subscribe(one, "work_order.bid_lost")
    order, losing = await work.open(), await owner.agent()
    await work.withdraw(losing, await work.bid(losing, order, "9"))
    lost = await work.bid(losing, order)
    other = await work.bid(await rival.agent(), order)
    bid = await work.bid(await winner.agent(), order)
    assert await notified_of(registry, losing.did) == []
    match reason:
        case "awarded":
            assert (await work.award(bid)).status_code == 200
        case "cancelled":
            assert (await work.cancel(order)).status_code == 200
        case _:
            await work.elapse(order, 20)
            await work.run_jobs()
    named = {"work_order_id": order["id"], "reason": reason}
    for one in (lost, other):
        data = {**named, "bid_id": one["bid_id"], "provider_did": one["provider_did"]}
        assert await notified_of(registry, one["provider_did"]) == [("work_order.bid_lost", data)]
    of_winner = [kind for kind, data in await events_of(work, order) if data.get("bid_id") == bid["bid_id"]]
    assert of_winner == ["WorkOrderBid"] + ([] if reason == "awarded" else ["WorkOrderBidLost"])
    page = await registry.get("/public/eventstore-recent")
    assert "WorkOrderBidLost" not in page.text
    await require_schemas_kept(registry.database, "WorkOrderBidLost")


async def test_a_repeated_request_is_carried_out_once(work, bidder):
    headers = {**work.guild.owner.headers, "Idempotency-Key": "open-1"}
    body = {
        "title": "Once",
        "spec": "Once.",
        "acceptance_criteria": "Once.",
        "amount": "10",
        "bids_until": in_days(1),
        "submit_days": 1,
        "review_days": 1,
    }
    path = f"/organizations/{work.guild.slug}/work-orders"
    first, second = [await work.registry.post(path, json=body, headers=headers) for _ in range(2)]
    assert (first.status_code, second.status_code, first.json()) == (201, 201, second.json())
    assert await work.held() == ("39.95", "10.05")
    order, sent = first.json(), {**bidder.headers, "Idempotency-Key": "bid-1"}
    offer = {"price": "8", "eta_seconds": 60}
    made = [
        await work.registry.post(f"/work-orders/{order['id']}/bids", json=offer, headers=sent)
        for _ in range(2)
    ]
    assert [one.status_code for one in made] == [201, 201]
    assert made[0].json() == made[1].json()


async def test_orders_of_a_suspended_organization_leave_the_board_and_take_no_bid(registry, bidder):
    work, enforcer = await offering(registry), await registry.administrator("admin_enforcement")
    order = await work.open()
    bid = await work.bid(bidder, order)

    async def is_listed() -> bool:
        page = await registry.get("/work-orders", params={"limit": 100})
        return order["id"] in {one["id"] for one in page.json()["items"]}

    async def decide(act: str) -> None:
        path = f"/admin/organizations/{work.guild.slug}/{act}"
        answer = await registry.post(path, json={"reason": "Spam."}, headers=enforcer.headers)
        assert answer.status_code == 200, answer.text
        await work.follow(work.treasury)

    assert await is_listed()
    await decide("suspend")
    assert not await is_listed()
    assert code(await work.try_bid(await registry.agent(), order)) == (409, "ORGANIZATION_NOT_ACTIVE")
    assert code(await work.award(bid)) == (409, "ORGANIZATION_NOT_ACTIVE")
    await decide("reinstate")
    assert await is_listed()
    assert (await work.award(bid)).status_code == 200


async def test_bids_of_an_agent_that_ends_are_withdrawn(registry, work):
    owner = await registry.developer()
    agent, order = await owner.agent(), await work.open()
    bid = await work.bid(agent, order)
    enforcer = await registry.administrator("admin_enforcement")
    body = {"agent_dids": [agent.did], "reason": "Fraud."}
    for act in ("suspend", "revoke"):
        done = await registry.post(f"/admin/agents/bulk/{act}", json=body, headers=enforcer.headers)
        assert done.status_code == 200, done.text
    assert code(await work.award(bid)) == (403, "ACCESS_DENIED")
    await work.follow(agent.did)
    assert (await work.read(order))["bid_count"] == 0
    assert [one["status"] for one in await work.bids(work.guild.owner, order)] == ["withdrawn"]


async def test_an_organization_with_an_open_order_is_not_deleted(registry):
    work = await offering(registry, "10.05")
    order = await work.open()
    refused = await work.guild.send(work.guild.owner, "DELETE")
    assert code(refused) == (409, "ORGANIZATION_BLOCKED")
    assert {one["kind"] for one in refused.json()["blockers"]} == {"work_order", "escrow"}
    await work.cancel(order)


async def test_the_auditor_compares_the_holds_of_orders_with_the_open_ones(registry_of_test):
    work = await offering(registry_of_test)
    order = await work.open()
    database = registry_of_test.database
    sound = await database.transaction(auditor.audit, one_snapshot=True)
    assert (sound.status, sound.findings["work_orders"]) == ("OK", [])
    await database.transaction(
        lambda tx: tx.execute(
            "UPDATE treasury_work_order SET status = 'CANCELLED', ended_at = now() WHERE id = $1::text::uuid",
            order["id"],
        )
    )
    breach = await database.transaction(auditor.audit, one_snapshot=True)
    assert (breach.status, breach.checks["escrow"]) == ("BREACH", "BREACH")
    assert [one.split()[0] for one in breach.findings["work_orders"]] == [order["id"]]
