"""Revenue of organizations with points (specification 7 AA): levied each day, distributed to the holders, claimed and paid."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from hansa.foundation.values.money import format_amount
from hansa.rooms import auditor, ledger
from hansa.rooms.exchange.revenue import COUNT_REVENUE
from hansa.rooms.exchange.revenue.levying import levy_or_collect
from tests.all_events import require_schemas_kept
from tests.exchange import Market, in_days, market
from tests.organizations import code
from tests.registry import StartRegistry, at_once
from tests.revenue import Earning, earning
from tests.running_jobs import run_scheduled_transactions, time_passes


@pytest.fixture
async def at(market_of_file: Market) -> AsyncIterator[Earning]:
    """A listing of 1,000 points that share a tenth of the revenue; one agent has 20 of them. Its account is solvent after each conversation."""
    found = await earning(market_of_file)
    yield found
    await found.require_sound()
    await require_schemas_kept(market_of_file.registry.database)


async def test_the_share_of_the_points_that_are_held_is_levied_each_day(at: Earning):
    customer = await at.agent()
    await at.pay(customer, at.treasury, "50")
    await at.pay(customer, at.own.did, "30")
    before = await at.units(at.treasury)
    await at.next_day()
    # A tenth of 80 for 1,000 points, of which 20 are held.
    assert await at.levies() == [("80", "0.16", "0.16", "0")]
    assert await at.units(at.treasury) == at.less(before, "0.16")
    await require_schemas_kept(at.market.registry.database, "RevenueLevied", "RevenueDistributed")


async def test_payments_of_related_agents_are_no_revenue(at: Earning):
    member = await at.guild.member("viewer")
    await at.pay(await member.agent(), at.treasury, "50")
    await at.pay(at.holder, at.own.did, "10")
    await at.next_day()
    assert await at.levies() == [("10", "0.02", "0.02", "0")]


async def test_a_day_is_levied_once_and_what_comes_later_is_levied_the_next_day(at: Earning):
    customer = await at.agent()
    await at.pay(customer, at.treasury, "10")
    await at.next_day()
    await at.pay(customer, at.treasury, "5")
    await at.levy()
    assert await at.levies() == [("10", "0.02", "0.02", "0")]
    await at.next_day()
    assert await at.levies() == [("10", "0.02", "0.02", "0"), ("5", "0.01", "0.01", "0")]


async def test_holders_are_paid_each_day_from_a_hundredth_of_a_unit_on(at: Earning):
    before = await at.units(at.holder.did)
    await at.pay(await at.agent(), at.treasury, "50")
    await at.next_day()
    assert await at.units(at.holder.did) == at.more(before, "0.1")
    assert (await at.owed(at.holder), await at.units(at.account)) == ("0", "0")


async def test_a_smaller_distribution_waits_for_its_claim(at: Earning):
    before = await at.units(at.holder.did)
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()
    assert (await at.owed(at.holder), await at.units(at.holder.did)) == ("0.008", before)
    claimed = await at.claim(at.holder, key="once")
    assert (claimed.status_code, claimed.json()) == (200, {"paid": "0.008"})
    again = await at.claim(at.holder, key="once")
    assert again.json() == {"paid": "0.008"}
    assert (await at.claim(at.holder, at.ref)).json() == {"paid": "0"}
    assert await at.units(at.holder.did) == at.more(before, "0.008")


async def test_remainders_are_carried_to_the_last_unit(at: Earning):
    customer = await at.agent()
    # A tenth of 1 for 1,000 points, of which 20 are held: 0.002 of the smallest unit.
    for _ in range(3):
        await at.pay(customer, at.treasury, "0.00000200")
        await at.next_day()
    found = [(revenue, due) for revenue, due, _, _ in await at.levies()]
    assert found == [("0.000002", "0"), ("0.000002", "0"), ("0.000002", "0.00000001")]
    assert (await at.owed(at.holder), await at.units(at.account)) == ("0", "0.00000001")


async def test_distributions_are_settled_before_points_are_transferred(at: Earning):
    other = await at.holder_owner.agent()
    await at.pay(await at.agent(), at.treasury, "2")
    await at.next_day()
    moved = await at.move(at.holder, other.did, 5)
    assert moved.status_code == 200, moved.text
    assert {name: moved.json()[name] for name in ("ref", "to", "qty")} == {
        "ref": at.ref,
        "to": other.did,
        "qty": 5,
    }
    assert (await at.owed(at.holder), await at.owed(other)) == ("0.004", "0")
    await at.pay(await at.agent(), at.treasury, "2")
    await at.next_day()
    assert await at.owed(other) == "0.001"
    assert (await at.claim(at.holder)).json() == {"paid": "0.007"}


async def test_points_go_to_agents_of_the_same_owner_alone(at: Earning):
    stranger = await at.agent()
    assert code(await at.move(at.holder, stranger.did, 1)) == (403, "POINTS_OF_OTHERS")
    assert code(await at.move(at.holder, "did:hansa:nobody", 1)) == (403, "POINTS_OF_OTHERS")
    assert code(await at.move(at.holder, at.holder.did, 1)) == (422, "POINTS_TO_SELF")
    assert code(await at.move(at.holder, None, 21)) == (409, "INSUFFICIENT_POINTS")
    assert await at.market.points(at.listing) == {at.holder.did: 20}


async def test_points_that_are_given_up_share_no_revenue_and_release_their_agent(at: Earning):
    given = await at.move(at.holder, None, 10)
    assert (given.status_code, given.json()["to"]) == (200, None)
    await at.pay(await at.agent(), at.treasury, "50")
    await at.next_day()
    assert await at.levies() == [("50", "0.05", "0.05", "0")]
    assert (await at.move(at.holder, None, 10)).status_code == 200
    await at.pay(await at.agent(), at.treasury, "50")
    await at.next_day()
    assert (await at.levies())[1] == ("50", "0", "0", "0")
    assert (await at.market.try_read(at.ref)).json()["sold"] == 20


async def test_a_shortfall_is_public_arrears_and_nothing_leaves_the_treasury_until_they_are_paid(at: Earning):
    customer = await at.agent()
    await at.pay(customer, at.own.did, "50")
    await at.empty()
    await at.next_day()
    assert await at.levies() == [("50", "0.1", "0", "0.1")]
    assert (await at.market.read(at.listing))["arrears"] == "0.1"
    assert [one["solvency"] for one in (await at.invariant())["listings"] if one["ref"] == at.ref] == ["LOW"]
    await at.pay(customer, at.treasury, "0.04")
    refused = await at.pay_out("0.01")
    assert code(refused) == (409, "IN_ARREARS")
    assert refused.json()["error"]["context"]["arrears"] == "0.1"
    await at.levy()
    assert (await at.market.read(at.listing))["arrears"] == "0.06"
    await at.pay(customer, at.treasury, "1")
    await at.levy()
    assert (await at.market.read(at.listing))["arrears"] == "0"
    assert (await at.pay_out("0.01")).status_code == 201


async def test_halt_and_delisting_do_not_end_the_levy(at: Earning):
    customer = await at.agent()
    await at.market.decide(at.listing, "halt")
    await at.pay(customer, at.treasury, "10")
    await at.next_day()
    await at.market.decide(at.listing, "delist")
    await at.pay(customer, at.treasury, "10")
    await at.next_day()
    assert [due for _, due, _, _ in await at.levies()] == ["0.02", "0.02"]
    released = await at.guild.send(at.guild.owner, "POST", f"/agents/{at.own.did}/release")
    assert code(released) == (409, "ORGANIZATION_LISTED")


async def test_the_last_levy_is_paid_out_at_the_end_of_the_term_and_what_is_owed_stays_claimable(at: Earning):
    customer = await at.agent()
    await at.pay(customer, at.treasury, "4")
    await at.market.elapse(at.listing, 366)
    await at.levy()
    assert (await at.market.read(at.listing))["status"] == "EXPIRED"
    assert await at.levies() == [("4", "0.008", "0.008", "0")]
    await at.pay(customer, at.treasury, "4")
    await at.next_day()
    assert len(await at.levies()) == 1
    assert code(await at.move(at.holder, None, 1)) == (409, "LISTING_STATE")
    assert (await at.claim(at.holder)).json() == {"paid": "0.008"}


async def test_a_payment_that_commits_late_is_levied_the_next_day(at: Earning):
    customer, ready, go = await at.agent(), asyncio.Event(), asyncio.Event()
    paying = asyncio.create_task(at.pay_in_transaction(customer, at.treasury, "10", ready, go))
    await ready.wait()
    await at.next_day()
    assert [revenue for revenue, *_ in await at.levies()] == ["0"]
    go.set()
    await paying
    await at.next_day()
    assert [revenue for revenue, *_ in await at.levies()] == ["0", "10"]


async def test_the_last_levy_waits_for_payments_that_began_before_the_end_of_the_term(at: Earning):
    customer, ready, go = await at.agent(), asyncio.Event(), asyncio.Event()
    paying = asyncio.create_task(at.pay_in_transaction(customer, at.treasury, "10", ready, go))
    await ready.wait()
    await at.market.elapse(at.listing, 366)
    await at.levy()
    assert await at.levies() == []
    go.set()
    await paying
    await time_passes(at.market.registry.runtime, 60)
    await at.levy()
    assert [revenue for revenue, *_ in await at.levies()] == ["10"]


async def test_a_levy_at_the_same_moment_in_two_processes_is_made_once(at: Earning):
    await at.pay(await at.agent(), at.treasury, "10")
    await at.market.elapse(at.listing, 1)
    runtime = at.market.registry.runtime
    await run_scheduled_transactions(runtime, COUNT_REVENUE)
    await at_once(
        *(runtime.database.transaction(lambda tx: levy_or_collect(tx, at.ref, runtime)) for _ in range(4))
    )
    assert await at.levies() == [("10", "0.02", "0.02", "0")]


async def test_claims_at_the_same_moment_are_paid_once(at: Earning):
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()
    paid = await at_once(*(at.claim(at.holder) for _ in range(4)))
    assert sorted(answer.json()["paid"] for answer in paid) == ["0", "0", "0", "0.008"]


async def test_distributions_are_settled_before_a_trade(at: Earning):
    buyer = await at.agent()
    await at.pay(await at.agent(), at.treasury, "2")
    await at.next_day()
    for agent, side in ((at.holder, "sell"), (buyer, "buy")):
        order = {"listing": at.ref, "side": side, "qty": 10, "order_type": "limit", "price": "2"}
        assert (await at.market.post(agent, "/agora/orders", order)).status_code == 201
    assert (await at.owed(at.holder), await at.owed(buyer)) == ("0.004", "0")
    await at.pay(await at.agent(), at.treasury, "2")
    await at.next_day()
    assert (await at.owed(at.holder), await at.owed(buyer)) == ("0.006", "0.002")


async def test_distributions_of_a_suspended_agent_wait_and_those_of_a_revoked_one_are_unclaimed(at: Earning):
    registry = at.market.registry
    await at.enforce("suspend", at.holder)
    await at.pay(await at.agent(), at.treasury, "50")
    await at.next_day()
    assert await at.units(at.account) == "0.1"
    await at.enforce("revoke", at.holder)
    await at.pay(await at.agent(), at.treasury, "50")
    await at.next_day()
    assert await at.units(at.account) == "0"
    book = ledger.Book.of(registry.settings)
    unclaimed = await registry.database.read(lambda tx: ledger.unclaimed_units(tx, book))
    (one,) = (one for one in unclaimed if one.closed_did == at.holder.did)
    assert (format_amount(one.amount), one.counterparty, one.transfer_id) == ("0.2", at.account, None)
    heir = await at.holder_owner.agent()
    before = await at.units(heir.did)
    await registry.database.transaction(
        lambda tx: ledger.claim_unclaimed(tx, tx_id=one.tx_id, payee=heir.did, ref="ticket", book=book)
    )
    assert await at.units(heir.did) == at.more(before, "0.2")


async def test_points_that_are_given_up_leave_what_was_distributed_before(at: Earning):
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()
    assert (await at.move(at.holder, None, 20)).status_code == 200
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()
    assert await at.owed(at.holder) == "0.008"
    assert (await at.claim(at.holder)).json() == {"paid": "0.008"}


async def test_work_is_not_offered_while_the_organization_is_in_arrears(at: Earning):
    customer = await at.agent()
    await at.pay(customer, at.own.did, "50")
    await at.empty()
    await at.next_day()
    body = {
        "title": "Work",
        "spec": "Work.",
        "acceptance_criteria": "Done.",
        "amount": "1",
        "bids_until": in_days(1),
        "submit_days": 2,
        "review_days": 2,
    }
    refused = await at.guild.send(at.guild.owner, "POST", "/work-orders", json=body)
    assert code(refused) == (409, "IN_ARREARS")
    blocked = await at.guild.send(at.guild.owner, "DELETE")
    assert blocked.status_code == 409


async def test_the_auditor_finds_an_account_that_has_less_than_is_owed(start_registry: StartRegistry):
    at = await earning(await market(await start_registry(exchange_enabled=True)))
    database = at.market.registry.database
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()

    async def found() -> tuple[str, str, list[str]]:
        verdict = await database.transaction(auditor.audit_from_zero, one_snapshot=True)
        return verdict.status, verdict.checks["solvency"], verdict.findings["insolvent"]

    assert await found() == ("OK", "SOLVENT", [])
    await database.transaction(
        lambda tx: tx.execute("UPDATE exchange_holding SET owed = owed + 5 WHERE ref = $1", at.ref)
    )
    assert await found() == ("BREACH", "BREACH", [f"{at.ref} -5"])
    assert (await at.invariant())["solvency"] == "BREACH"


async def test_arrears_are_no_breach(start_registry: StartRegistry):
    at = await earning(await market(await start_registry(exchange_enabled=True)))
    await at.pay(await at.agent(), at.own.did, "50")
    await at.empty()
    await at.next_day()
    database = at.market.registry.database
    verdict = await database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.checks["solvency"]) == ("OK", "LOW")
    assert (await at.market.registry.supply())["status"] == "OK"


async def test_claims_and_levies_go_on_while_the_exchange_is_off(start_registry: StartRegistry):
    at = await earning(await market(await start_registry(exchange_enabled=True)))
    object.__setattr__(at.market.registry.runtime.settings, "exchange_enabled", False)
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()
    other = await at.holder_owner.agent()
    assert code(await at.move(at.holder, other.did, 1)) == (403, "exchange_disabled")
    assert (await at.claim(at.holder, at.ref)).json() == {"paid": "0.008"}


async def test_an_agent_gives_its_points_up_while_the_exchange_is_off_so_that_it_can_end(
    start_registry: StartRegistry,
):
    at = await earning(await market(await start_registry(exchange_enabled=True)))
    registry = at.market.registry
    object.__setattr__(registry.runtime.settings, "exchange_enabled", False)

    async def ended() -> httpx2.Response:
        return await registry.http.delete("/api/v1/agents/me", headers=at.holder.headers)

    assert code(await ended()) == (409, "AGENT_HOLDS_POINTS")
    points = (await at.market.points(at.listing))[at.holder.did]
    assert (await at.move(at.holder, None, points)).status_code == 200
    # Units remain, which the agent transfers before it ends.
    assert code(await ended()) == (409, "ACCOUNT_HOLDS_UNITS")


async def test_nobody_pays_into_the_account_of_a_listing(at: Earning):
    await at.pay(await at.agent(), at.treasury, "4")
    await at.next_day()
    refused = await at.market.registry.post(
        "/teg/transfer",
        json={"receiver_agent_id": at.account, "amount": "1"},
        headers=at.holder.headers,
    )
    assert refused.status_code in {403, 404, 422}, refused.text
    assert await at.units(at.account) == "0.008"


async def test_the_term_of_a_delisted_listing_ends_with_its_last_levy_and_releases_everybody(at: Earning):
    await at.market.decide(at.listing, "delist")
    await at.pay(await at.agent(), at.treasury, "4")
    await at.market.elapse(at.listing, 366)
    await at.levy()
    assert (await at.market.read(at.listing))["status"] == "DELISTED"
    assert [due for _, due, _, _ in await at.levies()] == ["0.008"]
    await at.empty()
    released = await at.guild.send(at.guild.owner, "POST", f"/agents/{at.own.did}/release")
    assert released.status_code == 200, released.text
