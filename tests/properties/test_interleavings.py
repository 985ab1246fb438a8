"""Use cases of the book that meet, in every order of their statements."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.idempotency import Answer, KeyInProgress, KeyReused, Repeatable
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount, parse_amount, units
from hansa.rooms import ledger
from hansa.rooms.ledger.batch import Ticket
from hansa.rooms.ledger.errors import ReferenceUsed, TreasuryInsufficient
from tests.founded import open_copy
from tests.properties.batches import outcomes_of_batch
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_every_order, in_some_orders
from tests.properties.proof import prove_book, prove_supply
from tests.properties.scale import TIER, printed_seed
from tests.registry import DatabaseFarm, TestRegistry
from tests.rooms.ledger.treasury import destroy, mint, treasury_holds

WIDE_SAMPLE = 30
ROUTE = "/teg/transfer"


@dataclass(frozen=True)
class Scene:
    """Four new accounts: alice, bob and carol hold 100 units each, dave nothing."""

    database: Database
    book: ledger.Book
    alice: str
    bob: str
    carol: str
    dave: str

    def transfer(self, payer: str, payee: str, amount: str) -> UseCase:
        order = ledger.TransferOrder(payer, payee, parse_amount(amount))
        return lambda tx: ledger.transfer(tx, order, self.book)

    def batch(self, *orders: tuple[str, str, str], key: str | None = None) -> UseCase:
        tickets = [self.ticket(*order, key=key) for order in orders]
        return lambda tx: outcomes_of_batch(tx, tickets, self.book)

    def keyed(self, payer: str, payee: str, amount: str) -> UseCase:
        ticket = self.ticket(payer, payee, amount, key="the key")

        async def answered(tx: Tx) -> Answer:
            (outcome,) = await outcomes_of_batch(tx, [ticket], self.book)
            if isinstance(outcome, Refused):
                raise outcome
            return outcome

        return answered

    def ticket(self, payer: str, payee: str, amount: str, *, key: str | None) -> Ticket:
        request = Repeatable(payer, ROUTE, key, [payee, amount]) if key else None
        order = ledger.TransferOrder(payer, payee, parse_amount(amount))
        return Ticket.of_transfer(order, request, lambda receipt: format_amount(receipt.payer_balance_after))

    def mint(self, amount: str, ref: str) -> UseCase:
        minor = parse_amount(amount)
        return lambda tx: ledger.mint(tx, amount=minor, ref=ref, amount_max=minor, book=self.book)

    def burn(self, amount: str, ref: str) -> UseCase:
        return lambda tx: ledger.destroy(tx, amount=parse_amount(amount), ref=ref, book=self.book)

    async def holdings(self) -> dict[str, str]:
        async def read(tx: Tx) -> dict[str, str]:
            rows = await tx.fetch("SELECT did, liquid FROM ledger_account")
            return {row["did"]: format_amount(row["liquid"]) for row in rows}

        return await self.database.read(read)


Pair = tuple[Callable[[Scene], list[UseCase]], Callable[[list[Any], tuple[str, ...]], bool]]

# What the two sides do; then whether these outcomes with these holdings of alice, bob, carol and dave are right.
NARROW: dict[str, Pair] = {
    "opposite transfers both finish": (
        lambda s: [s.transfer(s.alice, s.bob, "10"), s.transfer(s.bob, s.alice, "20")],
        lambda outcomes, held: receipts(outcomes) == 2 and held == ("109.95", "89.9", "100", "0"),
    ),
    "two transfers that one balance cannot cover: one is refused": (
        lambda s: [s.transfer(s.alice, s.bob, "60"), s.transfer(s.alice, s.carol, "60")],
        lambda outcomes, held: (
            kinds(outcomes) == {ledger.Receipt, ledger.InsufficientBalance}
            and held in {("39.7", "160", "100", "0"), ("39.7", "100", "160", "0")}
        ),
    ),
    "money that arrives may be passed on, or not yet": (
        lambda s: [s.transfer(s.alice, s.dave, "10"), s.transfer(s.dave, s.carol, "9")],
        lambda outcomes, held: (
            (receipts(outcomes) == 2 and held == ("89.95", "100", "109", "0.955"))
            or (
                kinds(outcomes) == {ledger.Receipt, ledger.InsufficientBalance}
                and held == ("89.95", "100", "100", "10")
            )
        ),
    ),
    "batches that cross both finish": (
        lambda s: [
            s.batch((s.alice, s.bob, "10"), (s.bob, s.carol, "5")),
            s.batch((s.carol, s.bob, "20"), (s.bob, s.alice, "1")),
        ],
        lambda outcomes, held: (
            all(kinds(batch) == {Answer} for batch in outcomes) and held == ("90.95", "123.97", "84.9", "0")
        ),
    ),
    "a batch and an opposite transfer both finish": (
        lambda s: [
            s.batch((s.alice, s.bob, "10"), (s.alice, s.carol, "5")),
            s.transfer(s.carol, s.alice, "20"),
        ],
        lambda outcomes, held: (
            kinds(outcomes[0]) == {Answer}
            and isinstance(outcomes[1], ledger.Receipt)
            and held == ("104.925", "110", "84.9", "0")
        ),
    ),
    "a suspension comes before the transfer or after it": (
        lambda s: [s.transfer(s.alice, s.bob, "10"), suspension_of(s.bob)],
        lambda outcomes, held: (
            (isinstance(outcomes[0], ledger.Receipt) and held == ("89.95", "110", "100", "0"))
            or (isinstance(outcomes[0], ledger.AccountSuspended) and held == ("100", "100", "100", "0"))
        ),
    ),
    "a grant and a transfer of the same agent both finish": (
        lambda s: [s.transfer(s.alice, s.bob, "10"), grant_to(s.alice, s.book)],
        lambda outcomes, held: outcomes[1] is True and held == ("139.95", "110", "100", "0"),
    ),
}
# Sides that hardly wait for each other have hundreds of orders or thousands: each commit sees some of them.
WIDE: dict[str, Pair] = {
    "opposite transfers that wait for a third both finish": (
        lambda s: [holding_up(s.bob), s.transfer(s.bob, s.alice, "20"), s.transfer(s.alice, s.bob, "10")],
        lambda outcomes, held: receipts(outcomes) == 2 and held == ("109.95", "89.9", "100", "0"),
    ),
    "one key, one body: one effect, one answer": (
        lambda s: [s.keyed(s.alice, s.bob, "10"), s.keyed(s.alice, s.bob, "10")],
        lambda outcomes, held: (
            posted_once(outcomes, "89.95")
            and kinds(outcomes) <= {Answer, KeyInProgress}
            and held == ("89.95", "110", "100", "0")
        ),
    ),
    "one key, two bodies: one effect": (
        lambda s: [s.keyed(s.alice, s.bob, "10"), s.keyed(s.alice, s.bob, "20")],
        lambda outcomes, held: (
            kinds(outcomes) in [{Answer, KeyInProgress}, {Answer, KeyReused}]
            and held in {("89.95", "110", "100", "0"), ("79.9", "120", "100", "0")}
        ),
    ),
    "one key in two batches: one effect": (
        lambda s: [s.batch((s.alice, s.bob, "10"), key="k"), s.batch((s.alice, s.bob, "10"), key="k")],
        lambda outcomes, held: (
            posted_once([outcome for batch in outcomes for outcome in batch], "89.95")
            and held == ("89.95", "110", "100", "0")
        ),
    ),
    "transfers of strangers both finish": (
        lambda s: [s.transfer(s.alice, s.bob, "10"), s.transfer(s.carol, s.dave, "20")],
        lambda outcomes, held: receipts(outcomes) == 2 and held == ("89.95", "110", "79.9", "20"),
    ),
    "batches of strangers both finish": (
        lambda s: [s.batch((s.alice, s.bob, "10")), s.batch((s.carol, s.dave, "20"), key="k")],
        lambda outcomes, held: held == ("89.95", "110", "79.9", "20"),
    ),
}
# What meets at a treasury that holds 100 units; then whether these outcomes with these holdings of the treasury and dave,
# to whom it grants 50, are right. The references are new in every order.
TREASURY: dict[str, Pair] = {
    "a burn and a grant that the treasury cannot both cover: one is refused": (
        lambda s: [s.burn("60", new_ref()), grant_to(s.dave, s.book)],
        lambda outcomes, held: (
            (isinstance(outcomes[0], ledger.SupplyChange) and outcomes[1] is False and held == ("40", "0"))
            or (
                isinstance(outcomes[0], TreasuryInsufficient) and outcomes[1] is True and held == ("50", "50")
            )
        ),
    ),
    "a burn and a grant that the treasury covers both finish": (
        lambda s: [s.burn("50", new_ref()), grant_to(s.dave, s.book)],
        lambda outcomes, held: outcomes[1] is True and held == ("0", "50"),
    ),
    "one reference burned twice: one effect": (
        lambda s: [s.burn("40", ref := new_ref()), s.burn("40", ref)],
        lambda outcomes, held: (
            kinds(outcomes) == {ledger.SupplyChange, ReferenceUsed} and held == ("60", "0")
        ),
    ),
    "two burns that the treasury cannot both cover: one is refused": (
        lambda s: [s.burn("60", new_ref()), s.burn("60", new_ref())],
        lambda outcomes, held: (
            kinds(outcomes) == {ledger.SupplyChange, TreasuryInsufficient} and held == ("40", "0")
        ),
    ),
    "a mint and a burn under one reference both finish": (
        lambda s: [s.mint("40", ref := new_ref()), s.burn("100", ref)],
        lambda outcomes, held: kinds(outcomes) == {ledger.SupplyChange} and held == ("40", "0"),
    ),
}


def new_ref() -> str:
    return f"test {uuid4()}"


def kinds(outcomes: list[Any]) -> set[type]:
    return {type(outcome) for outcome in outcomes}


def receipts(outcomes: list[Any]) -> int:
    return sum(isinstance(outcome, ledger.Receipt) for outcome in outcomes)


def posted_once(outcomes: list[Any], answer: str) -> bool:
    answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
    return {one.text for one in answers} == {answer} and sum(not one.replayed for one in answers) == 1


def holding_up(did: str) -> UseCase:
    return lambda tx: tx.execute("SELECT FROM ledger_account WHERE did = $1 FOR NO KEY UPDATE", did)


def suspension_of(did: str) -> UseCase:
    return lambda tx: ledger.suspend_accounts(tx, [did])


def grant_to(did: str, book: ledger.Book) -> UseCase:
    return lambda tx: ledger.grant(tx, payee=did, amount=parse_amount("50"), ref="test grant", book=book)


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 3) as director,
    ):
        yield registry, director


async def set_scene(registry: TestRegistry) -> Scene:
    book = ledger.Book.of(registry.settings)
    dids = [f"did:hansa:hansa.local:{uuid4()}" for _ in range(4)]

    async def open_accounts(tx: Tx) -> None:
        for did in dids:
            await ledger.open_account(tx, did)
        for did in dids[:3]:
            assert await ledger.grant(tx, payee=did, amount=parse_amount("100"), ref="test grant", book=book)

    await registry.database.transaction(open_accounts)
    return Scene(registry.database, book, *dids)


async def play_pair(registry: TestRegistry, director: Director, pair: Pair, choose: Choose) -> None:
    scene = await set_scene(registry)
    sides, is_right = pair
    outcomes = await director.play(sides(scene), choose)
    holdings = await scene.holdings()
    held = tuple(holdings[did] for did in (scene.alice, scene.bob, scene.carol, scene.dave))
    assert is_right(outcomes, held), (outcomes, held)


@pytest.mark.parametrize("name", NARROW)
async def test_in_every_order_of_statements(name: str, stage: tuple[TestRegistry, Director]) -> None:
    registry, director = stage
    orders = await in_every_order(lambda choose: play_pair(registry, director, NARROW[name], choose))
    print(f"{name}: {orders} orders")
    assert orders > 1
    await registry.database.read(prove_book)


@pytest.mark.parametrize("name", TREASURY)
async def test_at_the_treasury_in_every_order_of_statements(
    name: str, stage: tuple[TestRegistry, Director]
) -> None:
    registry, director = stage
    sides, is_right = TREASURY[name]

    async def play(choose: Choose) -> None:
        scene = await set_scene(registry)
        set_aside = await treasury_holds(registry) - units(100)
        await destroy(registry, set_aside, new_ref())
        outcomes = await director.play(sides(scene), choose)
        holdings = await scene.holdings()
        await mint(registry, set_aside, new_ref())
        held = (holdings[scene.book.treasury], holdings[scene.dave])
        assert is_right(outcomes, held), (outcomes, held)

    orders = await in_every_order(play)
    print(f"{name}: {orders} orders")
    assert orders > 1
    await registry.database.read(prove_book)
    await prove_supply(registry.supply)


@pytest.mark.parametrize("name", WIDE)
async def test_in_many_orders_of_statements(name: str, stage: tuple[TestRegistry, Director]) -> None:
    registry, director = stage

    async def play(choose: Choose) -> None:
        await play_pair(registry, director, WIDE[name], choose)

    if TIER == 0:
        await in_some_orders(play, count=WIDE_SAMPLE, seed=printed_seed())
    else:
        print(f"{name}: {await in_every_order(play)} orders")
    await registry.database.read(prove_book)


async def test_the_director_finds_the_order_in_which_a_careless_transfer_loses_units(
    stage: tuple[TestRegistry, Director],
) -> None:
    registry, director = stage
    losses = []

    def withdrawal(did: str) -> UseCase:
        async def careless(tx: Tx) -> None:
            liquid = await tx.fetchval("SELECT liquid FROM ledger_account WHERE did = $1", did)
            await tx.execute("UPDATE ledger_account SET liquid = $2 WHERE did = $1", did, Minor(liquid - 10))

        return careless

    async def play(choose: Choose) -> None:
        scene = await set_scene(registry)
        await director.play([withdrawal(scene.alice)] * 2, choose)
        losses.append((await scene.holdings())[scene.alice] != "99.9999998")
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE ledger_account SET liquid = 100 * 10^8 WHERE did = $1", scene.alice)
        )

    await in_every_order(play)
    assert True in losses
    assert False in losses
