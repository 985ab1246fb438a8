"""The group commit against its judge: the same histories, one transfer at a time and in batches, must end alike."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from scale import by_tier, printed_seed

from hansa.foundation.plumbing.web.idempotency import Answer, Repeatable
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, share
from hansa.rooms import ledger
from hansa.rooms.ledger.batch import Ticket
from tests.all_events import ALL_EVENTS
from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.properties.batches import outcomes_of_batch
from tests.properties.reference_book import fee_rate, transfer_alone
from tests.registry import DatabaseFarm, StartRegistry, TestRegistry

HISTORIES = by_tier(8, 300, 3000)
ORDERS = 60
DIDS = [f"did:hansa:hansa.local:party-{number}" for number in range(5)]
STRANGER = "did:hansa:hansa.local:stranger"


async def test_batches_of_any_size_end_as_one_transfer_at_a_time(
    database_farm: DatabaseFarm, founded_registries: FoundedRegistries, tmp_path: Path
) -> None:
    seed = printed_seed()
    for history in range(HISTORIES):
        alone, together = (
            RegistriesOfATest(database_farm, founded_registries, tmp_path / f"{history}-{name}")
            for name in ("alone", "together")
        )
        async with _registry(alone) as plain, _registry(together) as gathered:
            await _live_through(plain, gathered, random.Random(f"{seed}-{history}"), f"history {history}")


@asynccontextmanager
async def _registry(registries: RegistriesOfATest) -> AsyncIterator[TestRegistry]:
    """A registry of one history, which leaves nothing behind."""
    yield await registries.start()
    await registries.end()


async def _live_through(
    plain: TestRegistry, gathered: TestRegistry, chance: random.Random, history: str
) -> None:
    holdings = [chance.choice([0, 1, 10**6, 10**10]) for _ in DIDS]
    paces = [_pace(chance) for _ in DIDS]
    for registry in (plain, gathered):
        await _open(registry, holdings, paces)
    orders = [_order(chance) for _ in range(ORDERS)]
    judged = [outcome for order in orders for outcome in await _one_by_one(plain, order)]
    batched = await _in_batches(gathered, orders, chance)
    assert judged == batched, history
    assert await _book(plain) == await _book(gathered), history
    assert (await gathered.supply())["status"] == "OK"


async def test_the_fee_of_a_hot_payer_is_the_same_in_the_database(start_registry: StartRegistry) -> None:
    registry = await start_registry()
    chance = random.Random(printed_seed())
    cases = []
    for _ in range(by_tier(2_000, 20_000, 200_000)):
        held = chance.choice([0, 1, 7, 10**6, chance.randrange(1, 9 * 10**18)])
        sent = int(held * chance.choice([1, 1.5, 3, 9.999, 10, 11, 10**6])) + chance.randrange(3)
        cases.append((chance.choice([1, 99, 100, 101, 12_345, chance.randrange(1, 10**18)]), sent, held))
    policy = ledger.FeePolicy()
    computed = await registry.database.read(
        lambda tx: tx.fetch(
            "SELECT ledger_fee_of_hot_payer(amount::numeric, sent::numeric, held::numeric, $4::bigint[]) AS fee"
            " FROM unnest($1::text[], $2::text[], $3::text[]) AS c (amount, sent, held)",
            *([str(case[column]) for case in cases] for column in range(3)),
            policy.as_integers(),
        )
    )
    expected = [
        share(amount, fee_rate(Fraction(sent, held) if held else Fraction(0), policy))
        for amount, sent, held in cases
    ]
    assert [row["fee"] for row in computed] == expected


def _pace(chance: random.Random) -> list[tuple[int, int, int]]:
    """Return the amounts that a party sent some minutes ago, and held then: enough to make it pay more."""
    minutes = chance.choice([(), (2,), (30, 2), (100, 30, 2)])
    return [(ago, chance.choice([1, 10**6, 10**11]), chance.choice([0, 10**4, 10**10])) for ago in minutes]


def _order(chance: random.Random) -> tuple[ledger.TransferOrder, Repeatable | None]:
    payer, payee = chance.sample([*DIDS, STRANGER], 2)
    amount = Minor(chance.choice([1, 99, 100, 101, 12_345, 10**6, 10**9]))
    order = ledger.TransferOrder(payer, payee, amount, chance.choice([None, "for lunch"]))
    # Few keys, so that they collide, with the same order and with another.
    key = chance.choice([None, "k1", "k2", "k3", "k4"])
    body = {"to": payee, "amount": amount} if chance.random() < 0.5 else {"to": "fixed"}
    return order, Repeatable(payer, "/teg/transfer", key, body) if key else None


async def _open(registry: TestRegistry, holdings: list[int], paces: list[list[tuple[int, int, int]]]) -> None:
    book = ledger.Book.of(registry.settings)

    async def opened(tx: Any) -> None:
        for did, amount, pace in zip(DIDS, holdings, paces, strict=True):
            await ledger.open_account(tx, did)
            await tx.execute(
                "UPDATE ledger_account SET pace = ARRAY(SELECT unnest(ARRAY["
                " (extract(epoch FROM now()) / 60)::bigint - e.ago, e.sent, e.held])"
                " FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS e (ago, sent, held)) WHERE did = $1",
                did,
                *([entry[column] for entry in pace] for column in range(3)),
            )
            if amount:
                await ledger.grant(tx, payee=did, amount=Minor(amount), ref="start", book=book)

    await registry.database.transaction(opened)


def _ticket(order: ledger.TransferOrder, request: Repeatable | None) -> Ticket:
    return Ticket.of_transfer(order, request, _text)


def _text(receipt: ledger.Receipt) -> str:
    return f"{receipt.amount} {receipt.fee} {receipt.payer_balance_after}"


async def _one_by_one(registry: TestRegistry, asked: tuple[Any, ...]) -> list[Any]:
    book = ledger.Book.of(registry.settings)
    try:
        receipt, replayed = await registry.database.transaction(lambda tx: transfer_alone(tx, *asked, book))
    except Refused as refusal:
        return [_refusal(refusal)]
    return [Answer(_text(receipt), replayed)]


async def _in_batches(registry: TestRegistry, orders: list[Any], chance: random.Random) -> list[Any]:
    book = ledger.Book.of(registry.settings)
    outcomes: list[Any] = []
    waiting = list(orders)
    while waiting:
        tickets: list[Ticket] = []
        scopes: set[Any] = set()
        for asked in waiting[: chance.choice([1, 2, 5, 20, 60])]:
            scope = (asked[1].caller, asked[1].key) if asked[1] else None
            if scope in scopes:
                break
            scopes |= {scope} if scope else set()
            tickets.append(_ticket(*asked))
        del waiting[: len(tickets)]
        heard = await registry.database.transaction(
            lambda tx, batch=tickets: outcomes_of_batch(tx, batch, book)
        )
        outcomes += [_refusal(one) if isinstance(one, Refused) else one for one in heard]
    return outcomes


def _refusal(error: Refused) -> Any:
    return error.status, error.code, error.detail, error.context


async def _book(registry: TestRegistry) -> Any:
    """Everything that was written, without ids and times."""

    async def written(tx: Any) -> Any:
        accounts = await tx.fetch(
            "SELECT did, liquid, (SELECT sum(sent) FROM unnest(pace) WITH ORDINALITY AS p (sent, place)"
            " WHERE place % 3 = 2) FROM ledger_account ORDER BY did"
        )
        postings = await tx.fetch(
            "SELECT dense_rank() OVER (ORDER BY p.tx_id) AS n, a.did, delta, balance_after FROM ledger_posting p"
            " JOIN ledger_account a ON a.id = p.account_id ORDER BY p.tx_id, a.did"
        )
        transactions = await tx.fetch(
            "SELECT tx_type, amount, fee, message FROM ledger_transaction ORDER BY id"
        )
        events = await tx.fetch(
            # The reference writes the other registry, of which there is none, as null; the engine leaves it out.
            "SELECT event_type, aggregate_id, (data - ARRAY['tx_id', 'counterparty_frame'])::text AS data"
            f" FROM {ALL_EVENTS} e ORDER BY seq"
        )
        return [[tuple(row) for row in rows] for rows in (accounts, postings, transactions, events)]

    return await registry.database.read(written)
