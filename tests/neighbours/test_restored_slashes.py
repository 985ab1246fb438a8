"""One of two registries is served from an old backup: a slash that the other one compensated is applied again, and the reverse."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hansa.foundation.plumbing.outgoing import Answer, HostUnreachable
from hansa.rooms.federation.mailbox import channel
from tests.conversations.test_slash_settlements import (
    DELIVERY,
    DUE,
    Court,
    awards,
    disputed_by_provider,
    typed,
)
from tests.neighbours.crossing_scene import across, refusal, run, settle
from tests.neighbours.restoring import backed_up, put_back, put_back_later
from tests.neighbours.test_restored_bridge import compare
from tests.neighbours.two_registries import Neighbour, neighbours
from tests.registry import DatabaseFarm, TestAgent, at_once
from tests.running_jobs import run_due, run_scheduled_transactions


@pytest.fixture(scope="module")
async def court(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Court]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("slashes")) as pair:
        areas = "admin_enforcement"
        at_home, abroad = (
            await pair.a.registry.administrator(areas),
            await pair.b.registry.administrator(areas),
        )
        for one in (pair.a, pair.b):
            await compare(one, anew=True)
        yield Court(pair, at_home, abroad)
        for one in (pair.a, pair.b):
            supply = await one.registry.supply()
            assert (supply["status"], supply["delta"]) == ("OK", "0"), supply


async def restored(court: Court, one: Neighbour, backup: str) -> None:
    """Restore the registry from the backup, and run both until each has presented its signed statements to the other."""
    await compare(one)
    await put_back(one, backup)
    await compare(one, anew=True)
    await settle(court.pair.a, court.pair.b)
    await court.what_is_due_happens(court.pair.b, court.pair.a, court.pair.b, court.pair.a)


async def slashed(court: Court) -> tuple[TestAgent, TestAgent, dict[str, Any], str]:
    """Complainant, defendant, the settlement of a slash that was applied, and a backup of the applying registry before it."""
    alice, bob, tx_id = await court.parties()
    backup = await backed_up(court.pair.b)
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(opened), "approve")
    await court.what_is_due_happens(court.pair.b)
    return alice, bob, opened, backup


async def test_a_slash_that_its_registry_forgot_is_applied_again_without_an_administrator(court: Court):
    alice, bob, opened, backup = await slashed(court)
    assert (await alice.balance(), await bob.balance()) == ("92", "104.9")
    await restored(court, court.pair.b, backup)
    again = await court.incoming(opened)
    assert (again["status"], again["slashed_amount"], again["auto_approved"]) == ("SETTLED", "15", False)
    assert (await court.outgoing(opened))["status"] == "SETTLED"
    assert (await alice.balance(), await bob.balance()) == ("92", "104.9")
    assert (await typed(court.pair.b, "DisputeSlash", bob.did))["amount"] == "15"
    due = "SELECT count(*) FROM commerce_settlement WHERE next_at IS NOT NULL"
    for one in (court.pair.a, court.pair.b):
        assert await one.registry.database.query(lambda tx: tx.fetchval(due)) == 0


async def uncollected(court: Court) -> tuple[dict[str, Any], TestAgent]:
    """A slash that was compensated, of a defendant whose registry forgot it and that has nothing left; the settlement, the defendant."""
    alice, bob, opened, backup = await slashed(court)
    await compare(court.pair.b)
    await put_back(court.pair.b, backup)
    await compare(court.pair.b, anew=True)
    await settle(court.pair.a, court.pair.b)
    # A transfer across takes no fee from its sender, so that nothing is left.
    assert (await across(bob, alice.did, await bob.balance())).status_code == 200
    await settle(court.pair.a, court.pair.b)
    assert await bob.balance() == "0"
    await court.what_is_due_happens(*(court.pair.a, court.pair.b) * 2)
    return opened, bob


async def pause_of(court: Court, opened: dict[str, Any]) -> float:
    """Seconds until the other registry is asked again, after it was asked very often."""
    often = "UPDATE commerce_settlement SET tries = 30, next_at = now() WHERE settlement_id = $1"
    await run(court.pair.a, often, opened["settlement_id"])
    await run_scheduled_transactions(court.pair.a.registry.runtime, DUE)
    await run_due(court.pair.a.registry.runtime, DELIVERY)
    pause = "SELECT extract(epoch FROM next_at - now()) FROM commerce_settlement WHERE settlement_id = $1"
    found = await court.pair.a.registry.database.query(lambda tx: tx.fetchval(pause, opened["settlement_id"]))
    return float(found)


async def test_a_slash_of_a_defendant_with_nothing_left_stays_open_and_is_collected_when_it_has_units_again(
    court: Court,
):
    opened, bob = await uncollected(court)
    there, here = await court.incoming(opened), await court.outgoing(opened)
    assert (there["status"], there["reason"]) == ("FAILED", "NO_FUNDS")
    assert (here["status"], here["slashed_amount"], here["compensated_amount"]) == ("SETTLED", "15", "12")
    assert there["uncollected_since"] is not None
    assert here["uncollected_since"] is not None
    assert 80_000 < await pause_of(court, opened) <= 86_400
    carol = await court.pair.b.registry.agent()
    assert (await carol.transfer(bob, "40")).status_code == 200
    await court.what_is_due_happens(*(court.pair.a, court.pair.b) * 2)
    assert await bob.balance() == "25"
    for found in (await court.incoming(opened), await court.outgoing(opened)):
        assert (found["status"], found["slashed_amount"], found["uncollected_since"]) == (
            "SETTLED",
            "15",
            None,
        )
    due = "SELECT count(*) FROM commerce_settlement WHERE next_at IS NOT NULL"
    for one in (court.pair.a, court.pair.b):
        assert await one.registry.database.query(lambda tx: tx.fetchval(due)) == 0


async def test_an_administrator_of_the_asking_registry_writes_an_uncollected_slash_off_with_a_reason(
    court: Court,
):
    opened, bob = await uncollected(court)
    path = f"/federation/disputes/settlements/{opened['settlement_id']}/write-off"
    reason = {"reason": "The agent is gone."}
    post, headers = court.pair.a.registry.post, court.at_home.headers
    answers = await at_once(*(post(path, json=reason, headers=headers) for _ in range(4)))
    (done,) = [answer for answer in answers if answer.status_code == 200]
    assert done.json()["written_off_reason"] == "The agent is gone."
    for answer in answers:
        assert answer is done or await refusal(answer) == (409, "SETTLEMENT_NOT_UNCOLLECTED")
    carol = await court.pair.b.registry.agent()
    assert (await carol.transfer(bob, "40")).status_code == 200
    await run(court.pair.a, "UPDATE transfers_pair SET crossing = 'resuming', nonce = 'n', ask_at = now()")
    await settle(court.pair.a, court.pair.b)
    await court.what_is_due_happens(*(court.pair.a, court.pair.b) * 2)
    assert await bob.balance() == "40"


async def test_only_what_could_not_be_collected_is_written_off(court: Court):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="1")
    path = f"/federation/disputes/settlements/{opened['settlement_id']}/write-off"
    refused = await court.pair.a.registry.post(path, json={"reason": "No."}, headers=court.at_home.headers)
    assert await refusal(refused) == (409, "SETTLEMENT_NOT_UNCOLLECTED")
    unknown = await court.pair.a.registry.post(
        "/federation/disputes/settlements/999999/write-off",
        json={"reason": "No."},
        headers=court.at_home.headers,
    )
    assert await refusal(unknown) == (404, "SETTLEMENT_UNKNOWN")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(opened), "reject", reason="No.")
    await court.what_is_due_happens(court.pair.b)


async def test_a_rejection_that_its_registry_forgot_stands(court: Court):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    await court.what_is_due_happens()
    backup = await backed_up(court.pair.b)
    await court.decide(await court.incoming(opened), "reject", reason="It was delivered.")
    await court.what_is_due_happens(court.pair.b)
    # A later slash is what the restore is noticed by.
    later = await court.ruled(*await court.parties(), slash="1")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(later), "approve")
    await court.what_is_due_happens(court.pair.b)
    await restored(court, court.pair.b, backup)
    again = await court.incoming(opened)
    assert (again["status"], again["reason"]) == ("FAILED", "It was delivered.")
    assert (await alice.balance(), await bob.balance()) == ("80", "119.9")


async def test_a_slash_after_a_rejection_that_its_registry_forgot_is_compensated(court: Court):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    await court.what_is_due_happens()
    backup = await backed_up(court.pair.b)
    await court.decide(await court.incoming(opened), "reject", reason="It was delivered.")
    await court.what_is_due_happens(court.pair.b)
    assert (await court.outgoing(opened))["status"] == "FAILED"
    # A rejection moves nothing, so that no chain shows that it was lost.
    await put_back(court.pair.b, backup)
    await court.decide(await court.incoming(opened), "approve")
    await court.what_is_due_happens(court.pair.b)
    settled = await court.outgoing(opened)
    assert (settled["status"], settled["slashed_amount"]) == ("SETTLED", "15")
    assert (await court.incoming(opened))["status"] == "SETTLED"
    assert (await alice.balance(), await bob.balance()) == ("92", "104.9")


async def test_a_compensation_that_its_registry_forgot_is_issued_again(court: Court):
    contractor, provider, dispute_id = await disputed_by_provider(court)
    backup = await backed_up(court.pair.b)
    assert (await court.rule(dispute_id, slash="8", compensation="7")).status_code == 200
    await court.what_is_due_happens()
    assert await provider.balance() == "117"
    await restored(court, court.pair.b, backup)
    awarded, owed = await awards(court, dispute_id)
    assert (awarded["status"], owed["status"], owed["compensated_amount"]) == ("SETTLED", "SETTLED", "7")
    assert (await contractor.balance(), await provider.balance()) == ("92", "117")


async def test_a_proof_that_the_registry_did_not_sign_opens_nothing(court: Court):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    dispute_id = opened["dispute_id"]
    forged = (
        "UPDATE commerce_settlement SET status = 'SETTLED', slashed_amount = amount, is_closed = true, outcome = 'e30.e30.e30'"
        " WHERE direction = 'outgoing' AND dispute_id = $1"
    )
    await run(court.pair.a, forged, dispute_id)
    before = (await court.pair.b.refused(court.pair.a)).get("message_malformed", 0)
    await court.what_is_due_happens()
    assert (await court.pair.b.refused(court.pair.a))["message_malformed"] > before
    held = [one for one in await court.list(court.pair.b) if one["dispute_id"] == dispute_id]
    assert (held, await bob.balance()) == ([], "119.9")
    await run(court.pair.a, "UPDATE commerce_settlement SET next_at = NULL WHERE dispute_id = $1", dispute_id)


async def test_a_dispute_after_a_restore_gets_no_number_of_one_that_was_lost(court: Court):
    alice, bob, tx_id = await court.parties()
    backup = await backed_up(court.pair.a)
    lost = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    await court.what_is_due_happens()
    # Nothing is in the chains yet: neither registry notices the restore.
    await put_back(court.pair.a, backup)
    # No registry is restored within the second in which the dispute was filed.
    since = "SELECT extract(epoch FROM clock_timestamp() - timestamptz '2025-01-01 00:00:00+00')"
    while await court.pair.a.registry.database.query(lambda tx: tx.fetchval(since)) < lost["dispute_id"]:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    opened = await court.ruled(*await court.parties(), slash="10", compensation="8")
    assert opened["dispute_id"] > lost["dispute_id"]
    await court.what_is_due_happens()
    await court.decide(await court.incoming(opened), "approve")
    await court.what_is_due_happens(court.pair.b)
    assert (await court.outgoing(opened))["status"] == "SETTLED"


@pytest.mark.parametrize(("slash", "compensation", "got"), [("10", "9", "89"), ("20", "18", "95")])
async def test_a_ruling_that_is_made_again_after_a_restore_finds_what_was_slashed_for_the_payment(
    court: Court, slash: str, compensation: str, got: str
):
    alice, bob, tx_id = await court.parties()
    backup = await backed_up(court.pair.a)
    lost = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(lost), "approve")
    await court.what_is_due_happens(court.pair.b)
    assert (await alice.balance(), await bob.balance()) == ("92", "104.9")
    await put_back_later(court.pair.a, backup, lost["dispute_id"])
    await settle(court.pair.a, court.pair.b)
    again = await court.ruled(alice, bob, tx_id, slash=slash, compensation=compensation)
    assert again["dispute_id"] > lost["dispute_id"]
    await court.what_is_due_happens(court.pair.a, court.pair.b)
    there, here = await court.incoming(again), await court.outgoing(again)
    assert (there["status"], there["tx_id"]) == ("SETTLED", (await court.incoming(lost))["tx_id"])
    assert here["slashed_amount"] == there["slashed_amount"] == min("15", slash)
    assert (await alice.balance(), await bob.balance()) == (got, "104.9")


async def test_a_slash_that_was_applied_is_compensated_by_a_ruling_with_another_amount(court: Court):
    alice, bob, tx_id = await court.parties()
    dispute_id = await court.filed(alice, bob, tx_id)
    backup = await backed_up(court.pair.a)
    lost = await court.settlement_of(dispute_id, slash="15", compensation="12")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(lost), "approve")
    await court.what_is_due_happens(court.pair.b)
    await put_back_later(court.pair.a, backup, lost["dispute_id"])
    await settle(court.pair.a, court.pair.b)
    again = await court.settlement_of(dispute_id, slash="10", compensation="10")
    assert again["dispute_id"] == lost["dispute_id"]
    await court.what_is_due_happens(court.pair.a, court.pair.b)
    here = await court.outgoing(again)
    assert (here["status"], here["slashed_amount"], here["compensated_amount"]) == ("SETTLED", "10", "10")
    assert (await alice.balance(), await bob.balance()) == ("90", "104.9")


@pytest.mark.parametrize(
    ("since", "ends_as", "left"),
    [(1, "FAILED", ("80", "119.9")), (2, "SETTLED", ("92", "104.9"))],
    ids=["at a place of the other fork", "at an earlier place"],
)
async def test_a_late_slash_that_its_registry_forgot_ends_alike_on_both_sides(
    court: Court,
    monkeypatch: pytest.MonkeyPatch,
    since: int,
    ends_as: str,
    left: tuple[str, str],
):
    alice, bob, tx_id = await court.parties()
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    others = [await court.ruled(*await court.parties(), slash="1") for _ in range(since)]
    await court.what_is_due_happens()
    backup = await backed_up(court.pair.b)
    await court.decide(await court.incoming(opened), "approve")
    late: list[str] = []

    async def call(*given: Any, **_: Any) -> Answer:
        late.extend(given[4]["messages"])
        raise HostUnreachable

    with monkeypatch.context() as patch:
        patch.setattr(channel, "call_peer", call)
        await court.what_is_due_happens(court.pair.b)
    # The restore is not noticed, and the chain goes on with other entries.
    await put_back(court.pair.b, backup)
    for one in others:
        await court.decide(await court.incoming(one), "approve")
        await court.what_is_due_happens(court.pair.b)
    await court.decide(await court.incoming(opened), "reject", reason="It was delivered.")
    await court.what_is_due_happens(court.pair.b)
    assert (await court.outgoing(opened))["status"] == "FAILED"
    path = "/api/v1/federation/disputes/slash-confirmation"
    assert (await court.pair.b.call(court.pair.a, "POST", path, {"messages": late})).status == 200
    assert (await court.outgoing(opened))["status"] == ends_as
    await settle(court.pair.a, court.pair.b)
    await court.what_is_due_happens(*(court.pair.a, court.pair.b) * 2)
    assert {(await court.incoming(opened))["status"], (await court.outgoing(opened))["status"]} == {ends_as}
    assert (await alice.balance(), await bob.balance()) == left
    due = "SELECT count(*) FROM commerce_settlement WHERE next_at IS NOT NULL AND dispute_id = $1"
    for one in (court.pair.a, court.pair.b):
        assert await one.registry.database.query(lambda tx: tx.fetchval(due, opened["dispute_id"])) == 0


async def test_a_receipt_of_before_a_restore_does_not_end_the_award_that_was_sent_again(
    court: Court, monkeypatch: pytest.MonkeyPatch
):
    contractor, provider, dispute_id = await disputed_by_provider(court)
    backup = await backed_up(court.pair.b)
    assert (await court.rule(dispute_id, slash="8", compensation="7")).status_code == 200
    right = channel.call_peer

    async def call(*given: Any, **more: Any) -> Answer:
        answer = await right(*given, **more)
        monkeypatch.undo()
        # The answer has left its registry, which is restored before it arrives, and the restore is noticed by both.
        await compare(court.pair.b)
        await put_back(court.pair.b, backup)
        await compare(court.pair.b, anew=True)
        await settle(court.pair.a, court.pair.b)
        return answer

    monkeypatch.setattr(channel, "call_peer", call)
    await court.what_is_due_happens(court.pair.a)
    await court.what_is_due_happens()
    awarded, owed = await awards(court, dispute_id)
    assert (awarded["status"], owed["status"], owed["compensated_amount"]) == ("SETTLED", "SETTLED", "7")
    assert (await contractor.balance(), await provider.balance()) == ("92", "117")
