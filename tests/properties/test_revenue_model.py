"""Drawn histories of payments, refunds, movements of points, levies, claims and kills, against a plain model: conserved to the last unit."""

import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from hansa.foundation.plumbing.jobs import PutOff
from hansa.foundation.values.money import format_amount, parse_amount
from hansa.rooms import auditor
from hansa.rooms.exchange.revenue.counting import count_settled
from hansa.rooms.exchange.revenue.levying import levy_or_collect
from hansa.rooms.exchange.revenue.paying import pay_batch
from tests.exchange import market
from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.properties.revenue_model import RevenueModel
from tests.properties.scale import by_tier, part_of, printed_seed
from tests.registry import TestAgent
from tests.revenue import Earning, earning

HISTORIES = by_tier(3, 20, 60)
ACTS = by_tier(30, 60, 100)

_OWED = """
SELECT h.agent_did, h.qty, exchange_owed(h.owed, h.qty, h.settled, r.per_point) AS owed
FROM exchange_holding h JOIN exchange_revenue r USING (ref) WHERE h.ref = $1
"""
_PAID = """
SELECT a.did, sum(t.amount)::bigint AS paid FROM ledger_transaction t JOIN ledger_account a ON a.id = t.payee_id
WHERE t.tx_type = 'distribution' AND t.ref = $1 GROUP BY a.did
"""


class KilledError(Exception):
    """The process died before the commit."""


class History:
    """An organization with points, three holders of one owner and one of another, and customers."""

    def __init__(self, at: Earning, agents: dict[str, TestAgent], rng: random.Random) -> None:
        self.at, self.agents, self.rng = at, agents, rng
        self.model = RevenueModel(1000, 1000, {at.holder.did: 40})

    async def act(self) -> None:
        acts: list[Callable[[], Awaitable[None]]] = [
            *[self.pay] * 4,
            self.pay_related,
            self.refund,
            self.spend,
            self.transfer,
            self.trade,
            self.give_up,
            self.claim,
            self.kill,
            self.collect,
            *[self.levy] * 3,
        ]
        await self.rng.choice(acts)()

    def amount(self) -> int:
        return self.rng.choice((1, 7, 999, self.rng.randrange(1, 10**6), self.rng.randrange(1, 10**8)))

    async def pay(self) -> None:
        amount, payee = self.amount(), self.rng.choice((self.at.treasury, self.at.own.did))
        await self.at.pay(self.agents["customer"], payee, format_amount(amount))
        self.model.pending += amount

    async def pay_related(self) -> None:
        await self.at.pay(self.agents["related"], self.at.treasury, format_amount(self.amount()))

    async def refund(self) -> None:
        """A refund leaves the revenue as it is; in arrears there is none."""
        if parse_amount(await self.at.units(self.at.treasury)) > 10**6:
            refunded = await self.at.pay_out("0.001", self.agents["customer"])
            assert refunded.status_code == (409 if self.model.arrears else 201), refunded.text

    async def spend(self) -> None:
        if self.rng.random() < 0.5:
            await self.at.empty()

    def holder(self) -> TestAgent:
        return self.rng.choice([self.at.holder, self.agents["second"], self.agents["third"]])

    async def transfer(self) -> None:
        one, other, qty = self.holder(), self.holder(), self.rng.randint(1, 20)
        moved = await self.at.move(one, other.did, qty)
        if one is other:
            assert moved.status_code == 422
        elif self.model.points.get(one.did, 0) < qty:
            assert moved.status_code == 409
        else:
            assert moved.status_code == 200, moved.text
            self.model.move(one.did, other.did, qty)

    async def trade(self) -> None:
        seller, buyer, qty = self.holder(), self.agents["buyer"], self.rng.randint(1, 5)
        if self.rng.random() < 0.4:
            seller, buyer = buyer, self.at.holder
        if self.model.points.get(seller.did, 0) >= qty:
            for agent, side in ((seller, "sell"), (buyer, "buy")):
                order = {
                    "listing": self.at.ref,
                    "side": side,
                    "qty": qty,
                    "order_type": "limit",
                    "price": "0.01",
                }
                placed = await self.at.market.post(agent, "/agora/orders", order)
                assert placed.status_code == 201, placed.text
            self.model.move(seller.did, buyer.did, qty)

    async def give_up(self) -> None:
        agent, qty = self.holder(), self.rng.randint(1, 4)
        if self.model.points.get(agent.did, 0) >= qty:
            assert (await self.at.move(agent, None, qty)).status_code == 200
            self.model.move(agent.did, None, qty)

    async def claim(self) -> None:
        agent = self.rng.choice([self.holder(), self.agents["buyer"]])
        answer = await self.at.claim(agent, self.rng.choice((None, self.at.ref)))
        assert answer.json() == {"paid": format_amount(self.model.claim(agent.did))}

    async def available(self) -> int:
        return sum([parse_amount(await self.at.units(did)) for did in (self.at.treasury, self.at.own.did)])

    async def collect(self) -> None:
        """Take arrears between two levies; credits are counted."""
        available = await self.available()
        await self.at.levy()
        if self.model.arrears and available:
            self.model.take(0, available)

    async def levy(self) -> None:
        await self.at.market.elapse(self.at.listing, 1)
        if self.rng.random() < 0.3:
            await self.kill()
        available = await self.available()
        await self.at.levy()
        expected = self.model.levy(available)
        assert (await self.at.levies())[-1] == tuple(map(format_amount, expected))

    async def kill(self) -> None:
        """Let a process die in the midst of an act, before its commit."""
        registry = self.at.market.registry

        async def killed(act: Callable[[Any], Awaitable[Any]], tx: Any) -> None:
            await act(tx)
            raise KilledError

        acts: list[Callable[[Any], Awaitable[Any]]] = [
            lambda tx: count_settled(tx, registry.runtime),
            lambda tx: levy_or_collect(tx, self.at.ref, registry.runtime),
            lambda tx: pay_batch(tx, self.at.ref, "", registry.settings),
        ]
        with pytest.raises((KilledError, PutOff)):
            await registry.database.transaction(partial(killed, self.rng.choice(acts)))

    async def require_same(self) -> None:
        """Points, owed and paid units of every agent are those of the model, and the account has the rest."""
        database = self.at.market.registry.database
        rows = await database.read(lambda tx: tx.fetch(_OWED, self.at.ref))
        assert {row["agent_did"]: row["qty"] for row in rows if row["qty"]} == {
            did: qty for did, qty in self.model.points.items() if qty
        }
        assert {row["agent_did"]: row["owed"] for row in rows if row["owed"]} == {
            did: owed for did, owed in self.model.owed.items() if owed
        }
        paid = await database.read(lambda tx: tx.fetch(_PAID, self.at.ref))
        assert {row["did"]: row["paid"] for row in paid} == {
            did: units for did, units in self.model.paid.items() if units
        }
        held = sum(self.model.owed.values()) + self.model.carried
        assert parse_amount(await self.at.units(self.at.account)) == held
        assert (await self.at.market.read(self.at.listing))["arrears"] == format_amount(self.model.arrears)
        self.model.require_conserved()


async def test_revenue_is_conserved_to_the_last_unit_in_every_history(
    database_farm: Any, founded_registries: FoundedRegistries, tmp_path: Any
) -> None:
    seed = printed_seed()
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path)
    registry = await registries.start(
        exchange_enabled=True, rate_limit_reads="off", genesis_grants_per_hour=1000
    )
    for number in part_of(HISTORIES):
        at = await earning(await market(registry), 40)
        agents = {"customer": await at.agent(), "buyer": await at.agent()}
        agents |= {name: await at.holder_owner.agent() for name in ("second", "third")}
        agents["related"] = await (await at.guild.member("viewer")).agent()
        history = History(at, agents, random.Random(seed + number))
        for _ in range(ACTS):
            await history.act()
        await history.levy()
        await history.require_same()
    verdict = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert verdict.status == "OK"
    await registries.end()
