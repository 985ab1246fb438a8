"""The registry that ruled and slashed is served from an old backup: the one that paid the award shows it, and pays once."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from hansa.foundation.plumbing.outgoing import Answer, HostUnreachable
from hansa.foundation.values.money import parse_amount
from hansa.rooms import federation, transfers
from hansa.rooms.commerce.slash_settlements.envelope import SignedReceipt, read_receipt
from hansa.rooms.commerce.slash_settlements.inbox import Sent, take_receipt
from hansa.rooms.commerce.slash_settlements.settlement import PAID_BY_ANOTHER_AWARD, Direction
from hansa.rooms.commerce.slash_settlements.store import SHOWN_MAX_CHARACTERS
from hansa.rooms.federation.mailbox import channel
from tests.conversations.test_slash_settlements import Court, awards, typed, verified
from tests.neighbours.agreeing_scene import AgreementAbroad
from tests.neighbours.crossing_scene import across, refusal, run, settle
from tests.neighbours.restoring import backed_up, put_back, put_back_later
from tests.neighbours.test_restored_bridge import compare
from tests.neighbours.two_registries import Neighbour, neighbours
from tests.registry import DatabaseFarm

AGAIN = "The contractor did not pay."


@pytest.fixture(scope="module")
async def court(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Court]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("awards")) as pair:
        areas = "admin_enforcement"
        for one in (pair.a, pair.b):
            await compare(one, anew=True)
        yield Court(
            pair, await pair.a.registry.administrator(areas), await pair.b.registry.administrator(areas)
        )
        for one in (pair.a, pair.b):
            supply = await one.registry.supply()
            assert (supply["status"], supply["delta"]) == ("OK", "0"), supply


class HeldAnswers:
    """Answers to messages about settlements that arrive later than they are awaited."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self.are_held = True
        right = federation.call_peer

        async def call(*given: Any, **more: Any) -> Answer:
            answer = await right(*given, **more)
            if not self.are_held:
                return answer
            self.texts += json.loads(answer.body)["messages"]
            raise HostUnreachable

        patch.setattr(channel, "call_peer", call)

    async def arrive(self, at: Neighbour, peer: federation.PeerRecord, sent_at: transfers.Message) -> None:
        """The receipt among them, for an award that was sent with these positions."""
        (late,) = [
            read
            for text in self.texts
            for read in read_receipt(text, federation.keys_in_force(peer))
            if isinstance(read, SignedReceipt)
        ]
        sent = Sent(Direction.AWARDED, sent_at)
        await at.registry.runtime.database.transaction(lambda tx: take_receipt(tx, peer, late, sent))


@dataclass(frozen=True)
class Award:
    """A contract of which 10 units were paid and 10 are claimed: the contractor at `a` is slashed there, and the provider compensated at `b`."""

    court: Court
    parties: AgreementAbroad
    contract_id: int

    @classmethod
    async def of(cls, court: Court) -> "Award":
        parties = await AgreementAbroad.between(court.pair)
        contract_id = await parties.submitted_after_payment()
        await parties.receive(contractor="100", provider="110")
        return cls(court, parties, contract_id)

    async def disputed(self) -> int:
        filed = await self.parties.abroad(
            "dispute-federated",
            self.contract_id,
            defendant_did=self.parties.contractor.did,
            reason_code="OTHER",
            description=AGAIN,
            claimed_amount="10",
        )
        assert filed.status_code == 201, filed.text
        number: int = filed.json()["id"]
        return number

    async def ruled(self, slash: str, compensation: str) -> int:
        """A ruling whose award is paid; that it was, is shown by the registry that paid later."""
        dispute_id = await self.disputed()
        answer = await self.court.rule(dispute_id, slash, compensation)
        assert answer.status_code == 200, answer.text
        await settle(self.court.pair.a, self.court.pair.b, rounds=2)
        await self.court.what_is_due_happens(self.court.pair.a)
        return dispute_id

    async def messages_pass(self) -> None:
        pair = self.court.pair
        for _ in range(2):
            await settle(pair.a, pair.b, rounds=1)
            await self.court.what_is_due_happens(pair.a, pair.b)

    async def balances(self) -> tuple[str, str]:
        return await self.parties.contractor.balance(), await self.parties.provider.balance()

    async def awarded(self, dispute_id: int) -> dict[str, Any]:
        found = await awards(self.court, dispute_id)
        (one,) = [one for one in found if one["direction"] == "awarded"]
        return one

    async def nothing_is_due(self) -> None:
        due = "SELECT count(*) FROM commerce_settlement WHERE next_at IS NOT NULL"
        for one in (self.court.pair.a, self.court.pair.b):
            assert await one.registry.database.query(lambda tx: tx.fetchval(due)) == 0


async def test_an_award_that_was_paid_is_confirmed_and_then_nothing_is_due(court: Court) -> None:
    award = await Award.of(court)
    dispute_id = await award.ruled("8", "7")
    await award.messages_pass()
    assert await award.balances() == ("92", "117")
    assert (await award.awarded(dispute_id))["status"] == "SETTLED"
    await award.nothing_is_due()


@pytest.mark.parametrize(
    ("slash", "compensation", "left"),
    [("5", "5", "92"), ("10", "10", "90")],
    ids=["less", "more"],
)
async def test_a_payment_is_compensated_once_though_its_ruling_was_lost_and_made_again(
    court: Court, slash: str, compensation: str, left: str
) -> None:
    award = await Award.of(court)
    backup = await backed_up(court.pair.a)
    lost = await award.ruled("8", "7")
    assert await award.balances() == ("92", "117")
    await put_back_later(court.pair.a, backup, lost)
    assert await award.balances() == ("100", "117")
    again = await award.ruled(slash, compensation)
    assert again > lost
    await award.messages_pass()
    # As much is destroyed as by the larger of both rulings; the one that was paid is compensated.
    assert await award.balances() == (left, "117")
    settled = await award.awarded(again)
    assert (settled["status"], settled["slashed_amount"]) == ("SETTLED", str(100 - int(left)))
    await award.nothing_is_due()
    (paid,) = await verified(court, court.pair.a, settled, by=court.pair.b)
    assert (paid["type"], paid["dispute_id"], paid["compensation_amount"]) == ("slash-paid", lost, "7")
    (owed,) = [one for one in await awards(court, lost) if one["direction"] == "owed"]
    shown, confirmed = await verified(court, court.pair.b, owed, by=court.pair.a)
    assert (shown["type"], confirmed["type"], confirmed["status"]) == (
        "slash-award",
        "slash-receipt",
        "SETTLED",
    )
    assert confirmed["compensation_amount"] == shown["compensation_amount"] == "7"


async def test_a_late_receipt_of_a_lost_award_does_not_end_the_one_that_was_ruled_again(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both registries have seen each other's chain, so that nothing but the receipt is late.
    earlier = await Award.of(court)
    await earlier.ruled("1", "1")
    await earlier.messages_pass()
    award = await Award.of(court)
    dispute_id = await award.disputed()
    backup = await backed_up(court.pair.a)
    runtime, peer = court.pair.a.registry.runtime, await court.pair.a.peer(court.pair.b)
    calls = HeldAnswers(monkeypatch)
    assert (await court.rule(dispute_id, slash="8", compensation="7")).status_code == 200
    sent_at = await runtime.database.query(lambda tx: transfers.positions_in_chain(tx, peer.spiffe_id or ""))
    await court.what_is_due_happens(court.pair.a)
    await put_back_later(court.pair.a, backup, dispute_id)
    # As much is slashed for the same request, and less is given for it.
    assert (await court.rule(dispute_id, slash="8", compensation="5")).status_code == 200
    calls.are_held = False
    await calls.arrive(court.pair.a, peer, sent_at)
    assert (await award.awarded(dispute_id))["status"] == "SLASHED"
    await award.messages_pass()
    settled, owed = await awards(court, dispute_id)
    assert (settled["status"], settled["slashed_amount"], owed["compensated_amount"]) == ("SETTLED", "8", "7")
    compensation = (
        "SELECT compensation FROM commerce_settlement WHERE direction = 'awarded' AND dispute_id = $1"
    )
    kept = await runtime.database.query(lambda tx: tx.fetchval(compensation, dispute_id))
    assert kept == parse_amount("7")
    (paid,) = await verified(court, court.pair.a, settled, by=court.pair.b)
    assert paid["type"] == "slash-paid"
    await award.nothing_is_due()


@pytest.mark.parametrize("since", [1, 2], ids=["as many awards", "more awards"])
async def test_a_late_receipt_of_a_payment_that_a_restore_lost_does_not_end_the_award(
    court: Court, monkeypatch: pytest.MonkeyPatch, since: int
) -> None:
    earlier = await Award.of(court)
    await earlier.ruled("1", "1")
    await earlier.messages_pass()
    lost, *others = [await Award.of(court) for _ in range(1 + since)]
    dispute_id, *after = [await one.disputed() for one in (lost, *others)]
    a, b = court.pair.a, court.pair.b
    runtime, peer = a.registry.runtime, await a.peer(b)
    backup = await backed_up(b)
    with monkeypatch.context() as patch:
        calls = HeldAnswers(patch)
        assert (await court.rule(dispute_id, slash="8", compensation="7")).status_code == 200
        sent_at = await runtime.database.query(
            lambda tx: transfers.positions_in_chain(tx, peer.spiffe_id or "")
        )
        await court.what_is_due_happens(a)
    assert await lost.balances() == ("92", "117")
    await put_back(b, backup)
    # The other registry goes on from its backup: its chain has other entries at the places of those that it lost.
    await run(a, "UPDATE commerce_settlement SET next_at = NULL WHERE dispute_id = $1", dispute_id)
    for number in after:
        assert (await court.rule(number, slash="4", compensation="3")).status_code == 200
        await court.what_is_due_happens(a)
    await calls.arrive(a, peer, sent_at)
    assert (await lost.awarded(dispute_id))["status"] == "SLASHED"
    await run(a, "UPDATE commerce_settlement SET next_at = now() WHERE dispute_id = $1", dispute_id)
    await lost.messages_pass()
    settled, owed = await awards(court, dispute_id)
    assert (settled["status"], owed["compensated_amount"]) == ("SETTLED", "7")
    assert [await one.balances() for one in (lost, *others)] == [("92", "117"), *[("96", "113")] * since]
    await lost.nothing_is_due()


async def test_a_payment_is_shown_until_its_award_is_settled_in_the_chain_of_its_author(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    award = await Award.of(court)
    dispute_id = await award.disputed()
    backup = await backed_up(court.pair.a)
    with monkeypatch.context() as patch:
        HeldAnswers(patch)
        assert (await court.rule(dispute_id, slash="8", compensation="7")).status_code == 200
        await court.what_is_due_happens(court.pair.a)
    await court.what_is_due_happens(court.pair.b)
    assert (await award.awarded(dispute_id))["status"] == "SLASHED"
    # Nothing that the restore loses is in the chain, so that nobody notices it by that.
    await put_back_later(court.pair.a, backup, dispute_id)
    assert await award.balances() == ("100", "117")
    await award.messages_pass()
    assert await award.balances() == ("92", "117")
    assert (await award.awarded(dispute_id))["status"] == "SETTLED"
    await award.nothing_is_due()


@pytest.mark.parametrize("is_noticed", [False, True], ids=["before it was confirmed", "noticed later"])
async def test_what_was_slashed_for_an_award_that_was_paid_is_destroyed_again_without_a_new_ruling(
    court: Court, is_noticed: bool
) -> None:
    award = await Award.of(court)
    backup = await backed_up(court.pair.a)
    lost = await award.ruled("8", "7")
    if is_noticed:
        await award.messages_pass()
        await award.nothing_is_due()
        await compare(court.pair.a)
    await put_back_later(court.pair.a, backup, lost)
    if is_noticed:
        await compare(court.pair.a, anew=True)
        await settle(court.pair.a, court.pair.b)
    assert await award.balances() == ("100", "117")
    await award.messages_pass()
    assert await award.balances() == ("92", "117")
    shown = await award.awarded(lost)
    assert (shown["status"], shown["slashed_amount"]) == ("SETTLED", "8")
    slash = await typed(court.pair.a, "DisputeSlash", award.parties.contractor.did)
    assert (slash["amount"], slash["dispute_id"]) == ("8", lost)
    await award.nothing_is_due()


async def test_a_ruling_about_a_payment_that_was_compensated_gives_and_takes_only_what_is_left(
    court: Court,
) -> None:
    award = await Award.of(court)
    backup = await backed_up(court.pair.a)
    lost = await award.ruled("8", "7")
    await put_back_later(court.pair.a, backup, lost)
    await award.messages_pass()
    dispute_id = await award.disputed()
    refused = await court.rule(dispute_id, slash="8", compensation="1")
    assert await refusal(refused) == (422, "RULING_INVALID")
    assert f"dispute {lost}" in refused.json()["detail"]
    refused = await court.rule_again(dispute_id, slash="3", compensation="0")
    assert await refusal(refused) == (422, "RULING_INVALID")
    assert (await court.rule_again(dispute_id, slash="2", compensation="0")).status_code == 200
    await award.messages_pass()
    assert await award.balances() == ("90", "117")


async def test_a_dispute_that_was_open_in_the_backup_is_not_compensated_twice(court: Court) -> None:
    award = await Award.of(court)
    dispute_id = await award.disputed()
    backup = await backed_up(court.pair.a)
    assert (await court.rule(dispute_id, slash="8", compensation="7")).status_code == 200
    await court.what_is_due_happens(court.pair.a)
    await put_back_later(court.pair.a, backup, dispute_id)
    assert (await court.rule(dispute_id, slash="6", compensation="6")).status_code == 200
    await award.messages_pass()
    assert await award.balances() == ("92", "117")
    assert (await award.awarded(dispute_id))["slashed_amount"] == "8"
    await award.nothing_is_due()


@pytest.mark.parametrize(
    "makes_it_unshown",
    ["payment = NULL", f"message = message || repeat('x', {SHOWN_MAX_CHARACTERS})"],
    ids=["no name of the payment", "too long"],
)
async def test_an_award_is_refused_for_good_where_the_one_that_was_paid_cannot_be_shown(
    court: Court, makes_it_unshown: str
) -> None:
    award = await Award.of(court)
    dispute_id = await award.disputed()
    backup = await backed_up(court.pair.a)
    assert (await court.rule(dispute_id, slash="8", compensation="7")).status_code == 200
    await court.what_is_due_happens(court.pair.a)
    unshown = (
        f"UPDATE commerce_settlement SET {makes_it_unshown}, next_at = NULL"
        " WHERE direction = 'owed' AND dispute_id = $1"
    )
    await court.pair.b.registry.database.transaction(lambda tx: tx.execute(unshown, dispute_id))
    await put_back_later(court.pair.a, backup, dispute_id)
    assert (await court.rule(dispute_id, slash="6", compensation="6")).status_code == 200
    await award.messages_pass()
    assert await award.balances() == ("94", "117")
    refused = await award.awarded(dispute_id)
    assert (refused["status"], refused["reason"]) == ("FAILED", PAID_BY_ANOTHER_AWARD)
    await award.nothing_is_due()


async def test_what_a_defendant_cannot_pay_again_stays_open_until_it_has_units(court: Court) -> None:
    award = await Award.of(court)
    backup = await backed_up(court.pair.a)
    lost = await award.ruled("8", "7")
    await put_back_later(court.pair.a, backup, lost)
    contractor, provider = award.parties.contractor, award.parties.provider
    # A transfer across takes no fee from its sender, so that nothing is left; its receiver pays one.
    assert (await across(contractor, provider.did, "100")).status_code == 200
    await settle(court.pair.a, court.pair.b)
    assert await award.parties.contractor.balance() == "0"
    await award.messages_pass()
    found = await awards(court, lost)
    assert [one["uncollected_since"] is not None for one in found] == [True, True]
    other = await court.pair.a.registry.agent()
    assert (await other.transfer(contractor, "20")).status_code == 200
    await award.messages_pass()
    assert await award.balances() == ("12", "216.5")
    assert [one["status"] for one in await awards(court, lost)] == ["SETTLED", "SETTLED"]
    await award.nothing_is_due()


async def test_an_award_that_the_registry_did_not_sign_destroys_nothing(court: Court) -> None:
    award = await Award.of(court)
    backup = await backed_up(court.pair.a)
    lost = await award.ruled("8", "7")
    await put_back_later(court.pair.a, backup, lost)
    forged = (
        "UPDATE commerce_settlement SET message = 'e30.e30.e30' WHERE direction = 'owed' AND dispute_id = $1"
    )
    await run(court.pair.b, forged, lost)
    before = (await court.pair.a.refused(court.pair.b)).get("message_malformed", 0)
    await award.messages_pass()
    assert (await court.pair.a.refused(court.pair.b))["message_malformed"] > before
    assert await award.balances() == ("100", "117")
    await run(court.pair.b, "UPDATE commerce_settlement SET next_at = NULL WHERE dispute_id = $1", lost)
