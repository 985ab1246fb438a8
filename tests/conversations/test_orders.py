"""Orders of the exchange (specification 7 AA): matched by price and number, paid and recorded in one commit."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from hansa.rooms.exchange.trading import rules
from tests.all_events import require_schemas_kept
from tests.exchange import Market
from tests.organizations import code
from tests.registry import TestAgent, at_once
from tests.trading import Floor, floor


@pytest.fixture
async def at(market_of_file: Market) -> AsyncIterator[Floor]:
    """A listing of which one agent has 20 points. Points and units are sound after each conversation, and the journal replays it."""
    found = await floor(market_of_file)
    yield found
    await found.require_sound()
    await require_schemas_kept(market_of_file.registry.database)


async def test_a_resting_buy_holds_its_units_and_the_seller_pays_the_fee(at: Floor):
    seller, buyer = await at.parties(2)
    bid = await at.order(buyer, "buy", 8, "3")
    assert {name: bid[name] for name in ("status", "remaining", "escrow_amount", "fills")} == {
        "status": "open",
        "remaining": 8,
        "escrow_amount": "24",
        "fills": [],
    }
    assert await at.units(buyer) == ("76", "24")
    sold = await at.order(seller, "sell", 5, "2.5")
    assert (sold["status"], sold["remaining"], sold["ended_because"]) == ("filled", 0, "filled")
    fill = {name: sold["fills"][0][name] for name in ("price", "qty", "fee")}
    assert fill == {"price": "3", "qty": 5, "fee": "0.075"}
    # 100 granted, 40 paid in the launch, 15 received less 0.5 %.
    assert await at.units(seller) == ("74.925", "0")
    bid = await at.read(buyer, bid)
    assert (bid["status"], bid["remaining"], bid["escrow_amount"]) == ("partially_filled", 3, "9")
    assert [(one["qty"], one["fee"]) for one in bid["fills"]] == [(5, "0")]
    assert await at.units(buyer) == ("76", "9")
    assert (await at.points(seller), await at.points(buyer)) == (15, 5)
    kinds = ("OrderPlaced", "TradeExecuted", "PointsMoved", "BookChanged", "OrderEnded")
    await require_schemas_kept(at.market.registry.database, *kinds)


async def test_a_taker_pays_its_fills_at_the_prices_of_the_makers_and_holds_the_rest(at: Floor):
    seller, buyer = await at.parties(2)
    dear = await at.order(seller, "sell", 2, "2.5")
    first = await at.order(seller, "sell", 3, "2")
    second = await at.order(seller, "sell", 3, "2")
    bought = await at.order(buyer, "buy", 10, "2.6")
    fills = [(fill["price"], fill["qty"]) for fill in bought["fills"]]
    assert fills == [("2", 3), ("2", 3), ("2.5", 2)]
    assert (bought["status"], bought["escrow_amount"]) == ("partially_filled", "5.2")
    assert await at.units(buyer) == ("77.8", "5.2")
    for order in (dear, first, second):
        assert (await at.read(seller, order))["status"] == "filled"
    trades = [fill["trade_id"] for fill in bought["fills"]]
    assert trades == [f"{at.ref}-{bought['seq'] + place}" for place in (1, 2, 3)]


async def test_a_market_order_takes_at_most_a_tenth_beyond_the_best_price(at: Floor):
    seller, buyer = await at.parties(2)
    for price in ("2", "2.2", "2.21"):
        await at.order(seller, "sell", 2, price)
    bought = await at.order(buyer, "buy", 10)
    assert [fill["price"] for fill in bought["fills"]] == ["2", "2.2"]
    assert (bought["status"], bought["remaining"], bought["ended_because"]) == ("cancelled", 6, "collar")
    assert await at.units(buyer) == ("91.6", "0")
    await at.order(buyer, "buy", 5, "2.21")
    nothing = await at.order(buyer, "buy", 1)
    assert (nothing["remaining"], nothing["ended_because"]) == (1, "ioc")


async def test_immediate_orders_never_rest(at: Floor):
    seller, buyer = await at.parties(2)
    await at.order(seller, "sell", 4, "2")
    whole = await at.order(buyer, "buy", 5, "2", time_in_force="fok")
    assert (whole["remaining"], whole["ended_because"], whole["fills"]) == (5, "fok", [])
    part = await at.order(buyer, "buy", 5, "2", time_in_force="ioc")
    assert (part["status"], part["remaining"], part["ended_because"]) == ("cancelled", 1, "ioc")
    assert await at.units(buyer) == ("92", "0")
    await at.order(seller, "sell", 4, "2")
    whole = await at.order(buyer, "buy", 4, "2", time_in_force="fok")
    assert whole["status"] == "filled"


async def test_an_order_that_is_only_posted_is_refused_where_it_would_trade(at: Floor):
    seller, buyer = await at.parties(2)
    await at.order(seller, "sell", 4, "2")
    assert code(await at.try_order(buyer, "buy", 1, "2", post_only=True)) == (409, "POST_ONLY")
    assert await at.units(buyer) == ("100", "0")
    assert (await at.order(buyer, "buy", 1, "1.99", post_only=True))["status"] == "open"


async def test_an_order_replaces_an_own_one_and_loses_its_priority(at: Floor):
    seller, buyer, other = await at.parties(3)
    first = await at.order(buyer, "buy", 4, "2")
    second = await at.order(other, "buy", 4, "2")
    again = await at.order(buyer, "buy", 6, "2", replaces=first["order_id"])
    assert (await at.read(buyer, first))["ended_because"] == "replaced"
    assert await at.units(buyer) == ("88", "12")
    await at.order(seller, "sell", 5, "2")
    assert (await at.read(other, second))["status"] == "filled"
    assert (await at.read(buyer, again))["remaining"] == 5
    gone = await at.try_order(buyer, "buy", 1, "2", replaces=first["order_id"])
    assert code(gone) == (409, "ORDER_ENDED")
    strange = await at.try_order(other, "buy", 1, "2", replaces=again["order_id"])
    assert code(strange) == (404, "ORDER_UNKNOWN")
    assert len((await at.mine(buyer))["orders"]) == 2
    # Points that the replaced order offered are free for the one that takes its place.
    offer = await at.order(seller, "sell", 15, "9")
    assert (await at.order(seller, "sell", 15, "8", replaces=offer["order_id"]))["status"] == "open"


async def test_an_order_ends_at_one_of_the_same_owner(at: Floor):
    seller, buyer, other = await at.parties(3)
    sibling = await at.owners[seller.did].agent()
    await at.order(buyer, "buy", 2, "3")
    # A second agent of an owner gets no units.
    assert (await other.transfer(sibling, "10")).status_code == 200
    own = await at.order(sibling, "buy", 2, "2.5")
    await at.order(buyer, "buy", 2, "2")
    sold = await at.order(seller, "sell", 6, "2")
    assert [fill["price"] for fill in sold["fills"]] == ["3"]
    assert (sold["status"], sold["remaining"], sold["ended_because"]) == ("cancelled", 4, "self_trade")
    assert (await at.read(sibling, own))["status"] == "open"


async def test_a_cancelled_order_frees_what_it_holds_and_ends_once(at: Floor):
    seller, buyer = await at.parties(2)
    bid, offer = await at.order(buyer, "buy", 4, "2"), await at.order(seller, "sell", 20, "3")
    assert code(await at.try_order(seller, "sell", 1, "3")) == (409, "INSUFFICIENT_POINTS")
    assert code(await at.cancel(seller, bid)) == (404, "ORDER_UNKNOWN")
    cancelled = await at.cancel(buyer, bid)
    assert cancelled.status_code == 200
    ended = {"status": "cancelled", "ended_because": "cancelled", "escrow_amount": "0", "remaining": 4}
    assert {name: cancelled.json()[name] for name in ended} == ended
    assert await at.units(buyer) == ("100", "0")
    assert code(await at.cancel(buyer, bid)) == (409, "ORDER_ENDED")
    assert (await at.cancel(seller, offer)).status_code == 200
    assert (await at.order(seller, "sell", 20, "3"))["status"] == "open"
    strange = await at.get(f"/agora/orders/{bid['order_id']}", seller)
    assert code(strange) == (404, "ORDER_UNKNOWN")


async def test_all_orders_at_a_listing_are_cancelled_at_once(at: Floor):
    _, buyer, other = await at.parties(3)
    for price in ("1", "2", "3"):
        await at.order(buyer, "buy", 1, price)
    await at.order(other, "buy", 1, "1")
    path = f"/api/v1/agora/orders?listing={at.ref}"
    cancelled = await at.market.registry.http.delete(path, headers=buyer.headers)
    assert (cancelled.status_code, cancelled.json()) == (200, {"cancelled": 3})
    assert await at.units(buyer) == ("100", "0")
    assert await at.levels() == ([["1", 1, 1]], [])


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"qty": 1.5}, "qty"),
        ({"qty": 0}, "qty"),
        ({"qty": "1"}, "qty"),
        ({"price": "2.005"}, "price"),
        ({"price": "0"}, "price"),
        ({"price": "10000000000", "qty": 2}, "qty"),
        ({"order_type": "market"}, "body"),
        ({"order_type": "limit", "price": None}, "body"),
        ({"time_in_force": "ioc", "post_only": True}, "post_only"),
        ({"time_in_force": "ioc", "ttl_seconds": 5}, "ttl_seconds"),
        ({"ttl_seconds": 90 * 86_400 + 1}, "ttl_seconds"),
        ({"side": "short"}, "side"),
        ({"listing": "no"}, "listing"),
        ({"client_order_id": ""}, "client_order_id"),
    ],
)
async def test_terms_that_do_not_fit_are_refused(at: Floor, terms, field):
    _, buyer = await at.parties(2)
    body = {"listing": at.ref, "side": "buy", "qty": 1, "order_type": "limit", "price": "2", **terms}
    refused = await at.market.post(buyer, "/agora/orders", body)
    assert refused.status_code == 422, refused.text
    assert refused.json()["error"]["field"] == field
    assert await at.units(buyer) == ("100", "0")


@pytest.mark.parametrize("time_in_force", ["gtc", "fok"])
@pytest.mark.parametrize("side", ["buy", "sell"])
async def test_a_market_order_is_immediate_or_cancelled_and_another_time_in_force_is_refused(
    at: Floor, time_in_force, side
):
    seller, buyer = await at.parties(2)
    await at.order(seller, "sell", 2, "2")
    await at.order(buyer, "buy", 2, "1")
    before = await at.levels()
    agent = buyer if side == "buy" else seller
    refused = await at.try_order(agent, side, 1, time_in_force=time_in_force)
    error = refused.json()["error"]
    assert (refused.status_code, error["field"]) == (422, "time_in_force")
    assert refused.json()["detail"] == "A market order is `ioc`."
    assert await at.levels() == before
    for stated in ({"time_in_force": "ioc"}, {}):
        made = await at.order(agent, side, 1, **stated)
        assert (made["status"], made["remaining"]) == ("filled", 0)


async def test_what_is_not_covered_or_not_traded_is_refused(at: Floor):
    seller, buyer = await at.parties(2)
    assert code(await at.try_order(buyer, "buy", 51, "2")) == (402, "INSUFFICIENT_BALANCE")
    await at.order(seller, "sell", 20, "6")
    assert code(await at.try_order(buyer, "buy", 20, "6")) == (402, "INSUFFICIENT_BALANCE")
    assert code(await at.try_order(buyer, "sell", 1, "2")) == (409, "INSUFFICIENT_POINTS")
    assert code(await at.try_order(buyer, "buy", 1, "2", listing="ZZZZ")) == (404, "LISTING_UNKNOWN")
    launching = await at.market.launching()
    not_yet = await at.try_order(buyer, "buy", 1, "2", listing=launching["ref"])
    assert (*code(not_yet), not_yet.json()["error"]["context"]) == (
        409,
        "LISTING_STATE",
        {"state": "LAUNCHING"},
    )
    assert await at.units(buyer) == ("100", "0")
    assert (await at.public("book"))["bids"] == []


async def test_a_halted_listing_lets_orders_be_cancelled_alone(at: Floor):
    _, buyer = await at.parties(2)
    bid = await at.order(buyer, "buy", 1, "2")
    await at.market.decide(at.listing, "halt")
    assert code(await at.try_order(buyer, "buy", 1, "2")) == (409, "LISTING_HALTED")
    assert (await at.cancel(buyer, bid)).status_code == 200
    await at.market.decide(at.listing, "resume")
    assert (await at.order(buyer, "buy", 1, "2"))["status"] == "open"


async def test_a_client_order_id_places_one_order_for_ever(at: Floor):
    _, buyer = await at.parties(2)
    first = await at.order(buyer, "buy", 2, "2", client_order_id="one")
    await at.cancel(buyer, first)
    again = await at.order(buyer, "buy", 2, "2", client_order_id="one")
    assert (again["order_id"], again["status"]) == (first["order_id"], "cancelled")
    other = await at.try_order(buyer, "buy", 3, "2", client_order_id="one")
    assert code(other) == (409, "CLIENT_ORDER_ID_USED")
    answers = await asyncio.gather(
        *(at.try_order(buyer, "buy", 1, "2", client_order_id="two") for _ in range(5))
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["order_id"] for answer in answers}) == 1
    assert await at.units(buyer) == ("98", "2")
    kept = [await at.try_order(buyer, "buy", 1, "2", "key") for _ in range(2)]
    assert kept[0].json() == kept[1].json()
    assert kept[1].headers["Idempotent-Replayed"] == "true"


async def test_an_order_expires_by_a_command_and_does_not_trade_after_its_time(at: Floor):
    seller, buyer = await at.parties(2)
    bid = await at.order(buyer, "buy", 2, "2", ttl_seconds=60)
    assert bid["expires_at"] is not None
    await at.pass_time(61)
    ended = await at.read(buyer, bid)
    assert (ended["status"], ended["ended_because"]) == ("expired", "expired")
    assert await at.units(buyer) == ("100", "0")
    late = await at.order(buyer, "buy", 2, "2", ttl_seconds=60)
    await at.make_due()
    sold = await at.order(seller, "sell", 2, "2")
    assert sold["fills"] == []
    assert (await at.read(buyer, late))["status"] == "expired"


async def test_a_suspended_agent_loses_its_orders(at: Floor):
    seller, buyer = await at.parties(2)
    bid, offer = await at.order(buyer, "buy", 2, "2"), await at.order(seller, "sell", 5, "3")
    await at.suspend(buyer)
    await at.follow()
    assert await at.levels() == ([], [["3", 5, 1]])
    ended = await at.row(bid)
    assert (ended["ended_because"], ended["remaining"]) == ("suspended", 2)
    assert await at.units(buyer) == ("100", "0")
    assert (await at.read(seller, offer))["status"] == "open"


async def test_a_maker_that_the_ledger_refuses_is_ended_and_the_order_judged_anew(at: Floor):
    seller, buyer, other = await at.parties(3)
    best = await at.order(buyer, "buy", 2, "3")
    await at.order(other, "buy", 2, "2")
    # The reactor has not run yet.
    await at.suspend(buyer)
    sold = await at.order(seller, "sell", 4, "2")
    assert [(fill["price"], fill["qty"]) for fill in sold["fills"]] == [("2", 2)]
    assert (sold["status"], sold["remaining"]) == ("partially_filled", 2)
    assert (await at.row(best))["ended_because"] == "suspended"
    assert await at.units(buyer) == ("100", "0")


async def test_open_orders_keep_an_agent_from_its_end(at: Floor):
    _, buyer = await at.parties(2)
    bid = await at.order(buyer, "buy", 1, "2")
    assert code(await at.end_agent(buyer)) == (409, "AGENT_HAS_ORDERS")
    await at.cancel(buyer, bid)
    assert code(await at.end_agent(buyer)) != (409, "AGENT_HAS_ORDERS")


async def test_a_spend_policy_judges_a_buy_and_gets_back_what_is_not_spent(at: Floor):
    seller, buyer = await at.parties(2)
    treasury = at.listing["treasury_did"]
    await at.govern(buyer, per_tx_max="20", per_day_max="30", allowlist=[seller.did])
    assert code(await at.try_order(buyer, "buy", 1, "2")) == (403, "SPEND_PAYEE_NOT_ALLOWED")
    await at.govern(buyer, per_tx_max="20", per_day_max="30", allowlist=[treasury])
    refused = await at.try_order(buyer, "buy", 7, "3")
    assert refused.status_code == 403
    await at.order(seller, "sell", 5, "2")
    bid = await at.order(buyer, "buy", 6, "3")
    # Five at 2, and one at 3 that is held.
    assert await at.spent(buyer) == "13"
    await at.cancel(buyer, bid)
    assert await at.spent(buyer) == "10"
    assert (await at.try_order(buyer, "buy", 7, "3")).status_code == 403
    assert (await at.order(buyer, "buy", 5, "3", time_in_force="ioc"))["fills"] == []
    assert await at.spent(buyer) == "10"


async def test_a_buy_over_the_limit_waits_for_the_owner(at: Floor):
    _, buyer = await at.parties(2)
    await at.govern(buyer, approval_over="5")
    asked = await at.try_order(buyer, "buy", 4, "2")
    assert code(asked) == (403, "SPEND_APPROVAL_REQUIRED")
    approval_id = asked.json()["error"]["context"]["approval_id"]
    assert await at.units(buyer) == ("100", "0")
    assert (await at.try_order(buyer, "buy", 4, "2", approval_id=approval_id)).status_code == 409
    await at.approve(buyer, approval_id)
    bid = await at.order(buyer, "buy", 4, "2", approval_id=approval_id)
    assert bid["escrow_amount"] == "8"
    assert (await at.try_order(buyer, "buy", 4, "2", approval_id=approval_id)).status_code == 409
    # Nobody is asked about what could not be paid anyway.
    assert code(await at.try_order(buyer, "buy", 60, "2")) == (402, "INSUFFICIENT_BALANCE")


async def test_of_two_buys_with_one_approval_at_the_same_moment_one_is_placed(at: Floor):
    _, buyer = await at.parties(2)
    await at.govern(buyer, per_day_max="50", approval_over="5")
    asked = await at.try_order(buyer, "buy", 4, "2")
    approval_id = asked.json()["error"]["context"]["approval_id"]
    await at.approve(buyer, approval_id)
    made = await at_once(*(at.try_order(buyer, "buy", 4, "2", approval_id=approval_id) for _ in range(3)))
    assert sorted(answer.status_code for answer in made) == [201, 409, 409]
    assert (await at.units(buyer), await at.spent(buyer)) == (("92", "8"), "8")


async def test_a_capability_bounds_the_buys_of_its_holder_alone(at: Floor):
    _, holder, other, delegator = await at.parties(4)
    caveats = {"permissions": ["exchange.trade"], "counterparty_allow": [at.listing["treasury_did"]]}
    body = {"holder_agent_did": holder.did, "caveats": caveats, "budget_total": "20"}
    issued = await at.market.post(delegator, "/agents/capabilities", body)
    assert issued.status_code == 200, issued.text
    shown = {"X-Capability-Token": issued.json()["token"]}
    order = {"listing": at.ref, "side": "buy", "qty": 5, "order_type": "limit", "price": "3"}

    async def buy(agent: TestAgent, **more: Any) -> httpx2.Response:
        headers = {**agent.headers, **shown}
        return await at.market.registry.post("/agora/orders", json=order | more, headers=headers)

    assert (await buy(other)).status_code == 403
    bid = await buy(holder)
    assert bid.status_code == 201, bid.text
    assert (await buy(holder, qty=2)).status_code == 403
    assert (await at.cancel(holder, bid.json())).status_code == 200
    assert (await buy(holder, qty=2)).status_code == 201


async def test_everybody_reads_the_book_the_trades_the_candles_and_the_holders(at: Floor):
    seller, buyer = await at.parties(2)
    for price in ("3", "3", "4"):
        await at.order(seller, "sell", 2, price)
    await at.order(buyer, "buy", 3, "3")
    await at.order(buyer, "buy", 1, "2.5")
    book = await at.public("book", depth=1)
    assert (book["bids"], book["asks"]) == ([["2.5", 1, 1]], [["3", 1, 1]])
    assert await at.levels() == ([["2.5", 1, 1]], [["3", 1, 1], ["4", 2, 1]])
    trades = (await at.public("trades"))["trades"]
    assert [(one["price"], one["qty"], one["taker_side"]) for one in trades] == [
        ("3", 1, "buy"),
        ("3", 2, "buy"),
    ]
    assert {(one["buyer"], one["seller"]) for one in trades} == {(buyer.did, seller.did)}
    assert not any(one["buyer_is_insider"] or one["seller_is_insider"] for one in trades)
    (candle,) = (await at.public("candles", tf="1w"))["candles"]
    figures = {"open": "3", "high": "3", "low": "3", "close": "3", "volume": 3, "notional": "9", "trades": 2}
    assert {name: candle[name] for name in figures} == figures
    assert candle["closed"] is False
    assert (await at.public("candles", since="2100-01-01T00:00:00Z"))["candles"] == []
    holders = await at.public("holders")
    assert [(one["did"], one["qty"], one["insider"]) for one in holders["holders"]] == [
        (seller.did, 17, False),
        (buyer.did, 3, False),
    ]
    assert (await at.market.read(at.listing))["last_price"] == "3"
    draft = await at.market.draft(await at.market.guild())
    for what in ("book", "trades", "candles", "holders"):
        assert (await at.get(f"/agora/listings/{draft['ref']}/{what}")).status_code == 404


async def test_an_agent_reads_its_own_orders_and_its_portfolio(at: Floor):
    seller, buyer = await at.parties(2)
    await at.order(seller, "sell", 4, "3")
    done = await at.order(buyer, "buy", 2, "3")
    rest = await at.order(buyer, "buy", 2, "1")
    page = await at.mine(buyer, limit=1)
    assert [one["order_id"] for one in page["orders"]] == [rest["order_id"]]
    page = await at.mine(buyer, limit=1, next=page["next"])
    assert ([one["order_id"] for one in page["orders"]], page["next"]) == ([done["order_id"]], None)
    assert [one["order_id"] for one in (await at.mine(buyer, status="open"))["orders"]] == [rest["order_id"]]
    assert (await at.mine(buyer, listing="ZZZZ"))["orders"] == []
    assert (await at.portfolio(buyer)) == {
        "holdings": [{"ref": at.ref, "qty": 2, "locked": 0, "cost": "6", "value": "6", "owed": "0"}],
        "escrow": "2",
    }
    # Two of twenty points left at the price of the launch.
    assert (await at.portfolio(seller))["holdings"] == [
        {"ref": at.ref, "qty": 18, "locked": 2, "cost": "36", "value": "54", "owed": "0"}
    ]


async def test_trades_are_public_orders_are_private_and_numbers_have_no_gap(at: Floor):
    seller, buyer = await at.parties(2)
    await at.order(seller, "sell", 2, "2")
    await at.order(buyer, "buy", 3, "2")
    cancelled = await at.order(buyer, "buy", 1, "1")
    await at.cancel(buyer, cancelled)
    everything = [
        (kind, data) for kind, data in await at.events() if kind not in {"ListingApproved", "LaunchClosed"}
    ]
    drawn = [data["seq"] for kind, data in everything if kind in {"OrderPlaced", "TradeExecuted"}]
    drawn += [
        data["seq"] for kind, data in everything if kind == "OrderEnded" and data["because"] == "cancelled"
    ]
    assert sorted(drawn) == list(range(min(drawn), max(drawn) + 1))
    trade = next(data for kind, data in everything if kind == "TradeExecuted")
    assert (trade["buyer"], trade["seller"], trade["qty"], trade["fee"]) == (buyer.did, seller.did, 2, "0.02")
    page = (await at.market.registry.get("/public/eventstore-recent")).text
    assert "TradeExecuted" in page
    assert "PointsMoved" in page
    assert "OrderPlaced" not in page
    assert "OrderEnded" not in page


async def test_an_agent_has_a_limited_number_of_open_orders(at: Floor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rules, "OPEN_MAX", 2)
    _, buyer = await at.parties(2)
    first, _ = [await at.order(buyer, "buy", 1, price) for price in ("1", "2")]
    assert code(await at.try_order(buyer, "buy", 1, "1")) == (409, "TOO_MANY_ORDERS")
    assert (await at.order(buyer, "buy", 1, "1", replaces=first["order_id"]))["status"] == "open"


async def test_a_delisted_listing_has_no_orders(at: Floor):
    seller, buyer = await at.parties(2)
    await at.order(buyer, "buy", 2, "2")
    await at.order(seller, "sell", 5, "3")
    assert (await at.market.decide(at.listing, "delist")).status_code == 200
    assert code(await at.try_order(buyer, "buy", 1, "2")) == (409, "LISTING_STATE")
    await at.market.run_jobs()
    assert await at.levels() == ([], [])
    assert await at.units(buyer) == ("100", "0")
    assert {one["ended_because"] for one in (await at.mine(seller))["orders"]} == {"delisted"}


async def test_orders_end_with_the_term_of_their_listing(at: Floor):
    _, buyer = await at.parties(2)
    bid = await at.order(buyer, "buy", 2, "2")
    await at.market.elapse(at.listing, 400)
    assert (await at.market.read(at.listing))["status"] == "EXPIRED"
    assert (await at.read(buyer, bid))["ended_because"] == "expired"
    assert await at.units(buyer) == ("100", "0")


async def test_an_agent_without_the_role_or_of_no_kind_is_refused(at: Floor):
    _, buyer = await at.parties(2)
    body = {"listing": at.ref, "side": "buy", "qty": 1, "order_type": "limit", "price": "2"}
    assert (await at.market.registry.post("/agora/orders", json=body)).status_code == 401
    assert (await at.market.post(at.market.platform, "/agora/orders", body)).status_code == 401
    await at.put_authz(buyer, roles=[])
    assert code(await at.try_order(buyer, "buy", 1, "2")) == (403, "PERMISSION_MISSING")
    unknown = await at.get(f"/agora/orders/{uuid4()}", at.agents[0])
    assert code(unknown) == (404, "ORDER_UNKNOWN")
