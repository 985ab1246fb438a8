"""Drawn journals, replayed: with the recorded rules nothing differs; with another fee the differences are those of a book in fractions."""

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import asyncpg
import pytest

from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor
from hansa.rooms import ledger
from hansa.rooms.ledger import orders
from tests.properties.reference_book import Account, fee_on, pace_after_sending
from tests.properties.scale import by_tier, part_of, printed_seed
from tests.registry import DatabaseFarm, StartRegistry, TestRegistry
from tests.replaying import Replays, scratch_template

JOURNALS = by_tier(6, 60, 600)
ACTS = 40
FEE = "fee_base_rate_percent"
FEE_MAX = "fee_max_rate_percent"
UNIT = 10**8
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PEER = "peer.example.org"
COLLECTOR = "did:hansa:system:fee_collector"
AGENTS = [f"did:hansa:hansa.local:party-{number}" for number in range(4)]
TRANSFERS = """
SELECT t.id, payer.did AS payer, payee.did AS payee, t.amount, t.recorded_at FROM ledger_transaction t
JOIN ledger_account payer ON payer.id = t.payer_id JOIN ledger_account payee ON payee.id = t.payee_id
WHERE t.tx_type = 'transfer' ORDER BY t.id
"""


class Journal:
    """A registry whose ledger is given drawn orders, each in a commit."""

    def __init__(self, registry: TestRegistry, chance: random.Random) -> None:
        self.registry, self.chance = registry, chance
        self.book = ledger.Book.of(registry.settings)
        self.holds: list[int] = []
        self.numbers = iter(range(1, 10**6))

    async def begin(self) -> int:
        """Open and fund the parties; returns the sequence number of the next event."""
        for did in AGENTS:
            await self.registry.database.transaction(lambda tx, did=did: ledger.open_account(tx, did))
            await self.give(orders.grant(self.book.treasury, did, 100 * UNIT, f"grant {did}"))
        return await self.newest() + 1

    async def newest(self) -> int:
        found: int = await self.registry.database.query(
            lambda tx: tx.fetchval("SELECT max(seq) FROM journal_event")
        )
        return found

    async def give(self, *given: orders.Order) -> list[Any]:
        """Carry out orders in one commit; nothing where they are refused."""
        try:
            return await self.registry.database.transaction(
                lambda tx: ledger.apply(tx, list(given), self.book)
            )
        except Refused:
            return []

    async def act(self) -> None:
        """Do one drawn act."""
        one, other = self.chance.sample(AGENTS, 2)
        amount = Minor(
            self.chance.choice([1, 7, UNIT // 3, UNIT, 40 * UNIT, self.chance.randrange(1, 90 * UNIT)])
        )
        number, book = next(self.numbers), self.book
        simple = [
            *[orders.transfer(orders.TransferOrder(one, other, amount))] * 4,
            orders.payment(one, other, amount, f"pay {number}"),
            orders.stake(one, amount, f"stake-{number}"),
            orders.unstake(one, amount, None),
            orders.reward(book.fee_collector, one, amount),
            orders.correction(book.treasury, one, amount, f"correction {number}"),
        ]
        wider = [
            lambda: self.open(orders.hold(one, amount, orders.NewHold("contract", str(number), other))),
            lambda: self.open(orders.deposit(one, amount, orders.NewHold("reputation_bond", str(number)))),
            lambda: self.replace(one, amount, number),
            lambda: self.cross(one, amount),
            lambda: self.sell(one, other, amount),
            *[lambda: self.use_hold(other, amount, number)] * 4,
        ]
        if self.chance.random() < 0.5:
            await self.give(self.chance.choice(simple))
        else:
            await self.chance.choice(wider)()

    async def use_hold(self, payee: str, amount: Minor, number: int) -> None:
        """Take a part of a hold, end it, or destroy a part of it and compensate the payee."""
        if not self.holds:
            return
        hold_id, ref = self.chance.choice(self.holds), f"dispute:{number}"
        given = [
            [orders.capture(hold_id, amount, payee=payee)],
            [orders.capture(hold_id, Minor(1), payee=payee, final=True)],
            [orders.release(hold_id)],
            [orders.slash(hold_id, amount, ref), orders.issue(payee, amount, ref)],
        ]
        await self.give(*self.chance.choice(given))

    async def transfer(self) -> None:
        """Transfer a drawn amount, often nearly all that the payer holds."""
        one, other = self.chance.sample(AGENTS, 2)
        held = await self.registry.database.query(lambda tx: ledger.balance_of(tx, one))
        most = max(int(held.liquid) * 199 // 201, 1)
        amount = self.chance.choice([1, 199, self.chance.randrange(1, most + 1), most])
        await self.give(orders.transfer(orders.TransferOrder(one, other, Minor(amount))))

    async def cross(self, agent: str, amount: Minor) -> None:
        """Send to another registry, or receive from it; what is sent may return."""
        transfer_id = uuid5(NAMESPACE_URL, f"{self.chance.random()}")
        if self.chance.random() < 0.4:
            fee = Minor(amount // 100)
            reserved = ledger.ReserveIn(PEER, transfer_id, agent, amount, fee, None).order(self.book)
            if await self.give(reserved):
                await self.give(ledger.CommitIn(PEER, transfer_id).order(self.book))
        elif await self.give(ledger.ReserveOut(PEER, transfer_id, agent, amount).order(self.book)):
            ended = self.chance.choice([ledger.CommitOut, ledger.AbortOut])(PEER, transfer_id)
            await self.give(ended.order(self.book))

    async def sell(self, seller: str, buyer: str, amount: Minor) -> None:
        """Sell points: at once, or out of a deposit of the buyer, which is freed then."""
        fee = Minor(amount // 200)
        if self.chance.random() < 0.5:
            await self.give(orders.purchase(buyer, seller, amount, fee))
            return
        held = orders.NewHold("exchange_order", f"{self.chance.random()}")
        for result in await self.give(orders.deposit(buyer, amount, held)):
            part = Minor(-(-amount // 2))
            await self.give(
                orders.sale(
                    result.hold_id, part, fee, payee=seller, tx_type="trade", final=self.chance.random() < 0.5
                )
            )

    async def replace(self, payer: str, amount: Minor, number: int) -> None:
        """Open a hold, and replace it by one of half its amount."""
        for result in await self.give(
            orders.hold(payer, amount, orders.NewHold("treasury_work_order", str(number)))
        ):
            replaced = await self.registry.database.transaction(
                lambda tx, opened=result.hold_id: ledger.replace_hold(
                    tx,
                    opened,
                    Minor(-(-amount // 2)),
                    orders.NewHold("contract", str(number)),
                    self.book,
                )
            )
            self.holds.append(replaced.hold_id)

    async def open(self, order: orders.Order) -> None:
        """Open a hold, which later acts use."""
        self.holds += [result.hold_id for result in await self.give(order)]


@pytest.fixture
async def replays(database_farm: DatabaseFarm, registry: TestRegistry) -> AsyncIterator[Replays]:
    async with scratch_template(database_farm, registry.settings) as replays:
        yield replays


async def test_a_replay_with_the_recorded_rules_differs_in_nothing_and_another_fee_keeps_the_sum(
    start_registry: StartRegistry, replays: Replays
) -> None:
    seed = printed_seed()
    for number in part_of(JOURNALS):
        chance = random.Random(f"{seed} {number}")
        journal = Journal(await start_registry(), chance)
        first = await journal.begin()
        for _ in range(ACTS):
            await journal.act()
        first = chance.choice([1, first, await journal.newest() - 30])
        report = await replays.of(journal.registry, first)
        assert {line.difference for line in report.lines} <= {0}
        assert (report.kept_fees, list(report.refused)) == (0, [])
        same = await replays.of(journal.registry, first, **{FEE: "0.5"})
        assert same.lines == report.lines
        other = await replays.of(journal.registry, first, **{FEE: chance.choice(["0", "0.3", "2"])})
        assert any(line.difference for line in other.lines)
        assert other.difference == other.issued - other.destroyed


async def test_another_fee_gives_the_differences_of_a_book_in_fractions(
    start_registry: StartRegistry, replays: Replays
) -> None:
    seed = printed_seed()
    for number in part_of(JOURNALS):
        chance = random.Random(f"{seed} fractions {number}")
        journal = Journal(await start_registry(), chance)
        first = await journal.begin()
        for _ in range(ACTS):
            await journal.transfer()
        base, most = chance.choice([("0", "0"), ("0.3", "5"), ("2", "10"), ("0.000001", "7.5")])
        report = await replays.of(journal.registry, first, **{FEE: base, FEE_MAX: most})
        policy = ledger.FeePolicy(Fraction(base) / 100, Fraction(most) / 100)
        moved = await journal.registry.database.query(lambda tx: tx.fetch(TRANSFERS))
        expected, refused = in_fractions(moved, policy)
        recorded, _ = in_fractions(moved, ledger.FeePolicy())
        differences = {line.account: line.difference for line in report.lines}
        assert {did: differences.pop(did) for did in expected} == {
            did: expected[did] - recorded[did] for did in expected
        }
        assert not any(differences.values())
        assert [one.movement.id for one in report.refused] == refused
        assert report.difference == 0


def in_fractions(moved: list[asyncpg.Record], policy: ledger.FeePolicy) -> tuple[dict[str, int], list[int]]:
    """The balances after these transfers of agents that begin with 100 units, and the ids of those that are refused."""
    balances = dict.fromkeys(AGENTS, 100 * UNIT) | {COLLECTOR: 0}
    paces: dict[str, tuple[tuple[int, int, int], ...]] = dict.fromkeys(AGENTS, ())
    refused = []
    for one in moved:
        minute = (2 * (one["recorded_at"] - EPOCH) + timedelta(minutes=1)) // timedelta(minutes=2)
        payer = Account(0, one["payer"], True, Minor(balances[one["payer"]]), paces[one["payer"]], minute)
        amount, fee = one["amount"], fee_on(one["amount"], payer, policy)
        if payer.liquid < amount + fee:
            refused.append(one["id"])
            continue
        paces[payer.did] = pace_after_sending(payer, amount)
        balances[payer.did] -= amount + fee
        balances[one["payee"]] += amount
        balances[COLLECTOR] += fee
    return balances, refused
