"""GET /public/supply-invariant: exact, and wrong at once when a unit is made or lost."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.registry import DatabaseFarm, StartRegistry
from tests.rooms.ledger.purses import Purses, open_purses


@pytest.fixture
async def purses(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Purses]:
    async with open_purses(database_farm, tmp_path) as purses:
        yield purses


async def test_a_fresh_registry_circulates_what_it_issued(start_registry: StartRegistry) -> None:
    verdict = await (await start_registry(genesis_supply="1234567", settlement_currency="HNS")).supply()
    assert datetime.fromisoformat(verdict.pop("checked_at")).utcoffset() is not None
    assert verdict.pop("as_of_event_seq") > 0
    assert verdict == {
        "status": "OK",
        "delta": "0",
        "tokens_issued": "1234567",
        "tokens_destroyed": "0",
        "tokens_fees_collected": "0",
        "net_supply": "1234567",
        "total_circulating": "1234567",
        "agent_count": 0,
        "currency": "HNS",
        "frame": "hansa.local",
    }


async def test_a_registry_without_units_is_sound(start_registry: StartRegistry) -> None:
    verdict = await (await start_registry(genesis_supply="0")).supply()
    assert (verdict["status"], verdict["delta"], verdict["total_circulating"]) == ("OK", "0", "0")


async def test_after_a_conversation_the_delta_is_exactly_zero(purses: Purses) -> None:
    alice, bob = await purses.agent("100"), await purses.agent("100")
    await alice.transfer(bob, "33.33333333", key="first")
    await alice.transfer(bob, "33.33333333", key="first")
    await bob.transfer(alice, "0.00000001")
    await alice.transfer(bob, "1000")
    await alice.transfer(alice, "1")
    await bob.transfer("did:hansa:system:treasury", "1")
    verdict = await purses.registry.supply()
    assert (verdict["status"], verdict["delta"]) == ("OK", "0")
    assert verdict["total_circulating"] == verdict["net_supply"] == "1000000"
    assert (verdict["tokens_fees_collected"], verdict["agent_count"]) == ("0.16666667", 2)
    await purses.prove()


async def test_the_reading_moves_on_with_the_log(purses: Purses) -> None:
    before = (await purses.registry.supply())["as_of_event_seq"]
    await purses.agent("1")
    assert (await purses.registry.supply())["as_of_event_seq"] > before


@pytest.mark.parametrize(
    ("planted", "delta"), [(1, "-0.00000001"), (-1, "0.00000001"), (10**18, "-10000000000")]
)
async def test_a_balance_changed_behind_the_books_back_is_a_breach(
    purses: Purses, planted: int, delta: str
) -> None:
    agent = await purses.agent("100")
    statement = "UPDATE ledger_account SET liquid = liquid + $2 WHERE did = $1"
    await purses.execute(statement, agent.did, planted)
    verdict = await purses.registry.supply()
    assert (verdict["status"], verdict["delta"]) == ("BREACH", delta)
    await purses.execute(statement, agent.did, -planted)
    assert (await purses.registry.supply())["status"] == "OK"


async def test_an_account_planted_with_a_unit_is_a_breach(purses: Purses) -> None:
    await purses.execute(
        "INSERT INTO ledger_account (did, kind, liquid) VALUES ('did:hansa:hansa.local:planted', 'agent', 1)"
    )
    assert (await purses.registry.supply())["status"] == "BREACH"


async def test_an_event_lost_from_the_log_is_a_breach(purses: Purses) -> None:
    await purses.execute(
        "SET LOCAL session_replication_role = replica; DELETE FROM journal_event WHERE seq = 1"
    )
    verdict = await purses.registry.supply()
    assert (verdict["status"], verdict["tokens_issued"]) == ("BREACH", "0")
