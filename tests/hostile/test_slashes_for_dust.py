"""A peer that asks for slashes of strangers: nothing is destroyed beyond the amount that its complainant paid the defendant, and that once."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.conversations.test_slash_settlements import Court
from tests.neighbours.agreeing_scene import AgreementAbroad
from tests.neighbours.crossing_scene import across, run, settle
from tests.neighbours.paying_scene import paid_across
from tests.neighbours.two_registries import neighbours
from tests.registry import DatabaseFarm, TestAgent


@pytest.fixture(scope="module")
async def court(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Court]:
    """Registry `a` is the peer that gains, `b` slashes by itself up to 1,000 units."""
    async with neighbours(database_farm, tmp_path_factory.mktemp("dust")) as pair:
        areas = "admin_enforcement"
        court = Court(
            pair, await pair.a.registry.administrator(areas), await pair.b.registry.administrator(areas)
        )
        await court.slashes_at(pair.b, enabled=True, most=1000)
        yield court
        for one in (pair.a, pair.b):
            supply = await one.registry.supply()
            assert (supply["status"], supply["delta"]) == ("OK", "0"), supply


async def asked(
    court: Court, alice: TestAgent, bob: TestAgent, payment: str | None, slash: str
) -> dict[str, Any]:
    """A request of the peer that names this payment, whatever was paid; the settlement at `b`."""
    opened = await court.ruled(alice, bob, None, slash=slash)
    naming = "UPDATE commerce_settlement SET payment = $2 WHERE dispute_id = $1 AND direction = 'outgoing'"
    await run(court.pair.a, naming, opened["dispute_id"], payment)
    await court.what_is_due_happens()
    return await court.incoming(opened)


async def last_transfer(court: Court) -> str:
    found: str = await court.pair.b.registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT transfer_id::text FROM transfers_received ORDER BY created_at DESC LIMIT 1"
        )
    )
    return found


def is_held(settlement: dict[str, Any]) -> bool:
    return settlement["status"] == "PENDING_SLASH" and not settlement["auto_approved"]


async def test_units_that_were_sent_to_a_stranger_make_it_slashable_by_nobody(court: Court):
    alice, bob = await court.pair.a.registry.agent(), await court.pair.b.registry.agent()
    for amount, slash in (("0.000003", "50"), ("50", "50")):
        assert (await across(alice, bob.did, amount)).status_code == 200
        await settle(court.pair.a, court.pair.b)
        before = await bob.balance()
        for payment in (f"transfer:{await last_transfer(court)}", None):
            assert is_held(await asked(court, alice, bob, payment, slash))
        assert await bob.balance() == before


async def test_a_slash_is_at_most_what_the_complainant_paid_the_defendant(court: Court):
    alice, bob = await court.pair.a.registry.agent(), await court.pair.b.registry.agent()
    payment = f"transfer:{await paid_across(court.pair, alice, bob, '3')}"
    assert is_held(await asked(court, alice, bob, payment, "3.00000001"))
    # What others paid, or paid to others, is no payment of these parties.
    other, stranger = await court.pair.a.registry.agent(), await court.pair.b.registry.agent()
    assert is_held(await asked(court, other, bob, payment, "1"))
    assert is_held(await asked(court, alice, stranger, payment, "1"))
    for named in ("transfer:x", "contract:1:now", "contract:x", "token:1", "transfer:" + "9" * 36):
        assert is_held(await asked(court, alice, bob, named, "1"))
    assert (await asked(court, alice, bob, payment, "3"))["auto_approved"] is True
    assert await bob.balance() == "99.985"


async def test_a_payment_is_slashed_once_whatever_its_name_is(court: Court):
    alice, bob = await court.pair.a.registry.agent(), await court.pair.b.registry.agent()
    token_id = await paid_across(court.pair, alice, bob, "20")
    assert (await asked(court, alice, bob, f"transfer:{token_id}", "5"))["status"] == "SETTLED"
    assert await bob.balance() == "114.9"
    for again in (f"transfer:{token_id.upper()}", "transfer:{" + token_id + "}"):
        assert is_held(await asked(court, alice, bob, again, "5"))
    await asked(court, alice, bob, f"transfer:{token_id}", "5")
    assert await bob.balance() == "114.9"


async def test_a_slash_that_an_administrator_approved_uses_the_payment_as_well(court: Court):
    alice, bob = await court.pair.a.registry.agent(), await court.pair.b.registry.agent()
    token_id = await paid_across(court.pair, alice, bob, "20")
    held = await asked(court, alice, bob, f"transfer:{token_id}", "21")
    assert is_held(held)
    assert (await court.decide(held, "approve")).status_code == 200
    await court.what_is_due_happens()
    assert await bob.balance() == "98.9"
    assert is_held(await asked(court, alice, bob, f"transfer:{token_id.upper()}", "5"))


async def test_the_parts_of_a_contract_that_were_paid_are_its_bound(court: Court):
    agreed = await AgreementAbroad.between(court.pair)
    contract_id = await agreed.submitted_after_payment()
    payment: str = await court.pair.a.registry.database.query(
        lambda tx: tx.fetchval("SELECT created_at FROM commerce_contract WHERE id = $1", contract_id)
    )
    named = f"contract:{contract_id}:{payment.isoformat()}"  # type: ignore[attr-defined]
    assert is_held(await asked(court, agreed.contractor, agreed.provider, named, "10.5"))
    assert (await asked(court, agreed.contractor, agreed.provider, named, "10"))["auto_approved"] is True
    assert is_held(await asked(court, agreed.contractor, agreed.provider, named + "0", "1"))
