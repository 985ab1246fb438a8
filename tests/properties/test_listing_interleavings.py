"""Acts of every kind at one listing that meet, two to four at once, in drawn orders of their statements.

After each meeting points and units are conserved, each hold is what its order still buys, no order met one of its own owner, the numbers of the
listing have no gap, and the journal decides every order again.
"""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, count
from typing import Any
from uuid import UUID, uuid4

import pytest

from hansa.foundation.plumbing.jobs import Job, PutOff
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.did import listing_did
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import agents, enforcement, ledger
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.deciding import delist, halt, resume
from hansa.rooms.exchange.expiring import EXPIRE_LISTINGS, EXPIRY
from hansa.rooms.exchange.revenue.counting import count_settled
from hansa.rooms.exchange.revenue.levying import levy_or_collect
from hansa.rooms.exchange.revenue.moving import move_points
from hansa.rooms.exchange.revenue.paying import claim, pay_batch
from hansa.rooms.exchange.revenue.records import PointTransfer
from hansa.rooms.exchange.trading.acting import carry_out
from hansa.rooms.exchange.trading.ending import (
    cancel_all,
    end_of_agent,
    end_of_listing,
    expire_due,
    lock_listing,
)
from hansa.rooms.exchange.trading.judging import Act, CancelOrder, PlaceOrder
from hansa.rooms.exchange.trading.records import NewOrder
from hansa.rooms.organizations.founding import NewOrganization, found
from tests.exchange import Market, insert, market
from tests.founded import open_copy
from tests.properties.contract_scene import caller_of
from tests.properties.interleaving import Director, UseCase, directing
from tests.properties.proof import prove_book
from tests.properties.scale import SEED_OF_A_COMMIT, by_tier, part_of, printed_seed
from tests.properties.test_organization_interleavings import person
from tests.registry import DatabaseFarm, TestRegistry
from tests.trading import Floor

PAIRS = by_tier(24, 1_000, 1_000)
"""Pairs that meet; there are fewer than a thousand."""
ORDERS_OF_PAIR = by_tier(1, 3, 20)
CROWDS = by_tier(8, 300, 3_000)
"""Meetings of three or four acts."""
AT_ONCE = 4
POINTS, UNITS = 10, parse_amount("10")
_numbers = count(1)

_HOLD = "INSERT INTO exchange_holding (ref, agent_did, qty, cost) VALUES ($1, $2, $3::bigint, $3 * 100)"
_LAUNCHED = """
INSERT INTO exchange_point_posting (ref, seq, agent_did, delta, cause) VALUES ($1, 1, $2, $3::bigint, 'launch'), ($1, 1, '', -$3, 'launch')
"""
_DUE = "UPDATE exchange_order SET expires_at = created_at WHERE ref = $1 AND expires_at IS NOT NULL"
_OVER = "UPDATE exchange_listing SET ends_at = clock_timestamp() WHERE ref = $1"
_OPEN = "SELECT count(*) FROM exchange_order WHERE ref = $1 AND ended_at IS NULL"
_UNITS = "SELECT sum(liquid + staked + escrow + transit)::bigint FROM ledger_account"
_OWED = """
SELECT r.carried + (
  SELECT sum(exchange_owed(h.owed, h.qty, h.settled, r.per_point)) FROM exchange_holding h WHERE h.ref = r.ref
)::bigint FROM exchange_revenue r WHERE r.ref = $1
"""
_POINTS = """
SELECT l.sold - l.given_up = (SELECT sum(h.qty) FROM exchange_holding h WHERE h.ref = l.ref) FROM exchange_listing l WHERE l.ref = $1
"""
_OWN_TRADES = """
SELECT t.seq FROM exchange_trade t
JOIN exchange_order taker ON taker.ref = t.ref AND taker.seq = t.taker_seq
JOIN exchange_order maker ON maker.ref = t.ref AND maker.seq = t.maker_seq
WHERE t.ref = $1 AND taker.owner = maker.owner
"""


@dataclass(frozen=True)
class Stage:
    """A registry with its exchange, and the administrator of all listings."""

    exchange: Market
    administrator: Developer
    director: Director


@dataclass
class Scene:
    """A listing of a new organization. Its holder offers points, its buyer bids; the twin is another agent of the holder's owner."""

    stage: Stage
    floor: Floor
    holder: Agent
    twin: Agent
    buyer: Agent
    customer: Agent
    offer: UUID | None = None

    @property
    def ref(self) -> str:
        return self.floor.ref

    @property
    def registry(self) -> TestRegistry:
        return self.stage.exchange.registry

    async def run(self, use_case: UseCase) -> Any:
        return await self.registry.database.transaction(use_case)

    async def prepare(self) -> "Scene":
        """Offers at 300 and 400, two bids at 200, one of which has passed its time; a day of revenue to levy, and a payment to count."""
        terms = {"ttl_seconds": 60}
        (offered,) = (await self.run(self.order(self.holder, "sell", 3, 300))).values()
        self.offer = offered.order.id
        await self.run(self.order(self.holder, "sell", 2, 400))
        await self.run(self.order(self.buyer, "buy", 2, 200))
        await self.run(self.order(self.buyer, "buy", 1, 200, **terms))
        await self.run(lambda tx: tx.execute(_DUE, self.ref))
        await self.run(self.pay_organization())
        await self.run(self.count())
        await self.stage.exchange.date_back(self.floor.listing, 1)
        await self.run(self.pay_organization())
        return self

    def pay_organization(self) -> UseCase:
        treasury, book = self.floor.listing["treasury_did"], ledger.Book.of(self.registry.settings)
        order = ledger.TransferOrder(self.customer.did, treasury, parse_amount("4"))
        return lambda tx: ledger.transfer(tx, order, book)

    def act(self, make: Callable[[], Act]) -> UseCase:
        return lambda tx: carry_out(tx, self.ref, [make()], self.registry.settings)

    def order(self, agent: Agent, side: Any, qty: int, price: int | None, **more: Any) -> UseCase:
        terms = {"time_in_force": "gtc", "digest": bytes(32), **more}
        minor = None if price is None else Minor(price)
        return self.act(lambda: PlaceOrder(agent, NewOrder(uuid4(), self.ref, side, qty, minor, **terms)))

    def cancel(self) -> UseCase:
        offer = self.offer
        assert offer is not None
        return self.act(lambda: CancelOrder(self.holder.did, offer))

    def cancel_all(self) -> UseCase:
        return lambda tx: cancel_all(tx, self.holder.did, self.ref, self.registry.settings)

    def expire(self) -> UseCase:
        async def expired(tx: Tx) -> int:
            return await expire_due(tx, await lock_listing(tx, self.ref), self.registry.settings)

        return expired

    def halt(self) -> UseCase:
        return lambda tx: halt(tx, self.stage.administrator, self.ref, "A breach.")

    def resume(self) -> UseCase:
        return lambda tx: resume(tx, self.stage.administrator, self.ref, "Mended.")

    def delist(self) -> UseCase:
        return lambda tx: delist(tx, self.stage.administrator, self.ref, "Unsound.")

    def suspend(self, agent: Agent) -> UseCase:
        async def suspended(tx: Tx) -> None:
            await enforcement.suspend_agents(
                tx, [agent.did], self.stage.administrator, reason="For a test.", soft=False
            )

        return suspended

    def stop_orders(self, agent: Agent) -> UseCase:
        async def stopped(tx: Tx) -> int:
            if await agents.lock_status(tx, agent.did) == "active":
                return 0
            return await end_of_agent(tx, agent.did, self.ref, self.registry.settings)

        return stopped

    def count(self) -> UseCase:
        return lambda tx: count_settled(tx, self.registry.runtime)

    def levy(self) -> UseCase:
        return lambda tx: levy_or_collect(tx, self.ref, self.registry.runtime)

    def claim(self, agent: Agent) -> UseCase:
        return lambda tx: claim(tx, agent, None, self.registry.settings)

    def pay_holders(self) -> UseCase:
        return lambda tx: pay_batch(tx, self.ref, "", self.registry.settings)

    def move(self, to: Agent | None, qty: int) -> UseCase:
        new = PointTransfer(self.ref, None if to is None else to.did, qty)
        return lambda tx: move_points(tx, self.holder, new, self.registry.settings)

    def end_term(self) -> UseCase:
        """The job at the end of the term, which has come."""

        async def ended(tx: Tx) -> None:
            await tx.execute(_OVER, self.ref)
            await EXPIRE_LISTINGS.work(tx, self.registry.runtime, Job(0, EXPIRY, self.ref, {}, 1, 1))

        return ended

    async def finish(self) -> None:
        """End the orders of a listing that has ended, as its job does."""
        listing = await self.run(lambda tx: listings.find(tx, self.ref))
        if listing.status in {"EXPIRED", "DELISTED"}:
            while await self.run(lambda tx: end_of_listing(tx, self.ref, self.registry.settings)):
                pass
            assert await self.run(lambda tx: tx.fetchval(_OPEN, self.ref)) == 0

    async def require_sound(self) -> None:
        """Invariants of a listing, of its book and of its account."""
        await self.floor.require_sound()
        account = listing_did(self.floor.listing["treasury_did"], self.ref)

        async def read(tx: Tx) -> tuple[Any, ...]:
            balances = await ledger.balances_of(tx, [account])
            held = balances[account].liquid if account in balances else 0
            seq = await tx.fetchval("SELECT seq FROM exchange_listing WHERE ref = $1", self.ref)
            are_points_kept = await tx.fetchval(_POINTS, self.ref)
            return (
                held,
                await tx.fetchval(_OWED, self.ref),
                seq,
                are_points_kept,
                await tx.fetch(_OWN_TRADES, self.ref),
            )

        held, owed, seq, are_points_kept, own_trades = await self.registry.database.read(read)
        assert held == owed, "the account has what is owed and carried"
        assert are_points_kept, "every point that was sold is held or given up"
        assert own_trades == [], "two orders of one owner met"
        drawn = {data["seq"] for _, data in await self.floor.events() if "seq" in data}
        assert sorted(drawn) == list(range(2, seq + 1)), "the numbers of the listing have a gap"


ACTS: dict[str, Callable[[Scene], UseCase]] = {
    "a bid rests": lambda at: at.order(at.buyer, "buy", 2, 100),
    "an offer rests": lambda at: at.order(at.holder, "sell", 1, 500),
    "offers are taken": lambda at: at.order(at.buyer, "buy", 4, 400, time_in_force="ioc"),
    "a bid is taken": lambda at: at.order(at.holder, "sell", 1, 200, time_in_force="ioc"),
    "offers are taken at the market": lambda at: at.order(at.buyer, "buy", 4, None, time_in_force="ioc"),
    "a buy is filled whole or not at all": lambda at: at.order(at.buyer, "buy", 4, 300, time_in_force="fok"),
    "an order meets its own owner": lambda at: at.order(at.twin, "buy", 2, 300),
    "an offer is replaced by one that trades": lambda at: at.order(
        at.holder, "sell", 2, 200, replaces=at.offer
    ),
    "an offer is cancelled": Scene.cancel,
    "all offers are cancelled": Scene.cancel_all,
    "a bid expires": Scene.expire,
    "the listing is halted": Scene.halt,
    "the listing is resumed": Scene.resume,
    "the listing is delisted": Scene.delist,
    "the buyer is suspended": lambda at: at.suspend(at.buyer),
    "the holder is suspended": lambda at: at.suspend(at.holder),
    "orders of a suspended buyer end": lambda at: at.stop_orders(at.buyer),
    "orders of a suspended holder end": lambda at: at.stop_orders(at.holder),
    "revenue is counted": Scene.count,
    "revenue is levied": Scene.levy,
    "a holder claims": lambda at: at.claim(at.holder),
    "a buyer claims": lambda at: at.claim(at.buyer),
    "holders are paid": Scene.pay_holders,
    "points are transferred": lambda at: at.move(at.twin, 3),
    "points are given up": lambda at: at.move(None, 2),
    "the term ends": Scene.end_term,
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with (
        open_copy(
            database_farm,
            tmp_path_factory.mktemp("stage"),
            exchange_enabled=True,
            rate_limit_reads="off",
            genesis_supply="10000000000",
        ) as registry,
        directing(registry.database.dsn, AT_ONCE) as director,
    ):
        yield Stage(await market(registry), await person(registry), director)


async def prepared(stage: Stage) -> Scene:
    """A new listing that trades, with parties of its own."""
    registry = stage.exchange.registry
    owner = await registry.developer()
    others = [await registry.agent() for _ in range(2)]
    parties = [await caller_of(registry, one) for one in (await owner.agent(), await owner.agent(), *others)]
    founder = await person(registry)
    book = ledger.Book.of(registry.settings)

    async def listed(tx: Tx) -> dict[str, str]:
        new = NewOrganization(f"listed-{next(_numbers)}", "Listed", "", "public")
        made = (await found(tx, founder, new, registry.settings)).organization
        ref = await insert(tx, str(made.id), "TRADING")
        await tx.execute("UPDATE exchange_listing SET seq = 1 WHERE ref = $1", ref)
        await tx.execute(_HOLD, ref, parties[0].did, POINTS)
        await tx.execute(_LAUNCHED, ref, parties[0].did, POINTS)
        for one in parties:
            await ledger.grant(tx, payee=one.did, amount=UNITS, ref=f"{ref} {one.did}", book=book)
        return {"ref": ref, "treasury_did": made.treasury_did}

    floor = Floor(stage.exchange, await registry.database.transaction(listed))
    return await Scene(stage, floor, *parties).prepare()


async def meet(stage: Stage, names: Sequence[str], seed: str) -> None:
    """Let these acts meet in the order that the seed draws."""
    draw = random.Random(seed)
    scene = await prepared(stage)
    before = await scene.run(lambda tx: tx.fetchval(_UNITS))
    try:
        outcomes = await stage.director.play([ACTS[name](scene) for name in names], draw.randrange)
        for outcome in outcomes:
            assert not isinstance(outcome, BaseException) or isinstance(outcome, Refused | PutOff)
        await scene.require_sound()
        await scene.finish()
        await scene.require_sound()
        assert await scene.run(lambda tx: tx.fetchval(_UNITS)) == before
    except BaseException:
        print(*names, seed, sep="\n")
        raise


async def test_however_two_acts_at_a_listing_meet_points_units_holds_and_numbers_agree(stage: Stage):
    seed = printed_seed()
    pairs = list(combinations_with_replacement(ACTS, 2))
    random.Random(seed).shuffle(pairs)
    for pair in pairs[:PAIRS]:
        for number in part_of(ORDERS_OF_PAIR):
            await meet(stage, pair, f"{seed} {number}")
    await stage.exchange.registry.database.read(prove_book)


async def test_however_four_acts_at_a_listing_meet_points_units_holds_and_numbers_agree(stage: Stage):
    seed = printed_seed()
    for number in part_of(CROWDS):
        draw = random.Random(f"{seed} {number}")
        names = draw.choices(list(ACTS), k=draw.randint(3, AT_ONCE))
        await meet(stage, names, f"{seed} {number}")
    await stage.exchange.registry.database.read(prove_book)


async def test_acts_that_do_not_lock_their_listing_are_found(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listings, "lock", listings.find)

    async def meet_often() -> None:
        for number in range(20):
            await meet(stage, ("a bid rests", "an offer rests"), f"{SEED_OF_A_COMMIT} {number}")

    with pytest.raises(AssertionError):
        await meet_often()
