"""Units that cross to and from other registries: reserved, committed, aborted; each step once, delta 0 throughout."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount, parse_amount, units
from hansa.rooms import ledger
from hansa.rooms.ledger.history import balance_then
from tests.all_events import ALL_EVENTS
from tests.properties.proof import prove_book
from tests.registry import StartRegistry, TestAgent, TestRegistry

PEER = "peer.example/registry/north"
AMOUNT, FEE = parse_amount("10"), parse_amount("0.05")
STRANGER = "did:hansa:peer.example:6f1c8d3e-1111-4222-8333-444455556666"


@dataclass(frozen=True)
class Border:
    """A registry with an agent, and the steps of crossings with one peer."""

    registry: TestRegistry
    agent: TestAgent
    book: ledger.Book

    async def carry_out(self, *steps: Any) -> list[ledger.Result]:
        orders = [step.order(self.book) for step in steps]
        return await self.registry.database.transaction(lambda tx: ledger.apply(tx, orders, self.book))

    async def reserve_out(self, transfer: UUID, amount: Minor = AMOUNT) -> ledger.Result:
        return (await self.carry_out(ledger.ReserveOut(PEER, transfer, self.agent.did, amount, STRANGER)))[0]

    async def reserve_in(
        self, transfer: UUID, amount: Minor = AMOUNT, *, limit: Minor | None = None, payee: str | None = None
    ) -> ledger.Result:
        step = ledger.ReserveIn(PEER, transfer, payee or self.agent.did, amount, FEE, limit, STRANGER)
        return (await self.carry_out(step))[0]

    async def refusal(self, *steps: Any) -> str:
        with pytest.raises(Refused) as refused:
            await self.carry_out(*steps)
        return refused.value.code

    async def liquid(self, did: str | None = None) -> str:
        balance = await self.registry.database.read(lambda tx: ledger.balance_of(tx, did or self.agent.did))
        return format_amount(balance.liquid)

    async def totals(self) -> ledger.CorridorTotals:
        (found,) = await self.registry.database.read(ledger.corridor_totals)
        return found

    async def find(self, direction: Any, transfer: UUID) -> ledger.Crossing | None:
        return await self.registry.database.read(
            lambda tx: ledger.crossing(tx, PEER, direction, transfer, self.book)
        )

    async def prove(self) -> None:
        verdict = await self.registry.supply()
        assert (verdict["status"], verdict["delta"]) == ("OK", "0")
        await self.registry.database.query(prove_book)
        for totals in await self.registry.database.read(ledger.corridor_totals):
            assert totals.delta == 0


@pytest.fixture
async def border(registry: TestRegistry) -> AsyncIterator[Border]:
    made = Border(registry, await registry.agent(), ledger.Book.of(registry.settings))
    yield made
    await made.prove()


async def test_the_amount_leaves_the_sender_whole_and_without_a_fee(border: Border):
    transfer = uuid4()
    reserved = await border.reserve_out(transfer)
    assert (reserved.moved, reserved.fee, format_amount(reserved.balance)) == (AMOUNT, 0, "90")
    await border.carry_out(ledger.CommitOut(PEER, transfer))
    assert await border.liquid() == "90"
    totals = await border.totals()
    assert (totals.frame, totals.committed_out, totals.reserved_out) == (PEER, AMOUNT, 0)
    assert totals.transit == AMOUNT


async def test_an_abort_gives_the_sender_exactly_the_amount_back(border: Border):
    transfer = uuid4()
    await border.reserve_out(transfer)
    (aborted,) = await border.carry_out(ledger.AbortOut(PEER, transfer))
    assert aborted.moved == AMOUNT
    assert await border.liquid() == "100"
    found = await border.find("out", transfer)
    assert found is not None
    assert (found.state, found.return_tx_id) == ("aborted", aborted.tx_id)
    assert (await border.totals()).transit == 0


async def test_a_prepared_receiver_is_credited_at_the_commit_the_net_to_the_payee_and_the_fee_to_the_registry(
    border: Border,
):
    transfer = uuid4()
    reserved = await border.reserve_in(transfer)
    assert (reserved.tx_id, await border.liquid()) == (None, "100")
    before = await border.liquid(border.book.fee_collector)
    (committed,) = await border.carry_out(ledger.CommitIn(PEER, transfer, "for the report"))
    assert (committed.moved, committed.fee) == (AMOUNT, FEE)
    assert await border.liquid() == "109.95"
    assert parse_amount(await border.liquid(border.book.fee_collector)) - parse_amount(before) == FEE
    assert (await border.totals()).transit == -AMOUNT


async def test_the_journal_names_the_other_registry_on_both_movements(border: Border):
    out, entered = uuid4(), uuid4()
    await border.reserve_out(out)
    await border.reserve_in(entered)
    await border.carry_out(ledger.CommitIn(PEER, entered))
    rows = await border.registry.database.query(
        lambda tx: tx.fetch(f"SELECT data FROM {ALL_EVENTS} e WHERE event_type = 'LedgerBalanceChanged'")
    )
    events = [json.loads(row["data"]) for row in rows]
    crossed = [event for event in events if event["tx_type"] in ("out", "in")]
    assert {event["counterparty_frame"] for event in crossed} == {PEER}
    moves = {
        event["tx_type"]: [(entry["bucket"], entry["delta"]) for entry in event["entries"]]
        for event in crossed
    }
    assert moves == {
        "out": [("liquid", "-10"), ("transit", "10")],
        "in": [("transit", "-10"), ("liquid", "9.95"), ("liquid", "0.05")],
    }


async def test_a_repeated_step_moves_nothing_and_names_the_first_transaction(border: Border):
    out, entered, returned = uuid4(), uuid4(), uuid4()
    first = await border.reserve_out(out)
    again = await border.reserve_out(out)
    assert (again.is_repeated, again.tx_id, again.moved) == (True, first.tx_id, 0)
    for _ in range(2):
        await border.carry_out(ledger.CommitOut(PEER, out))
    await border.reserve_out(returned)
    gone = [(await border.carry_out(ledger.AbortOut(PEER, returned)))[0].tx_id for _ in range(2)]
    assert gone[0] == gone[1]
    for _ in range(2):
        await border.reserve_in(entered)
    made = [(await border.carry_out(ledger.CommitIn(PEER, entered)))[0].tx_id for _ in range(2)]
    assert made[0] == made[1] is not None
    assert await border.liquid() == "99.95"


async def test_a_step_is_repeated_beside_others_of_its_group(border: Border):
    out, entered = uuid4(), uuid4()
    await border.reserve_out(out)
    orders = [
        step.order(border.book).in_group(1)
        for step in (
            ledger.ReserveOut(PEER, out, border.agent.did, AMOUNT, STRANGER),
            ledger.ReserveIn(PEER, entered, border.agent.did, AMOUNT, FEE, None),
            ledger.CommitIn(PEER, entered),
        )
    ]
    results = await border.registry.database.transaction(lambda tx: ledger.apply(tx, orders, border.book))
    assert [result.is_repeated for result in results] == [True, False, False]
    assert await border.liquid() == "99.95"


async def test_a_decision_is_final(border: Border):
    out, returned = uuid4(), uuid4()
    await border.reserve_out(out)
    await border.carry_out(ledger.CommitOut(PEER, out))
    assert await border.refusal(ledger.AbortOut(PEER, out)) == "CROSSING_DECIDED"
    await border.reserve_out(returned)
    await border.carry_out(ledger.AbortOut(PEER, returned))
    assert await border.refusal(ledger.CommitOut(PEER, returned)) == "CROSSING_DECIDED"
    entered = uuid4()
    await border.reserve_in(entered)
    await border.carry_out(ledger.AbortIn(PEER, entered))
    assert await border.refusal(ledger.CommitIn(PEER, entered)) == "CROSSING_DECIDED"
    for step in (ledger.CommitOut, ledger.AbortOut, ledger.CommitIn, ledger.AbortIn):
        assert await border.refusal(step(PEER, uuid4())) == "CROSSING_UNKNOWN"
        assert await border.refusal(step("nowhere.example", out)) == "CROSSING_UNKNOWN"


async def test_the_same_id_with_another_body_is_refused(border: Border):
    out, entered = uuid4(), uuid4()
    await border.reserve_out(out)
    more = Minor(AMOUNT + 1)
    other = await border.registry.agent()
    assert (
        await border.refusal(ledger.ReserveOut(PEER, out, border.agent.did, more, STRANGER)) == "ID_CONFLICT"
    )
    assert await border.refusal(ledger.ReserveOut(PEER, out, other.did, AMOUNT, STRANGER)) == "ID_CONFLICT"
    await border.reserve_in(entered)
    for payee, fee, payer in (
        (other.did, FEE, STRANGER),
        (border.agent.did, Minor(0), STRANGER),
        (border.agent.did, FEE, None),
    ):
        step = ledger.ReserveIn(PEER, entered, payee, AMOUNT, fee, None, payer)
        assert await border.refusal(step) == "ID_CONFLICT"


async def test_one_id_is_another_transfer_in_each_direction_and_with_each_registry(border: Border):
    transfer = uuid4()
    await border.reserve_out(transfer)
    await border.reserve_in(transfer)
    await border.carry_out(
        ledger.ReserveOut("other.example", transfer, border.agent.did, AMOUNT),
        ledger.CommitIn(PEER, transfer),
        ledger.AbortOut("other.example", transfer),
    )
    assert await border.liquid() == "99.95"
    assert {totals.frame for totals in await border.registry.database.read(ledger.corridor_totals)} == {
        PEER,
        "other.example",
    }


async def test_more_than_the_balance_is_refused_with_what_is_required(border: Border):
    with pytest.raises(ledger.InsufficientBalance) as refused:
        await border.reserve_out(uuid4(), parse_amount("100.00000001"))
    assert refused.value.context == {"available": "100", "required": "100.00000001"}
    assert await border.find("out", uuid4()) is None


async def test_a_suspended_payer_sends_nothing_and_its_abort_gives_the_units_back(border: Border):
    transfer = uuid4()
    await border.reserve_out(transfer)
    await border.registry.database.transaction(lambda tx: ledger.suspend_accounts(tx, [border.agent.did]))
    step = ledger.ReserveOut(PEER, uuid4(), border.agent.did, AMOUNT)
    assert await border.refusal(step) == "ACCOUNT_SUSPENDED"
    await border.carry_out(ledger.AbortOut(PEER, transfer))
    assert await border.liquid() == "100"


async def test_a_suspended_payee_is_refused_at_prepare_and_credited_by_a_commit(border: Border):
    transfer = uuid4()
    await border.reserve_in(transfer)
    await border.registry.database.transaction(lambda tx: ledger.suspend_accounts(tx, [border.agent.did]))
    step = ledger.ReserveIn(PEER, uuid4(), border.agent.did, AMOUNT, FEE, None)
    assert await border.refusal(step) == "ACCOUNT_SUSPENDED"
    await border.carry_out(ledger.CommitIn(PEER, transfer))
    assert await border.liquid() == "109.95"


async def test_an_unknown_payee_is_refused_at_prepare(border: Border):
    step = ledger.ReserveIn(PEER, uuid4(), STRANGER, AMOUNT, FEE, None)
    assert await border.refusal(step) == "ACCOUNT_UNKNOWN"


async def test_the_limit_of_a_peer_counts_what_was_prepared_and_committed_in_less_what_went_out(
    border: Border,
):
    limit = Minor(2 * AMOUNT)
    entered, prepared, out = uuid4(), uuid4(), uuid4()
    await border.reserve_in(entered, limit=limit)
    await border.carry_out(ledger.CommitIn(PEER, entered))
    await border.reserve_in(prepared, limit=limit)
    beyond = ledger.ReserveIn(PEER, uuid4(), border.agent.did, Minor(FEE + 1), FEE, limit)
    assert await border.refusal(beyond) == "PEER_LIMIT"
    await border.reserve_out(out)
    # What may still come back does not count.
    assert await border.refusal(beyond) == "PEER_LIMIT"
    await border.carry_out(ledger.CommitOut(PEER, out))
    await border.reserve_in(uuid4(), limit=limit)
    assert await border.refusal(beyond) == "PEER_LIMIT"
    await border.carry_out(ledger.AbortIn(PEER, prepared))
    await border.reserve_in(uuid4(), limit=limit)


async def test_orders_of_one_batch_share_the_limit(border: Border):
    limit = Minor(2 * AMOUNT)
    steps = [
        ledger.ReserveIn(PEER, uuid4(), border.agent.did, AMOUNT, FEE, limit).order(border.book)
        for _ in range(3)
    ]
    lines = [
        border.registry.database.transaction(lambda tx, o=order: ledger.apply(tx, [o], border.book))
        for order in steps
    ]  # type: ignore[misc]
    outcomes = await asyncio.gather(*lines, return_exceptions=True)
    assert sum(isinstance(outcome, ledger.PeerLimitReached) for outcome in outcomes) == 1
    assert (await border.totals()).reserved_in == 2 * AMOUNT


async def test_what_comes_in_stays_under_the_limit_of_the_supply_and_so_does_what_is_issued(border: Border):
    supply = units(10**6)
    room = Minor(units(9 * 10**10) - supply)
    transfer = uuid4()
    beyond = ledger.ReserveIn(PEER, uuid4(), border.agent.did, Minor(room + 1), FEE, None)
    assert await border.refusal(beyond) == "SUPPLY_EXHAUSTED"
    await border.reserve_in(transfer, room)
    with pytest.raises(Refused) as refused:
        await border.registry.database.transaction(
            lambda tx: ledger.mint(tx, amount=Minor(1), ref="more", amount_max=Minor(1), book=border.book)
        )
    assert refused.value.code == "SUPPLY_EXHAUSTED"
    await border.carry_out(ledger.AbortIn(PEER, transfer))
    await border.registry.database.transaction(
        lambda tx: ledger.mint(tx, amount=Minor(1), ref="more", amount_max=Minor(1), book=border.book)
    )


@pytest.fixture
async def poor(start_registry: StartRegistry) -> AsyncIterator[Border]:
    """A border whose agent holds nothing, so that its account can be closed."""
    registry = await start_registry(genesis_grant_enabled=False)
    made = Border(registry, await registry.agent(), ledger.Book.of(registry.settings))
    yield made
    await made.prove()


async def test_a_transfer_under_way_blocks_the_closing_of_the_account(poor: Border):
    transfer = uuid4()
    await poor.reserve_in(transfer)
    refused = await poor.registry.http.request("DELETE", "/api/v1/agents/me", headers=poor.agent.headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CROSSING_PENDING")
    await poor.carry_out(ledger.AbortIn(PEER, transfer))
    ended = await poor.registry.http.request("DELETE", "/api/v1/agents/me", headers=poor.agent.headers)
    assert ended.status_code == 200


async def test_a_deletion_goes_on_and_a_later_credit_lands_in_the_account_for_unclaimed_units(poor: Border):
    entered, late = uuid4(), uuid4()
    await poor.reserve_in(entered)
    await poor.reserve_in(late)
    await poor.registry.database.transaction(
        lambda tx: ledger.close_account(tx, poor.agent.did, waits_for_crossings=False)
    )
    await poor.carry_out(ledger.CommitIn(PEER, entered))
    await poor.carry_out(ledger.AbortIn(PEER, late))
    assert await poor.liquid() == "0"
    assert await poor.liquid(poor.book.unclaimed) == "9.95"
    step = ledger.ReserveIn(PEER, uuid4(), poor.agent.did, AMOUNT, FEE, None)
    assert await poor.refusal(step) == "ACCOUNT_SUSPENDED"


async def test_what_came_for_a_closed_account_is_paid_to_another_one_once_and_whole(poor: Border):
    closed, database = poor.agent, poor.registry.database
    heir, transfer = await poor.registry.agent(), uuid4()
    before = await poor.liquid(heir.did)
    await poor.reserve_in(transfer)
    await database.transaction(lambda tx: ledger.close_account(tx, closed.did, waits_for_crossings=False))
    await poor.carry_out(ledger.CommitIn(PEER, transfer))
    (found,) = [
        one
        for one in await database.read(lambda tx: ledger.unclaimed_units(tx, poor.book))
        if one.transfer_id == str(transfer)
    ]
    assert (found.amount, found.closed_did, found.counterparty) == (AMOUNT - FEE, closed.did, STRANGER)

    async def claim(payee: str, ref: str = "ticket-12") -> None:
        await database.transaction(
            lambda tx: ledger.claim_unclaimed(tx, tx_id=found.tx_id, payee=payee, ref=ref, book=poor.book)
        )

    for payee, ref, refusal in (
        ("did:hansa:nobody", "ticket-12", ledger.AccountUnknown),
        (heir.did, " ", Refused),
    ):
        with pytest.raises(refusal):
            await claim(payee, ref)
    outcomes = await asyncio.gather(*(claim(heir.did) for _ in range(4)), return_exceptions=True)
    assert [type(one) for one in outcomes if one is not None] == [ledger.ClaimUnknown] * 3
    assert float(await poor.liquid(heir.did)) - float(before) == 9.95
    assert str(transfer) not in {
        one.transfer_id for one in await database.read(lambda tx: ledger.unclaimed_units(tx, poor.book))
    }


async def test_a_statement_names_the_other_registry_and_its_agent(border: Border):
    out, returned, entered = uuid4(), uuid4(), uuid4()
    await border.reserve_out(out)
    await border.reserve_out(returned)
    await border.carry_out(ledger.AbortOut(PEER, returned))
    await border.reserve_in(entered)
    await border.carry_out(ledger.CommitIn(PEER, entered, "for the report"))
    answer = await border.registry.get("/teg/transactions?limit=4", headers=border.agent.headers)
    lines = answer.json()["items"]
    assert {(line["counterparty"], line["counterparty_registry"]) for line in lines} == {(STRANGER, PEER)}
    assert [(line["tx_type"], line["direction"], line["amount"], line["fee_amount"]) for line in lines] == [
        ("in", "received", "9.95", "0"),
        ("return", "received", "10", "0"),
        ("out", "sent", "10", "0"),
        ("out", "sent", "10", "0"),
    ]
    assert [line["balance_after"] for line in lines] == ["99.95", "90", "80", "90"]
    filtered = await border.registry.get(
        "/teg/transactions", params={"counterparty": STRANGER}, headers=border.agent.headers
    )
    assert filtered.json()["pagination"]["total_items"] == 4
    listed = await border.registry.get(
        "/teg/transactions", params={"format": "csv", "limit": 1}, headers=border.agent.headers
    )
    assert PEER in listed.text


async def test_balances_of_a_past_moment_know_what_was_in_transit(border: Border):
    transfer = uuid4()
    await border.reserve_out(transfer)
    answer = await border.registry.get("/public/supply-invariant")
    before = str(answer.json()["as_of_event_seq"])
    await border.carry_out(ledger.AbortOut(PEER, transfer))
    frame = border.registry.settings.trust_domain
    for did, liquid, transit in ((border.agent.did, "90", "0"), (border.book.transit(PEER), "0", "10")):
        then = await border.registry.database.read(lambda tx, d=did: balance_then(tx, d, before, frame))  # type: ignore[misc]
        assert (format_amount(then.liquid), format_amount(then.transit)) == (liquid, transit)


async def test_a_dry_run_says_what_a_reserve_would_do_and_opens_nothing(border: Border):
    for step in (
        ledger.ReserveOut(PEER, uuid4(), border.agent.did, AMOUNT),
        ledger.ReserveIn(PEER, uuid4(), border.agent.did, AMOUNT, FEE, None),
    ):
        order = step.order(border.book)
        (result,) = await border.registry.database.read(
            lambda tx, o=order: ledger.apply(tx, [o], border.book, dry=True)  # type: ignore[misc]
        )
        assert result.fee == 0
    assert await border.registry.database.read(ledger.corridor_totals) == []
