"""Acts that are judged together, on the part of the book that they reach, are decided as those that come one after the other to the whole book."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor
from hansa.rooms.exchange.matching import Side, TimeInForce, Traded
from hansa.rooms.exchange.records import Listing
from hansa.rooms.exchange.trading.judging import (
    OPPOSITE,
    Act,
    CancelOrder,
    Judging,
    Loaded,
    PlaceOrder,
    reach_of,
)
from hansa.rooms.exchange.trading.records import Holding, NewOrder, Order
from tests.properties.scale import by_tier, printed_seed

CASES = by_tier(300, 5_000, 50_000)
NOW = datetime(2026, 12, 1, tzinfo=UTC)
AGENTS = [Agent(f"did:hansa:x:{number}", number, (), frozenset(), is_governed=False) for number in range(4)]
POINTS = 1000
SIDES: tuple[Side, Side] = ("buy", "sell")
FORCES: tuple[TimeInForce, ...] = ("gtc", "gtc", "ioc", "fok")
LISTING = Listing(
    total=10**6,
    price=Minor(1),
    min_raise=Minor(0),
    opens_at=NOW,
    closes_at=NOW,
    per_owner_max=10**6,
    revenue_bps=10,
    term_months=12,
    tick=Minor(1),
    prospectus_url="",
    prospectus_sha256=b"",
    ref="DRAWN",
    organization_id=UUID(int=0),
    treasury_did="did:hansa:x:treasury",
    status="TRADING",
    fee_bps=50,
    digest=b"",
    approved_at=NOW,
    sold=10**6,
    launched_at=NOW,
    ends_at=NOW + timedelta(days=365),
    last_price=Minor(1),
    arrears=Minor(0),
    reason=None,
    created_at=NOW,
    now=NOW,
)


class Draw:
    """Books and acts at few prices, so that most of them meet."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def _id(self) -> UUID:
        return UUID(int=self._random.getrandbits(128))

    def book(self) -> list[Order]:
        """Resting orders that do not cross, and some that have ended."""
        orders = []
        for seq in range(1, self._random.randint(1, 16)):
            side = self._random.choice(SIDES)
            price = self._random.randint(10, 14) if side == "buy" else self._random.randint(15, 19)
            agent, qty = self._random.choice(AGENTS), self._random.randint(1, 5)
            has_ended = self._random.random() < 0.1
            orders.append(
                Order(
                    "DRAWN",
                    seq,
                    self._id(),
                    agent.did,
                    agent.owner.name,
                    side,
                    qty,
                    Minor(price),
                    "gtc",
                    False,
                    qty,
                    seq if side == "buy" else None,
                    None,
                    bytes(32),
                    None,
                    False,
                    None,
                    None,
                    NOW,
                    "cancelled" if has_ended else None,
                )
            )
        return orders

    def acts(self, orders: Sequence[Order]) -> list[Act]:
        """Acts of a transaction, some of them on orders of others."""
        acts: list[Act] = []
        for _ in range(self._random.randint(1, 8)):
            named = self._random.choice(orders) if orders else None
            if named is not None and self._random.random() < 0.3:
                acts.append(CancelOrder(named.agent_did, named.id))
                continue
            agent = self._random.choice(AGENTS)
            replaces = None
            if named is not None and self._random.random() < 0.3:
                agent = next(one for one in AGENTS if one.did == named.agent_did)
                replaces = named.id
            acts.append(PlaceOrder(agent, self._order(replaces)))
        return acts

    def _order(self, replaces: UUID | None) -> NewOrder:
        price = self._random.choice([None, *map(Minor, range(10, 20))])
        force: TimeInForce = "ioc" if price is None else self._random.choice(FORCES)
        return NewOrder(
            self._id(),
            "DRAWN",
            self._random.choice(SIDES),
            self._random.randint(1, 8),
            price,
            force,
            bytes(32),
            post_only=force == "gtc" and self._random.random() < 0.2,
            replaces=replaces,
        )


def loaded(drawn: int, orders: Iterable[Order], whole: Iterable[Order]) -> Loaded:
    """These orders, with points and counts of the whole book."""
    counts: Counter[str] = Counter()
    holdings = {agent.did: Holding(POINTS, 0, 0) for agent in AGENTS}
    for order in whole:
        if order.ended_because is None:
            counts[order.agent_did] += 1
            if order.side == "sell":
                holdings[order.agent_did].locked += order.remaining
    return Loaded(drawn, list(orders), holdings, dict(counts))


def part_of(orders: Sequence[Order], acts: Sequence[Act]) -> list[Order]:
    """The orders that the acts name, and those that they reach."""
    news = [act.new for act in acts if isinstance(act, PlaceOrder)]
    ids = {act.new.replaces if isinstance(act, PlaceOrder) else act.order_id for act in acts}
    named = [order for order in orders if order.id in ids]
    found = {order.seq: order for order in named}
    for side in OPPOSITE:
        reach = reach_of(side, news, named)
        before = 0
        sign = 1 if side == "sell" else -1
        resting = [order for order in orders if order.side == side and order.ended_because is None]
        for order in sorted(resting, key=lambda one: (sign * (one.price or 0), one.seq)):
            is_within = reach is not None and (
                reach.price is None or sign * (order.price or 0) <= sign * reach.price
            )
            if reach is None or not is_within or before >= reach.most:
                break
            found[order.seq] = order
            before += order.remaining
    return list(found.values())


def outcome(judging: Judging, act: Act) -> object:
    """The events of an act, or its refusal; None where it was left."""
    if act in judging.refused:
        refusal = judging.refused[act]
        return type(refusal), str(refusal)
    return next((one.events for one in judging.judged if one.act is act), None)


def test_acts_that_are_judged_together_are_decided_as_those_that_come_alone_to_the_whole_book():
    draw, left = Draw(printed_seed()), 0
    for _ in range(CASES):
        orders = draw.book()
        acts, drawn = draw.acts(orders), len(orders)
        together = Judging(LISTING, loaded(drawn, part_of(orders, acts), orders))
        together.judge_all(acts)
        whole = {order.seq: order for order in orders}
        for act in acts:
            decided = outcome(together, act)
            if decided is None:
                left += 1
                break
            alone = Judging(LISTING, loaded(drawn, whole.values(), whole.values()))
            alone.judge_all([act])
            assert decided == outcome(alone, act)
            whole, drawn = alone.orders, alone.book.seq
        else:
            assert together.book.seq == drawn
            for seq, order in together.orders.items():
                assert order == whole[seq]
    assert left, "some acts take a buy of their transaction"


def test_points_and_open_orders_are_counted_along():
    draw = Draw(printed_seed())
    for _ in range(CASES // 3):
        orders = draw.book()
        acts = draw.acts(orders)
        judging = Judging(LISTING, loaded(len(orders), orders, orders))
        judging.judge_all(acts)
        after = loaded(judging.book.seq, judging.orders.values(), judging.orders.values())
        moved: Counter[str] = Counter()
        for judged in judging.judged:
            for event in judged.events:
                if isinstance(event, Traded):
                    taker, maker = judging.orders[event.taker], judging.orders[event.maker]
                    buyer, seller = (taker, maker) if taker.side == "buy" else (maker, taker)
                    moved[buyer.agent_did] += event.qty
                    moved[seller.agent_did] -= event.qty
        for agent in AGENTS:
            free = after.holdings[agent.did].free + moved[agent.did]
            assert judging._free[agent.did] == free
            assert judging._counts[agent.did] == after.counts.get(agent.did, 0)


def test_a_refusal_takes_the_place_of_its_act_alone():
    draw = Draw(printed_seed())
    orders = draw.book()
    stranger = CancelOrder("did:hansa:x:stranger", orders[0].id)
    judging = Judging(LISTING, loaded(len(orders), orders, orders))
    judging.judge_all([stranger])
    assert isinstance(judging.refused[stranger], Refused)
    assert (judging.judged, judging.book.seq) == ([], len(orders))
