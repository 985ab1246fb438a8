"""Holds: set aside, captured in parts, freed, expired, frozen; every unit leaves a hold once."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, format_amount, parse_amount
from hansa.rooms import ledger
from hansa.rooms.ledger import errors
from tests.properties.proof import prove_book
from tests.registry import TestAgent, TestRegistry

SOON = timedelta(hours=1)
OWNER = "test"


@dataclass(frozen=True)
class Holding:
    """A registry in which `payer` may hold units for `payee`."""

    registry: TestRegistry
    payer: TestAgent
    payee: TestAgent
    book: ledger.Book

    async def act(self, use_case: Any) -> Any:
        return await self.registry.database.transaction(use_case)

    async def open(
        self, amount: str, *, fee: str | None = None, expires_in: timedelta | None = SOON, owner: str = "1"
    ) -> int:
        held_for = ledger.NewHold(
            OWNER, owner, self.payee.did, datetime.now(UTC) + expires_in if expires_in else None
        )
        order = ledger.HoldOrder(
            self.payer.did, parse_amount(amount), held_for, parse_amount(fee) if fee else None
        )
        return (await self.act(lambda tx: ledger.open_hold(tx, order, self.book))).hold_id

    async def capture(self, hold_id: int, amount: str, *, final: bool = False) -> ledger.Result:
        taken = ledger.Capture(hold_id, final)
        return await self.act(lambda tx: ledger.capture_hold(tx, taken, parse_amount(amount), self.book))

    async def release(self, hold_id: int) -> ledger.Result:
        return await self.act(lambda tx: ledger.release_hold(tx, hold_id, self.book))

    async def replace(self, hold_id: int, amount: str, *, payee: str | None = None) -> ledger.Result:
        held_for = ledger.NewHold(OWNER, "other", payee or self.payee.did)
        return await self.act(
            lambda tx: ledger.replace_hold(tx, hold_id, parse_amount(amount), held_for, self.book)
        )

    async def hold(self, hold_id: int) -> ledger.Hold:
        return await self.registry.database.read(lambda tx: ledger.read_hold(tx, hold_id))

    async def expire(self, hold_id: int) -> ledger.Result:
        return await self.act(lambda tx: ledger.expire_hold(tx, hold_id, self.book))

    async def pass_time(self, hold_id: int, hours: int) -> None:
        """Let a hold grow older."""
        await self.act(
            lambda tx: tx.execute(
                "UPDATE ledger_hold SET opened_at = opened_at - make_interval(hours => $2),"
                " expires_at = expires_at - make_interval(hours => $2),"
                " frozen_at = frozen_at - make_interval(hours => $2) WHERE id = $1",
                hold_id,
                hours,
            )
        )

    async def find(self, owner: str = "1") -> ledger.Hold:
        (hold,) = await self.registry.database.read(lambda tx: ledger.read_holds(tx, OWNER, owner))
        return hold

    async def holds(self, agent: TestAgent) -> tuple[str, str]:
        """Return the units of the agent: liquid, and in escrow."""
        balance = await self.registry.database.read(lambda tx: ledger.balance_of(tx, agent.did))
        return format_amount(balance.liquid), format_amount(balance.escrow)

    async def prove(self) -> None:
        verdict = await self.registry.supply()
        assert (verdict["status"], verdict["delta"]) == ("OK", "0")

        async def proven(tx: Tx) -> None:
            assert await ledger.escrow_gaps(tx) == []

        await self.registry.database.read(proven)
        await self.registry.database.query(prove_book)


@pytest.fixture
async def holding(registry: TestRegistry) -> AsyncIterator[Holding]:
    made = Holding(
        registry, await registry.agent(), await registry.agent(), ledger.Book.of(registry.settings)
    )
    yield made
    await made.prove()


async def test_a_hold_sets_the_amount_and_its_fee_aside(holding: Holding):
    before = await holding.holds(holding.payer)
    await holding.open("10")
    assert before == ("100", "0")
    assert await holding.holds(holding.payer) == ("89.95", "10.05")
    hold = await holding.find()
    assert (hold.payer, hold.payee) == (holding.payer.did, holding.payee.did)
    assert (hold.amount, hold.fee_held, hold.remaining) == tuple(map(parse_amount, ("10", "0.05", "10.05")))


async def test_a_final_capture_pays_the_payee_collects_the_fee_and_frees_the_rest(holding: Holding):
    hold_id = await holding.open("10")
    captured = await holding.capture(hold_id, "4", final=True)
    assert (format_amount(captured.moved), format_amount(captured.fee)) == ("4", "0.02")
    assert await holding.holds(holding.payer) == ("95.98", "0")
    assert (await holding.holds(holding.payee))[0] == "104"
    hold = await holding.find()
    assert (hold.remaining, hold.ending) == (0, "captured")


async def test_captures_in_parts_take_the_whole_fee_and_not_more(holding: Holding):
    hold_id = await holding.open("0.00000007", fee="0.00000003")
    fees = [(await holding.capture(hold_id, "0.00000001")).fee for _ in range(7)]
    assert sum(fees) == 3
    assert (await holding.find()).ending == "captured"
    assert await holding.holds(holding.payer) == ("99.9999999", "0")


async def test_more_than_is_held_is_not_captured(holding: Holding):
    hold_id = await holding.open("10")
    await holding.capture(hold_id, "7")
    with pytest.raises(errors.HoldExceeded) as refusal:
        await holding.capture(hold_id, "3.00000001")
    assert refusal.value.context == {"available": "3"}


async def test_a_released_hold_gives_amount_and_fee_back_and_ends(holding: Holding):
    hold_id = await holding.open("10")
    await holding.capture(hold_id, "1")
    freed = await holding.release(hold_id)
    assert format_amount(freed.moved) == "9.045"
    assert await holding.holds(holding.payer) == ("98.995", "0")
    for act in (holding.release(hold_id), holding.capture(hold_id, "1"), holding.expire(hold_id)):
        with pytest.raises(errors.HoldEnded):
            await act


async def test_a_hold_is_replaced_by_one_of_less_at_its_own_fee_rate_and_the_difference_is_free(
    holding: Holding,
):
    hold_id = await holding.open("10", fee="0.3", expires_in=None)
    replaced = await holding.replace(hold_id, "7.77777777")
    # Three percent, though a transfer costs half of one.
    assert await holding.holds(holding.payer) == ("91.9888889", "8.0111111")
    old, new = await holding.hold(hold_id), await holding.hold(replaced.hold_id)
    assert (old.remaining, old.ending) == (0, "released")
    assert (format_amount(new.amount), format_amount(new.fee_held)) == ("7.77777777", "0.23333333")
    assert (new.owner_kind, new.owner_id, new.payee) == (OWNER, "other", holding.payee.did)


async def test_a_replaced_hold_counts_once_for_the_fee_of_what_follows(holding: Holding):
    hold_id = await holding.open("40")
    await holding.replace(hold_id, "40")
    await holding.open("10", owner="2")
    hold = await holding.find("2")
    assert format_amount(hold.fee_held) == "0.05"


async def test_a_hold_is_replaced_as_a_whole_or_not_at_all(holding: Holding):
    hold_id = await holding.open("10")
    with pytest.raises(errors.HoldExceeded) as refusal:
        await holding.replace(hold_id, "10.00000001")
    assert refusal.value.context == {"available": "10"}
    with pytest.raises(errors.AccountUnknown):
        await holding.replace(hold_id, "5", payee="did:hansa:hansa.local:nobody")
    await holding.act(
        lambda tx: tx.execute(
            "UPDATE ledger_account SET status = 'suspended' WHERE did = $1", holding.payer.did
        )
    )
    with pytest.raises(errors.AccountSuspended):
        await holding.replace(hold_id, "5")
    assert (await holding.find()).remaining == parse_amount("10.05")
    await holding.release(hold_id)
    with pytest.raises(errors.HoldEnded):
        await holding.replace(hold_id, "5")


async def test_an_unknown_hold_is_refused(holding: Holding):
    for act in (holding.release(7), holding.capture(7, "1"), holding.expire(7)):
        with pytest.raises(errors.HoldUnknown):
            await act


async def test_what_the_balance_does_not_cover_is_not_held(holding: Holding):
    with pytest.raises(errors.InsufficientBalance):
        await holding.open("100")
    assert await holding.holds(holding.payer) == ("100", "0")


async def test_a_hold_for_an_unknown_payee_is_refused(holding: Holding):
    order = ledger.HoldOrder(
        holding.payer.did, parse_amount("1"), ledger.NewHold(OWNER, "1", "did:hansa:hansa.local:nobody")
    )
    with pytest.raises(errors.AccountUnknown):
        await holding.act(lambda tx: ledger.open_hold(tx, order, holding.book))


async def test_a_hold_without_a_payee_is_captured_only_for_a_named_one(holding: Holding):
    order = ledger.HoldOrder(holding.payer.did, parse_amount("10"), ledger.NewHold(OWNER, "1"))
    hold_id = (await holding.act(lambda tx: ledger.open_hold(tx, order, holding.book))).hold_id
    with pytest.raises(errors.AccountUnknown):
        await holding.capture(hold_id, "1")
    taken = ledger.Capture(hold_id, final=True)
    await holding.act(
        lambda tx: ledger.capture_hold(tx, taken, parse_amount("1"), holding.book, payee=holding.payee.did)
    )
    assert (await holding.holds(holding.payee))[0] == "101"


async def test_a_hold_expires_once_it_is_due_and_is_then_not_captured(holding: Holding):
    hold_id = await holding.open("10")
    with pytest.raises(errors.HoldNotDue):
        await holding.expire(hold_id)
    await holding.pass_time(hold_id, 2)
    with pytest.raises(errors.HoldExpired):
        await holding.capture(hold_id, "1")
    assert format_amount((await holding.expire(hold_id)).moved) == "10.05"
    assert (await holding.find()).ending == "expired"
    assert await holding.holds(holding.payer) == ("100", "0")


async def test_a_frozen_hold_does_not_expire_and_the_last_thaw_adds_the_time_that_remained(holding: Holding):
    hold_id = await holding.open("10", expires_in=timedelta(hours=3))
    for reason in ("dispute", "suspension"):
        await holding.act(lambda tx, why=reason: ledger.freeze_hold(tx, hold_id, why))
    await holding.pass_time(hold_id, 5)
    with pytest.raises(errors.HoldNotDue):
        await holding.expire(hold_id)
    await holding.act(lambda tx: ledger.thaw_hold(tx, hold_id, "dispute"))
    with pytest.raises(errors.HoldNotDue):
        await holding.expire(hold_id)
    await holding.act(lambda tx: ledger.thaw_hold(tx, hold_id, "suspension"))
    hold = await holding.find()
    assert hold.expires_at is not None
    assert timedelta(hours=2.9) < hold.expires_at - datetime.now(UTC) < timedelta(hours=3.1)
    assert (await holding.capture(hold_id, "10")).tx_id is not None


async def test_a_hold_that_has_expired_is_neither_frozen_nor_extended(holding: Holding):
    hold_id = await holding.open("10")
    await holding.pass_time(hold_id, 2)
    for act in (
        lambda tx: ledger.freeze_hold(tx, hold_id, "dispute"),
        lambda tx: ledger.extend_hold(tx, hold_id, datetime.now(UTC) + SOON),
    ):
        with pytest.raises(errors.HoldExpired):
            await holding.act(act)


async def test_an_extended_hold_expires_later_or_never(holding: Holding):
    hold_id = await holding.open("10")
    await holding.act(lambda tx: ledger.extend_hold(tx, hold_id, datetime.now(UTC) + timedelta(hours=5)))
    await holding.pass_time(hold_id, 2)
    await holding.act(lambda tx: ledger.extend_hold(tx, hold_id, None))
    await holding.pass_time(hold_id, 1000)
    with pytest.raises(errors.HoldNotDue):
        await holding.expire(hold_id)


async def test_what_its_owner_left_is_freed_after_a_grace(holding: Holding):
    left, kept = await holding.open("10", owner="left"), await holding.open("5", owner="kept")
    assert await ledger.free_overdue_holds(holding.registry.runtime) == 0
    await holding.pass_time(left, 2)
    assert await ledger.free_overdue_holds(holding.registry.runtime) == 1
    assert ((await holding.find("left")).ending, (await holding.find("kept")).ending) == ("expired", None)
    assert kept


async def test_the_velocity_counts_a_hold_when_it_is_made_and_its_release_does_not_take_it_back(
    holding: Holding,
):
    """Otherwise many holds and captures would pay the base rate whatever they move in an hour."""
    for _ in range(3):
        await holding.release(await holding.open("60"))
    dearer = await holding.payer.transfer(holding.payee, "10")
    assert parse_amount(dearer.json()["fee_amount"]) > parse_amount("0.05")


async def test_an_account_with_open_holds_is_not_closed(holding: Holding):
    hold_id = await holding.open("10")
    await holding.payer.transfer(holding.payee, "89.5")
    with pytest.raises(ledger.AccountHoldsUnits):
        await holding.act(lambda tx: ledger.close_account(tx, holding.payer.did))
    await holding.release(hold_id)


async def test_orders_of_a_group_are_all_done_or_none(holding: Holding):
    hold_id = await holding.open("10")
    pay = ledger.Order(holding.payer.did, holding.payee.did, Minor(10**8))
    too_much = ledger.Order(holding.payer.did, holding.payee.did, Minor(10**11))
    for orders in ([pay, too_much], [too_much, pay]):
        grouped = [order.in_group(1) for order in orders]
        with pytest.raises(errors.InsufficientBalance):
            await holding.act(lambda tx, given=grouped: ledger.apply(tx, given, holding.book))
    assert await holding.holds(holding.payer) == ("89.95", "10.05")
    await holding.release(hold_id)


async def test_a_statement_shows_holds_captures_and_releases(holding: Holding):
    hold_id = await holding.open("10")
    await holding.capture(hold_id, "4")
    await holding.release(hold_id)
    answer = (await holding.registry.get("/teg/transactions", headers=holding.payer.headers)).json()
    lines = [
        (line["tx_type"], line["direction"], line["amount"], line["fee_amount"], line["balance_after"])
        for line in answer["items"][:3]
    ]
    assert lines == [
        ("release", "received", "6.03", "0", "95.98"),
        ("capture", "sent", "4", "0.02", "89.95"),
        ("hold", "sent", "10", "0", "89.95"),
    ]
    received = (await holding.registry.get("/teg/transactions", headers=holding.payee.headers)).json()[
        "items"
    ][0]
    assert (received["tx_type"], received["amount"], received["balance_after"]) == ("capture", "4", "104")


async def test_the_events_of_both_accounts_are_read_and_counted_with_holds_among_them(holding: Holding):
    hold_id = await holding.open("10")
    await holding.capture(hold_id, "4")
    await holding.capture(hold_id, "1", final=True)
    await holding.release(await holding.open("2", owner="2"))
    await holding.payer.transfer(holding.payee, "1")
    parties = (holding.payer.did, holding.payee.did, holding.book.fee_collector, holding.book.treasury)
    kinds = {}
    for did in parties:
        page = (
            await holding.registry.get(
                f"/events/aggregate/{did}", params={"limit": 100}, headers=holding.registry.internal
            )
        ).json()
        kinds[did] = [event["event_type"] for event in page["items"]]
        assert page["pagination"]["total_items"] == len(kinds[did]), (did, kinds[did])
    assert kinds[holding.payee.did].count("TokensTransferred") == 4, "a grant, two captures and a transfer"
