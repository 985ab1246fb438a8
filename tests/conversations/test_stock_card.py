"""The stock card of the exchange (specification 7 AA): closes and listings of a day, signed by the registry card."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hansa.rooms import auditor
from hansa.rooms.auditor.cycle import audit_on_request
from hansa.rooms.exchange.cards import CLOSE_DAYS, MAKE_STOCK_CARD
from hansa.rooms.exchange.trading import COUNT_TRADES
from hansa_verify import read_json, read_keys, verify_registry_card, verify_stock_card
from tests.exchange import Market, market
from tests.organizations import code
from tests.registry import StartRegistry, TestRegistry
from tests.running_jobs import run_due, run_scheduled_transactions
from tests.trading import Floor, floor


@pytest.fixture
async def at(market_of_file: Market) -> Floor:
    return await floor(market_of_file)


async def stock_card(exchange: Market) -> dict[str, Any]:
    answer = await exchange.registry.get("/agora/stock-card")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def signed(exchange: Market) -> dict[str, Any]:
    """The block `fees.exchange` of the registry card."""
    card = (await exchange.registry.http.get("/.well-known/registry-card.json")).json()
    return card["fees"]["exchange"]


async def a_day_earlier(at: Floor) -> None:
    """Let every trade of the listing have been made yesterday, and count them."""

    async def earlier(tx: Any) -> None:
        await tx.execute(
            "UPDATE exchange_trade SET recorded_at = recorded_at - interval '1 day' WHERE ref = $1", at.ref
        )

    await at.market.registry.database.transaction(earlier)
    await at.market.elapse(at.listing, 1)
    await run_scheduled_transactions(at.market.registry.runtime, COUNT_TRADES)


async def make(exchange: Market) -> None:
    """Run the job that an act enqueued."""
    await run_due(exchange.registry.runtime, MAKE_STOCK_CARD)


async def new_day(exchange: Market) -> None:
    """Let the stock card be of an earlier day, and close the last one."""
    await exchange.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE exchange_stock_card SET day = day - 1, document = replace(document, day::text, (day - 1)::text)"
        )
    )
    await run_scheduled_transactions(exchange.registry.runtime, CLOSE_DAYS)


async def made(exchange: Market) -> datetime:
    """When the stock card was made."""
    found = "SELECT made_at FROM exchange_stock_card"
    return await exchange.registry.database.read(lambda tx: tx.fetchval(found))


def of(card: dict[str, Any], part: str, ref: str) -> Any:
    return next((one for one in card[part] if one["ref"] == ref), None)


async def test_the_registry_card_signs_the_stock_card_and_everybody_can_verify_it(at: Floor):
    await new_day(at.market)
    http = at.market.registry.http
    text = (await http.get("/api/v1/agora/stock-card")).text
    card_text = (await http.get("/.well-known/registry-card.json")).text
    keys = read_keys(read_json((await http.get("/.well-known/registry-jwks.json")).text))
    verdict = verify_stock_card(text, card_text, keys)
    assert (verdict.code, [step.name for step in verdict.steps]) == (
        "verified",
        ["stock_card", "card", "digest"],
    )
    leaves = verify_registry_card(card_text, keys).signed
    assert leaves is not None
    assert leaves["fees.exchange.enabled"] is True
    assert leaves["fees.exchange.stock_card.digest"] == json.loads(text)["digest"]
    changed = json.loads(text) | {"currency": "XYZ"}
    assert verify_stock_card(json.dumps(changed), card_text, keys).code == "digest"
    assert verify_stock_card("[]", card_text, keys).code == "stock_card"
    unsigned = json.loads(text) | {"market_freshness": "stale"}
    assert verify_stock_card(json.dumps(unsigned), card_text, keys).is_valid


async def test_the_registry_card_states_the_exchange_with_its_places(at: Floor):
    await new_day(at.market)
    base, card = at.market.registry.settings.base_url, await stock_card(at.market)
    assert await signed(at.market) == {
        "enabled": True,
        "passport_enabled": False,
        "currency": "AVT",
        "endpoints": {
            "listings": f"{base}/api/v1/agora/listings",
            "order": f"{base}/api/v1/agora/orders",
            "passport_inbound": f"{base}/api/v1/agora/passport/inbound",
        },
        "fee_bps_default": 50,
        "note": "A point is a right to a share of revenue for a term: no vote, no claim on treasury or code. It ends worthless.",
        "stock_card": {
            "url": f"{base}/api/v1/agora/stock-card",
            "digest": card["digest"],
            "count": len(card["listings"]),
            "updated_at": card["as_of"].replace("Z", "+00:00"),
            "market_epoch": card["market_epoch"],
            "market_freshness": "current",
        },
        "solvency_card": {"url": f"{base}/.well-known/solvency-card.json"},
    }
    refused = await at.market.registry.post("/agora/passport/inbound")
    assert code(refused) == (503, "passport_disabled")
    await at.market.registry.indexed()
    agora = (await at.market.registry.http.get("/.well-known/agora-card.json")).json()
    assert agora["exchange"] == {"enabled": True, "passport_enabled": False}


async def solvency_of_the_exchange(registry: TestRegistry) -> Any:
    """The member `exchange` of the solvency card after an audit."""
    await registry.database.transaction(audit_on_request, one_snapshot=True)
    await auditor.run_cycle(registry.runtime)
    return (await registry.http.get("/.well-known/solvency-card.json")).json()["exchange"]


async def test_the_solvency_card_states_the_checks_of_the_exchange_and_where_its_listings_are(at: Floor):
    registry = at.market.registry
    stated = {
        "enabled": True,
        "shares": "OK",
        "solvency": "SOLVENT",
        "stock_card": f"{registry.settings.base_url}/api/v1/agora/stock-card",
    }
    assert await solvency_of_the_exchange(registry) == stated
    forged = "UPDATE exchange_holding SET owed = owed + $2 WHERE ref = $1"

    async def forge(owed: int) -> None:
        await registry.database.transaction(lambda tx: tx.execute(forged, at.ref, owed))

    await forge(10**13)
    assert await solvency_of_the_exchange(registry) == stated | {"solvency": "BREACH"}
    await forge(-(10**13))
    assert await solvency_of_the_exchange(registry) == stated


async def test_closes_are_of_the_last_whole_day_and_trades_of_today_change_nothing(at: Floor):
    seller, buyer = await at.parties(2)
    for price in ("3", "5", "4"):
        await at.order(seller, "sell", 2, price)
        await at.order(buyer, "buy", 2, price)
    await a_day_earlier(at)
    await new_day(at.market)
    card = await stock_card(at.market)
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    assert (card["date"], card["market_epoch"].partition(".")[2]) == (yesterday, yesterday)
    figures = {"ref": at.ref, "close": "4", "volume": 6, "notional": "24", "trades": 3}
    assert of(card, "closes", at.ref) == figures
    await at.order(seller, "sell", 1, "9")
    await at.order(buyer, "buy", 1, "9")
    await at.market.run_jobs()
    assert (await stock_card(at.market))["digest"] == card["digest"]


async def test_the_digest_changes_daily_and_on_listing_halt_and_delisting_only(at: Floor):
    await new_day(at.market)
    await make(at.market)
    digests = [(await signed(at.market))["stock_card"]["digest"]]

    async def has_changed() -> bool:
        await make(at.market)
        card = await stock_card(at.market)
        assert card["digest"] == (await signed(at.market))["stock_card"]["digest"]
        digests.append(card["digest"])
        return digests[-1] != digests[-2]

    listing = await at.market.draft(guild := await at.market.guild())
    assert not await has_changed()
    await at.market.act(guild.owner, listing, "submit")
    assert not await has_changed()
    await at.market.decide(listing, "approve")
    assert await has_changed()
    seller, buyer = await at.parties(2)
    await at.order(seller, "sell", 2, "3")
    await at.order(buyer, "buy", 2, "3")
    assert not await has_changed()
    for act, status in (("halt", "HALTED"), ("resume", "TRADING"), ("delist", "DELISTED")):
        assert (await at.market.decide(at.listing, act)).status_code == 200
        assert await has_changed()
        assert of(await stock_card(at.market), "listings", at.ref)["status"] == status
    assert not await has_changed()
    made_at = await made(at.market)
    await run_scheduled_transactions(at.market.registry.runtime, CLOSE_DAYS)
    assert await made(at.market) == made_at
    await new_day(at.market)
    assert await made(at.market) > made_at


async def test_a_stock_card_is_stale_after_26_hours(at: Floor):
    await new_day(at.market)
    database = at.market.registry.database

    async def aged(hours: int) -> tuple[str, str]:
        moved = "UPDATE exchange_stock_card SET made_at = clock_timestamp() - make_interval(hours => $1)"
        await database.transaction(lambda tx: tx.execute(moved, hours))
        stated = """
            UPDATE federation_registry_card_version SET document = replace(document, updated_at,
              to_char(clock_timestamp() AT TIME ZONE 'UTC' - make_interval(hours => $1), 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'))
            FROM (SELECT version AS newest, document::json #>> '{fees,exchange,stock_card,updated_at}' AS updated_at
              FROM federation_registry_card_version ORDER BY version DESC LIMIT 1) found WHERE version = newest
        """

        async def restated(tx: Any) -> None:
            await tx.execute("SET LOCAL session_replication_role = replica")
            await tx.execute(stated, hours)

        await database.transaction(restated)
        block = (await signed(at.market))["stock_card"]
        return (await stock_card(at.market))["market_freshness"], block["market_freshness"]

    assert await aged(25) == ("current", "current")
    assert await aged(27) == ("stale", "stale")
    await new_day(at.market)
    assert (await stock_card(at.market))["market_freshness"] == "current"


async def test_a_listing_shows_how_many_trade_it_and_how_much_two_of_them_trade_with_each_other(at: Floor):
    before = await at.market.read(at.listing)
    assert (before["traders_30d"], before["top_pair_share"]) == (0, None)
    seller, buyer, other = await at.parties(3)
    for taker, qty in ((buyer, 3), (other, 1)):
        await at.order(seller, "sell", qty, "3")
        await at.order(taker, "buy", qty, "3")
    runtime = at.market.registry.runtime
    await run_scheduled_transactions(runtime, COUNT_TRADES)
    listing = await at.market.read(at.listing)
    assert (listing["traders_30d"], listing["top_pair_share"]) == (3, "0.7500")
    await at.market.registry.database.transaction(
        lambda tx: tx.execute("UPDATE exchange_pair_day SET day = day - 30 WHERE ref = $1", at.ref)
    )
    await at.market.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE exchange_trade_counted SET active_at = active_at - interval '1 day' WHERE ref = $1",
            at.ref,
        )
    )
    await run_scheduled_transactions(runtime, COUNT_TRADES)
    listing = await at.market.read(at.listing)
    assert (listing["traders_30d"], listing["top_pair_share"]) == (0, None)


@pytest.mark.parametrize("tf", ["1m", "5m", "15m", "1h", "4h", "1d", "1w"])
async def test_candles_are_the_same_before_and_after_their_trades_are_counted(at: Floor, tf: str):
    seller, buyer = await at.parties(2)
    for price in ("3", "5", "4"):
        await at.order(seller, "sell", 2, price)
        await at.order(buyer, "buy", 2, price)
    apart = """
        UPDATE exchange_trade t SET recorded_at = recorded_at - interval '3 hours' * n.place
        FROM (SELECT seq, row_number() OVER (ORDER BY seq DESC) AS place FROM exchange_trade WHERE ref = $1) n
        WHERE t.ref = $1 AND t.seq = n.seq
    """
    await at.market.registry.database.transaction(lambda tx: tx.execute(apart, at.ref))
    uncounted = await at.public("candles", tf=tf)
    newest = await at.public("candles", tf=tf, limit=1)
    since = uncounted["candles"][-1]["t"]
    assert sum(candle["volume"] for candle in uncounted["candles"]) == 6
    assert newest["candles"] == uncounted["candles"][-1:]
    assert (await at.public("candles", tf=tf, since=since))["candles"] == newest["candles"]
    await run_scheduled_transactions(at.market.registry.runtime, COUNT_TRADES)
    assert await at.public("candles", tf=tf) == uncounted
    assert await at.public("candles", tf=tf, limit=1) == newest
    assert (await at.public("candles", tf=tf, since=since))["candles"] == newest["candles"]
    await at.order(seller, "sell", 1, "7")
    await at.order(buyer, "buy", 1, "7")
    last = (await at.public("candles", tf=tf))["candles"][-1]
    assert (last["close"], last["high"]) == ("7", "7")
    await run_scheduled_transactions(at.market.registry.runtime, COUNT_TRADES)
    assert (await at.public("candles", tf=tf))["candles"][-1] == last


async def test_without_the_exchange_there_is_no_stock_card_and_the_card_says_so(
    start_registry: StartRegistry,
):
    exchange = await market(await start_registry())
    await run_scheduled_transactions(exchange.registry.runtime, CLOSE_DAYS)
    assert code(await exchange.registry.get("/agora/stock-card")) == (404, "STOCK_CARD_MISSING")
    assert (await solvency_of_the_exchange(exchange.registry))["enabled"] is False
    assert await signed(exchange) == {"enabled": False, "passport_enabled": False}
    assert (await exchange.registry.get("/agora/federation-tickers")).json() == {"venues": []}
