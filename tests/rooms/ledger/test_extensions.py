"""Rows of a room that are claimed and recorded in the commit of its orders: all of it happens, or nothing."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence

import asyncpg
import pytest

from hansa.foundation.plumbing.web.idempotency import KeyReused
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import ledger
from hansa.rooms.ledger import batch, orders
from tests.all_events import ALL_EVENTS
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import TestRegistry
from tests.rooms.ledger.toy_tokens import OPEN, OWNER, SCHEMA, SETTLE, USE, Token, Toys

Made = list[ledger.Receipt]


TABLES = SCHEMA


@pytest.fixture
def registry(registry_with_tables: TestRegistry) -> TestRegistry:
    return registry_with_tables


@pytest.fixture
async def toys(registry: TestRegistry) -> AsyncIterator[Toys]:
    made = await Toys.in_registry(registry)
    yield made
    assert (await registry.supply())["status"] == "OK"
    assert await registry.database.read(ledger.escrow_gaps) == []
    await registry.database.query(prove_book)


async def carry_out(group: ledger.GroupCommit, *given: ledger.Order, key: object = None) -> Made:
    """Submit orders; the receipts that the caller gets, of a repetition too."""
    made: Made = []

    def keep(receipts: Sequence[ledger.Receipt]) -> str:
        made.extend(receipts)
        return ""

    await group.submit(given, key, keep)  # type: ignore[arg-type]
    return made


async def opened(toys: Toys, *tokens: str) -> None:
    group = toys.gathering()
    await asyncio.gather(*(carry_out(group, toys.opening(token)) for token in tokens))


async def test_rows_of_a_room_and_the_money_of_an_order_are_written_together(toys: Toys):
    [made] = await carry_out(toys.gathering(), toys.opening("a"))
    assert OPEN.outcome_of(made).hold_id == made.hold_id
    assert await toys.holds() == (parse_amount("98.995"), parse_amount("1.005"))
    [made] = await carry_out(toys.gathering(), await toys.settling("a"))
    settled = SETTLE.outcome_of(made)
    assert (settled.state, settled.tx_id) == ("settled", made.tx_id)
    assert (await toys.events("ToyOpened"), await toys.events("ToySettled")) == (1, 1)


async def test_the_events_of_an_extension_stand_behind_those_of_the_money(toys: Toys):
    await opened(toys, "a")
    await carry_out(toys.gathering(), await toys.settling("a"))
    newest = await toys.registry.database.read(
        lambda tx: tx.fetch(f"SELECT event_type FROM {ALL_EVENTS} e ORDER BY seq DESC LIMIT 4")
    )
    assert [row["event_type"] for row in newest] == [
        "ToySettled",
        "TransactionFeeCollected",
        "TokensTransferred",
        "LedgerBalanceChanged",
    ]


async def test_a_refused_claim_gives_its_code_and_detail_and_moves_nothing(toys: Toys):
    await opened(toys, "a")
    before = await toys.holds()
    with pytest.raises(ledger.ClaimRefused) as refusal:
        await carry_out(toys.gathering(), toys.opening("a"))
    assert (refusal.value.code, refusal.value.detail) == ("TOKEN_TAKEN", {"token": "a"})
    assert await toys.holds() == before


async def test_a_claim_is_undone_when_the_money_is_refused_and_its_neighbours_are_carried_out(toys: Toys):
    group = toys.gathering()
    poor, rich, paid = await asyncio.gather(
        carry_out(group, toys.opening("poor", "1000")),
        carry_out(group, toys.opening("rich")),
        carry_out(group, toys.paying()),
        return_exceptions=True,
    )
    assert isinstance(poor, ledger.InsufficientBalance)
    assert isinstance(rich, list)
    assert isinstance(paid, list)
    assert (await toys.state("poor"), await toys.state("rich")) == (None, "open")
    assert await toys.events("ToyOpened") == 1


async def test_a_claim_that_was_refused_because_of_an_undone_one_succeeds(toys: Toys):
    """Both are in one batch: the first opens the token and lacks the money, so the second opens it."""
    group = toys.gathering()
    first, second = await asyncio.gather(
        carry_out(group, toys.opening("a", "1000")),
        carry_out(group, toys.opening("a")),
        return_exceptions=True,
    )
    assert isinstance(first, ledger.InsufficientBalance)
    assert isinstance(second, list)
    assert await toys.state("a") == "open"


async def test_orders_without_money_gather_with_transfers(toys: Toys, monkeypatch: pytest.MonkeyPatch):
    await opened(toys, "a")
    sizes, post_batch = [], batch.post_batch

    async def counted(tx, tickets, book):
        sizes.append(len(tickets))
        return await post_batch(tx, tickets, book)

    monkeypatch.setattr(batch, "post_batch", counted)
    group = toys.gathering()
    used, paid, unknown = await asyncio.gather(
        carry_out(group, USE.alone(Token("a"))),
        carry_out(group, toys.paying()),
        carry_out(group, USE.alone(Token("b"))),
        return_exceptions=True,
    )
    assert sizes == [3]
    assert isinstance(used, list)
    assert isinstance(paid, list)
    assert isinstance(unknown, ledger.ClaimRefused)
    assert (used[0].tx_id, used[0].amount, USE.outcome_of(used[0]).uses) == (None, 0, 1)
    assert paid[0].tx_id is not None
    assert await toys.events("ToyUsed") == 1


@pytest.mark.parametrize(
    ("orders_of", "refusal"),
    [
        (lambda toys: [toys.opening("new"), toys.paying("1000")], ledger.InsufficientBalance),
        (lambda toys: [toys.paying("1000"), toys.opening("new")], ledger.InsufficientBalance),
        (lambda toys: [toys.opening("new"), toys.opening("old")], ledger.ClaimRefused),
        (lambda toys: [toys.opening("old"), toys.opening("new")], ledger.ClaimRefused),
        (lambda toys: [USE.alone(Token("old")), toys.paying("1000")], ledger.InsufficientBalance),
        (lambda toys: [toys.paying(), USE.alone(Token("none"))], ledger.ClaimRefused),
    ],
    ids=[
        "money last",
        "money first",
        "claim last",
        "claim first",
        "no money and money",
        "money and no claim",
    ],
)
async def test_orders_of_a_group_and_their_extensions_are_all_carried_out_or_none(
    toys: Toys, orders_of, refusal: type[Exception]
):
    await opened(toys, "old")
    before = await toys.holds()
    group = toys.gathering()
    neighbour, refused = await asyncio.gather(
        carry_out(group, USE.alone(Token("old"))), carry_out(group, *orders_of(toys)), return_exceptions=True
    )
    assert isinstance(neighbour, list)
    assert isinstance(refused, refusal)
    assert await toys.holds() == before
    assert await toys.state("new") is None
    assert await toys.value("SELECT uses FROM toy_token WHERE id = 'old'") == 1
    assert (await toys.events("ToyOpened"), await toys.events("ToyUsed")) == (1, 1)


async def test_a_group_that_succeeds_returns_the_outcome_of_each_of_its_orders(toys: Toys):
    made = await carry_out(toys.gathering(), toys.opening("a"), toys.paying(), toys.opening("b"))
    assert [OPEN.outcome_of(one).token for one in (made[0], made[2])] == ["a", "b"]
    assert made[1].extension is None


async def test_a_repetition_under_its_key_is_answered_as_the_first_time(toys: Toys):
    group, key = toys.gathering(), toys.key("k", token="a")
    first = await carry_out(group, toys.opening("a"), USE.alone(Token("a")), key=key)
    again = await carry_out(group, toys.opening("a"), USE.alone(Token("a")), key=key)
    assert again == first
    assert first[0].hold_id is not None
    assert OPEN.outcome_of(again[0]).hold_id == first[0].hold_id
    assert await toys.events("ToyOpened") == 1
    with pytest.raises(KeyReused):
        await carry_out(group, toys.opening("b"), key=toys.key("k", token="b"))


async def test_a_refused_claim_is_not_remembered_under_its_key(toys: Toys):
    group, key = toys.gathering(), toys.key("k")
    with pytest.raises(ledger.ClaimRefused):
        await carry_out(group, USE.alone(Token("a")), key=key)
    await opened(toys, "a")
    [made] = await carry_out(group, USE.alone(Token("a")), key=key)
    assert USE.outcome_of(made).uses == 1


async def test_a_token_that_many_processes_settle_at_once_is_settled_once(toys: Toys):
    await opened(toys, "a")
    settling = await toys.settling("a")
    processes = [toys.gathering() for _ in range(4)]
    outcomes = await asyncio.gather(
        *(carry_out(process, settling) for process in processes for _ in range(8)), return_exceptions=True
    )
    assert sum(isinstance(outcome, list) for outcome in outcomes) == 1
    refused = [outcome for outcome in outcomes if isinstance(outcome, ledger.ClaimRefused)]
    assert [refusal.detail for refusal in refused] == [{"token": "a"}] * 31
    assert await toys.events("ToySettled") == 1


async def test_many_orders_that_lack_the_money_for_one_row_are_refused_and_the_next_gets_it(toys: Toys):
    group = toys.gathering()
    outcomes = await asyncio.gather(
        *(carry_out(group, toys.opening("a", "1000")) for _ in range(15)),
        carry_out(group, toys.opening("a")),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [ledger.InsufficientBalance] * 15 + [list]


async def test_an_order_that_cannot_be_recorded_fails_alone(toys: Toys, monkeypatch: pytest.MonkeyPatch):
    sizes, post_batch = [], batch.post_batch

    async def counted(tx, tickets, book):
        sizes.append(len(tickets))
        return await post_batch(tx, tickets, book)

    monkeypatch.setattr(batch, "post_batch", counted)
    group = toys.gathering()
    tokens = [f"t{number}" for number in range(15)] + ["broken"]
    outcomes = await asyncio.gather(
        *(carry_out(group, toys.opening(token)) for token in tokens), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [list] * 15 + [asyncpg.RaiseError]
    assert sizes == [16, 8, 8, 4, 4, 2, 2, 1, 1], "halves, until what fails is alone"
    assert await toys.value("SELECT count(*) FROM toy_token") == 15


async def test_a_transaction_that_breaks_off_leaves_neither_rows_nor_money(toys: Toys):
    """The server ends the connection while the statement that claimed the token waits for the payer's account."""
    await opened(toys, "a")
    before, settling, key = await toys.holds(), await toys.settling("a"), toys.key("k")
    blocker = await asyncpg.connect(toys.registry.database.dsn)
    blocking = blocker.transaction()
    await blocking.start()
    await blocker.execute("SELECT FROM ledger_account WHERE did = $1 FOR UPDATE", toys.payer.did)
    waiting = asyncio.create_task(carry_out(toys.gathering(), settling, key=key))
    waits = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while (pid := await blocker.fetchval(waits)) is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await blocker.execute("SELECT pg_terminate_backend($1)", pid)
    with pytest.raises(Unavailable):
        await waiting
    await blocking.rollback()
    await blocker.close()
    assert (await toys.state("a"), await toys.holds()) == ("open", before)
    [made] = await carry_out(toys.gathering(), settling, key=key)
    assert SETTLE.outcome_of(made).state == "settled"


async def test_a_wider_transaction_carries_out_extensions_with_its_orders(toys: Toys):
    async def open_and_fail(*given: ledger.Order) -> None:
        async def acted(tx):
            await ledger.apply(tx, given, toys.book)

        await toys.registry.database.transaction(acted)

    with pytest.raises(ledger.InsufficientBalance):
        await open_and_fail(toys.opening("a"), toys.paying("1000"))
    assert await toys.state("a") is None
    await open_and_fail(toys.opening("a"), toys.paying("1"))
    with pytest.raises(ledger.ClaimRefused):
        await open_and_fail(toys.paying("1"), toys.opening("a"))
    assert await toys.events("ToyOpened") == 1


async def pass_time(toys: Toys, *tokens: str) -> None:
    await toys.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE ledger_hold SET opened_at = opened_at - interval '2 hours',"
            " expires_at = expires_at - interval '2 hours' WHERE owner_kind = $1 AND owner_id = ANY ($2)",
            OWNER,
            list(tokens),
        )
    )


async def test_an_expired_hold_is_freed_in_the_commit_that_ends_its_owners_state(toys: Toys):
    await opened(toys, "a", "b")
    await pass_time(toys, "a")
    assert await ledger.free_overdue_holds(toys.registry.runtime) == 1
    assert (await toys.state("a"), await toys.state("b")) == ("expired", "open")
    assert (await toys.holds())[1] == parse_amount("1.005")


async def test_a_hold_whose_owner_does_not_let_it_expire_stays(toys: Toys):
    await opened(toys, "a", "b")
    await toys.registry.database.transaction(
        lambda tx: tx.execute("UPDATE toy_token SET state = 'busy' WHERE id = 'a'")
    )
    await pass_time(toys, "a", "b")
    assert await ledger.free_overdue_holds(toys.registry.runtime) == 1
    assert (await toys.state("a"), await toys.state("b")) == ("busy", "expired")


async def test_a_hold_that_cannot_be_freed_keeps_back_no_other(toys: Toys):
    tokens = ["a", "b", "stuck", "c", "d"]
    await opened(toys, *tokens)
    await pass_time(toys, *tokens)
    assert await ledger.free_overdue_holds(toys.registry.runtime) == 4
    assert [await toys.state(token) for token in tokens] == [
        "expired",
        "expired",
        "open",
        "expired",
        "expired",
    ]


HISTORIES = by_tier(4, 60, 600)


async def test_however_orders_meet_a_token_and_its_hold_end_alike(toys: Toys):
    """Random orders on few tokens from two processes, single and in groups, with expiry between them."""
    chance = random.Random(printed_seed())
    settled: list[str] = []
    for history in range(HISTORIES):
        tokens = [f"h{history}-{number}" for number in range(4)]
        groups = [toys.gathering(), toys.gathering()]
        await asyncio.gather(
            *(act_at_random(toys, chance.choice(groups), tokens, chance, settled) for _ in range(60))
        )
    rows = await toys.registry.database.read(
        lambda tx: tx.fetch(
            "SELECT t.id, t.state, h.ending FROM toy_token t LEFT JOIN ledger_hold h ON h.id = t.hold_id"
        )
    )
    endings = {"open": None, "settled": "captured", "expired": "expired"}
    assert {row["id"]: row["ending"] for row in rows} == {row["id"]: endings[row["state"]] for row in rows}
    assert sorted(settled) == sorted(row["id"] for row in rows if row["state"] == "settled")
    held = await toys.value("SELECT count(*) FROM ledger_hold WHERE owner_kind = $1", OWNER)
    assert held == len(rows) == await toys.events("ToyOpened")
    assert await toys.value("SELECT sum(uses) FROM toy_token") == await toys.events("ToyUsed")


async def act_at_random(
    toys: Toys, group: ledger.GroupCommit, tokens: list[str], chance: random.Random, settled: list[str]
) -> None:
    """One act on one of the tokens; a token that it settles is added to `settled`."""
    token, kind = chance.choice(tokens), chance.choice(["open", "settle", "use", "group", "expire"])
    small, any_amount = "0.001", chance.choice(["0.001", "0.0005", "5", "1000"])
    if kind == "expire":
        await pass_time(toys, token)
        await ledger.free_overdue_holds(toys.registry.runtime)
        return
    given = {
        "open": [toys.opening(token, any_amount)],
        "settle": [await toys.settling(token, any_amount)],
        "use": [USE.alone(Token(token))],
        "group": [toys.opening(token, small), USE.alone(Token(tokens[0])), toys.paying(small)],
    }[kind]
    try:
        await carry_out(group, *given)
    except (ledger.ClaimRefused, Refused):
        return
    if kind == "settle":
        settled.append(token)


def test_an_order_keeps_its_terms_when_it_gets_an_extension():
    order = orders.transfer(ledger.TransferOrder("did:hansa:x:a", "did:hansa:x:b", Minor(1)))
    extended = USE.on(order, Token("a"))
    assert extended.terms.fee == "on_top"
    assert extended.terms.paced == "sent"
    assert extended.terms.typed
