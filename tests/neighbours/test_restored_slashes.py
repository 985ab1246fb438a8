"""One of two registries is served from an old backup: a slash that the other one compensated is applied again, and the reverse."""

from collections.abc import AsyncIterator

import pytest

from tests.conversations.test_slash_settlements import Court, awards, disputed_by_provider, typed
from tests.neighbours.crossing_scene import run, settle
from tests.neighbours.restoring import backed_up, put_back
from tests.neighbours.test_restored_bridge import compare
from tests.neighbours.two_registries import Neighbour, neighbours
from tests.registry import DatabaseFarm


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
    """From the backup, until both registries have shown each other what they had signed."""
    await compare(one)
    await put_back(one, backup)
    await compare(one, anew=True)
    await settle(court.pair.a, court.pair.b)
    await court.what_is_due_happens(court.pair.b, court.pair.a, court.pair.b, court.pair.a)


async def test_a_slash_that_its_registry_forgot_is_applied_again_without_an_administrator(court: Court):
    alice, bob, tx_id = await court.parties()
    backup = await backed_up(court.pair.b)
    opened = await court.ruled(alice, bob, tx_id, slash="15", compensation="12")
    await court.what_is_due_happens()
    await court.decide(await court.incoming(opened), "approve")
    await court.what_is_due_happens(court.pair.b)
    assert (await alice.balance(), await bob.balance()) == ("92", "104.9")
    await restored(court, court.pair.b, backup)
    again = await court.incoming(opened)
    assert (again["status"], again["slashed_amount"], again["auto_approved"]) == ("SETTLED", "15", False)
    assert (await court.outgoing(opened))["status"] == "SETTLED"
    assert (await alice.balance(), await bob.balance()) == ("92", "104.9")
    assert (await typed(court.pair.b, "DisputeSlash", bob.did))["amount"] == "15"
    due = "SELECT count(*) FROM commerce_settlement WHERE next_at IS NOT NULL"
    for one in (court.pair.a, court.pair.b):
        assert await one.registry.database.look(lambda tx: tx.fetchval(due)) == 0


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
    assert await provider.balance() == "107"
    await restored(court, court.pair.b, backup)
    awarded, owed = await awards(court, dispute_id)
    assert (awarded["status"], owed["status"], owed["compensated_amount"]) == ("SETTLED", "SETTLED", "7")
    assert (await contractor.balance(), await provider.balance()) == ("92", "107")


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
