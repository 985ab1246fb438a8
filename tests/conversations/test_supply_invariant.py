"""GET /public/supply-invariant: exact whatever is issued or destroyed, and wrong at once when a unit is made or lost."""

from datetime import datetime
from xml.etree import ElementTree as ET

import pytest
from structlog.testing import capture_logs

from hansa.foundation.values.money import UNIT, units
from hansa.rooms import auditor
from hansa.rooms.ledger.history import balance_then
from tests.registry import StartRegistry, TestRegistry, at_once
from tests.rooms.ledger.purses import Purses, start_purses
from tests.rooms.ledger.treasury import destroy, mint

TREASURY = "did:hansa:system:treasury"


@pytest.fixture
async def purses(start_registry: StartRegistry) -> Purses:
    return await start_purses(start_registry)


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
        "checks": {
            "supply": "OK",
            "per_user": None,
            "staked_guard": None,
            "escrow": None,
            "transactions": None,
            "shares": None,
            "solvency": None,
        },
        "last_cycle": None,
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


async def test_the_last_cycle_is_returned_beside_the_supply_of_now(purses: Purses) -> None:
    alice, bob = await purses.agent("100"), await purses.agent()
    database = purses.registry.database
    cycle = await database.transaction(auditor.audit, one_snapshot=True)
    await alice.transfer(bob, "10")
    verdict = await purses.registry.supply()
    assert verdict["checks"] == dict.fromkeys(
        ("supply", "per_user", "staked_guard", "escrow", "transactions", "shares"), "OK"
    ) | {"solvency": "SOLVENT"}
    assert (verdict["last_cycle"]["status"], verdict["last_cycle"]["delta"]) == ("OK", "0")
    assert verdict["last_cycle"]["as_of_event_seq"] == cycle.supply.as_of_seq < verdict["as_of_event_seq"]


async def test_delta_and_status_of_the_supply_come_from_the_same_reading(purses: Purses) -> None:
    registry = purses.registry
    agent = await purses.agent("100")
    statement = "UPDATE ledger_account SET liquid = liquid + $2 WHERE did = $1"

    async def readings() -> set[tuple[str, str]]:
        audit = await registry.get("/projections/supply-audit", headers=registry.internal)
        found = [audit.json(), await registry.supply()]
        badge = (await registry.get("/public/badge/supply?format=json")).json()
        checks = found[1]["checks"]
        assert checks["supply"] == checks["per_user"] == badge["status"]
        return {(one["delta"], one["status"]) for one in (*found, badge)}

    await purses.execute(statement, agent.did, 1)
    await registry.database.transaction(auditor.audit, one_snapshot=True)
    assert await readings() == {("-0.00000001", "BREACH")}
    await purses.execute(statement, agent.did, 1)
    assert await readings() == {("-0.00000002", "BREACH")}
    await purses.execute(statement, agent.did, -2)
    assert await readings() == {("0", "OK")}


async def test_a_breach_is_logged_as_critical_at_each_cycle_and_once_by_readings(purses: Purses) -> None:
    agent = await purses.agent("100")
    await purses.execute("UPDATE ledger_account SET liquid = liquid + 1 WHERE did = $1", agent.did)
    with capture_logs() as logged:
        for _ in range(2):
            await purses.registry.database.transaction(auditor.audit, one_snapshot=True)
            assert (await purses.registry.supply())["status"] == "BREACH"
    breaches = [line for line in logged if line["event"] == "supply invariant breached"]
    assert [line["log_level"] for line in breaches] == ["critical", "critical"]
    assert [line["delta_minor"] for line in breaches] == [-1, -1]


async def test_whoever_saw_its_transfer_acknowledged_reads_a_verdict_that_includes_it(purses: Purses) -> None:
    agents = [await purses.agent("100") for _ in range(4)]
    await purses.registry.database.transaction(auditor.audit, one_snapshot=True)

    async def pay_and_read(number: int) -> None:
        for _ in range(5):
            answer = await agents[number].transfer(agents[number - 1], "1")
            assert answer.status_code == 200
            before = await purses.registry.database.query(
                lambda tx: tx.fetchval("SELECT max(seq) FROM journal_event")
            )
            verdict = await purses.registry.supply()
            assert verdict["as_of_event_seq"] >= before
            assert (verdict["status"], verdict["delta"]) == ("OK", "0")

    await at_once(*(pay_and_read(number) for number in range(4)))
    verdict = await purses.registry.supply()
    assert verdict["tokens_fees_collected"] == "0.1"


async def test_many_readers_at_once_are_all_answered(purses: Purses) -> None:
    verdicts = await at_once(*(purses.registry.supply() for _ in range(200)))
    assert {verdict["status"] for verdict in verdicts} == {"OK"}


async def test_the_badge_is_a_picture_complete_in_itself(registry: TestRegistry) -> None:
    answer = await registry.get("/public/badge/supply", headers={"Accept": "image/avif,image/*,*/*;q=0.8"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert "max-age=" in answer.headers["cache-control"]
    picture = ET.fromstring(answer.text)
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert "in balance" in answer.text
    assert "href" not in answer.text


@pytest.mark.parametrize(
    ("query", "accept"), [("?format=json", "*/*"), ("", "application/json"), ("?format=json", "image/*")]
)
async def test_the_badge_is_json_for_those_who_draw_it_themselves(
    registry: TestRegistry, query: str, accept: str
) -> None:
    answer = await registry.get(f"/public/badge/supply{query}", headers={"Accept": accept})
    assert answer.json() == {
        "schemaVersion": 1,
        "label": "supply",
        "message": "in balance",
        "color": "brightgreen",
        "status": "OK",
        "delta": "0",
    }


async def test_the_badge_of_a_breach_is_red_and_says_how_much(purses: Purses) -> None:
    agent = await purses.agent("100")
    await purses.execute("UPDATE ledger_account SET liquid = liquid - 1 WHERE did = $1", agent.did)
    badge = (await purses.registry.get("/public/badge/supply?format=json")).json()
    assert (badge["color"], badge["status"], badge["delta"]) == ("red", "BREACH", "0.00000001")
    assert "breach 0.00000001" in (await purses.registry.get("/public/badge/supply")).text


@pytest.mark.parametrize("full", ["", "?full=true"])
async def test_the_supply_audit_is_for_services_of_the_operator(purses: Purses, full: str) -> None:
    registry = purses.registry
    alice, bob = await purses.agent("100"), await purses.agent()
    await alice.transfer(bob, "10")
    refused = await registry.get(f"/projections/supply-audit{full}", headers=alice.headers)
    assert refused.status_code == 401
    key = {"X-Internal-Key": registry.runtime.internal_key}
    answer = await registry.get(f"/projections/supply-audit{full}", headers=key)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "tokens_issued": "1000000",
        "tokens_destroyed": "0",
        "tokens_fees_collected": "0.05",
        "net_supply": "1000000",
        "total_circulating": "1000000",
        "delta": "0",
        "status": "OK",
        "agent_count": 2,
        "wrapped": [],
        "locked": [],
    }


async def test_the_full_audit_finds_what_lies_before_the_checkpoint(purses: Purses) -> None:
    await purses.registry.database.transaction(auditor.audit, one_snapshot=True)
    await purses.execute(
        "SET LOCAL session_replication_role = replica; DELETE FROM journal_event WHERE seq = 1"
    )
    key = {"X-Internal-Key": purses.registry.runtime.internal_key}
    answer = await purses.registry.get("/projections/supply-audit?full=true", headers=key)
    assert (answer.json()["status"], answer.json()["tokens_issued"]) == ("BREACH", "0")
    assert (await purses.registry.supply())["status"] == "BREACH"


async def test_every_reading_of_the_supply_states_a_burn(purses: Purses) -> None:
    registry = purses.registry
    alice, bob = await purses.agent("100"), await purses.agent()
    await alice.transfer(bob, "10")
    await destroy(registry, 250 * UNIT + 1, "winter")
    supply = await registry.supply()
    stated = {
        "tokens_issued": "1000000",
        "tokens_destroyed": "250.00000001",
        "tokens_fees_collected": "0.05",
        "net_supply": "999749.99999999",
        "total_circulating": "999749.99999999",
        "delta": "0",
        "status": "OK",
        "agent_count": 2,
    }
    assert {name: supply[name] for name in stated} == stated
    badge = (await registry.get("/public/badge/supply?format=json")).json()
    assert (badge["message"], badge["delta"]) == ("in balance", "0")
    key = {"X-Internal-Key": registry.runtime.internal_key}
    for full in ("", "?full=true"):
        answer = await registry.get(f"/projections/supply-audit{full}", headers=key)
        assert answer.json() == {**stated, "wrapped": [], "locked": []}
    verdict = await registry.database.transaction(auditor.audit, one_snapshot=True)
    assert set(verdict.checks.values()) == {"OK", "SOLVENT"}
    await purses.prove()


async def test_burns_on_either_side_of_a_checkpoint_count_once_each(purses: Purses) -> None:
    registry = purses.registry
    for number in range(3):
        await destroy(registry, units(100), f"burn {number}")
        await registry.database.transaction(auditor.audit, one_snapshot=True)
        await mint(registry, units(10), f"mint {number}")
    supply = await registry.supply()
    assert (supply["status"], supply["tokens_issued"], supply["tokens_destroyed"]) == ("OK", "1000030", "300")
    from_zero = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (from_zero.status, from_zero.supply.terms.destroyed) == ("OK", units(300))


async def test_a_burn_is_two_events_of_which_one_moves_the_balance(purses: Purses) -> None:
    registry = purses.registry
    destroyed = await destroy(registry, units(250), "winter")
    page = await registry.get(f"/events/aggregate/{TREASURY}", headers=registry.internal)
    mover, typed = page.json()["items"][-2:]
    assert mover["event_type"] == "LedgerBalanceChanged"
    assert (mover["data"]["tx_id"], mover["data"]["tx_type"]) == (destroyed.tx_id, "destroy")
    assert mover["data"]["entries"] == [
        {"account": TREASURY, "bucket": "liquid", "delta": "-250", "balance_after": "999750"}
    ]
    assert typed["event_type"] == "TokensDestroyed"
    assert typed["data"] == {
        "tx_id": destroyed.tx_id,
        "from": TREASURY,
        "amount": "250",
        "currency": "AVT",
        "ref": "winter",
    }


async def test_what_the_treasury_held_before_a_burn_stays_readable(purses: Purses) -> None:
    registry = purses.registry
    moments: list[tuple[str, str]] = []
    for number in range(3):
        await destroy(registry, units(100), f"burn {number}")
        row = await registry.database.query(
            lambda tx: tx.fetchrow("SELECT now() AS then, (SELECT max(seq) FROM journal_event) AS seq")
        )
        assert row is not None
        moments.append((row["then"].isoformat(), str(row["seq"])))
    for number, same_moment in enumerate(moments, start=1):
        for as_of in same_moment:
            then = await registry.database.read(
                lambda tx, as_of=as_of: balance_then(tx, TREASURY, as_of, registry.settings.trust_domain)
            )
            assert then.liquid == units(10**6 - 100 * number)


async def test_a_burn_lost_from_the_log_is_a_breach(purses: Purses) -> None:
    destroyed = await destroy(purses.registry, units(250), "winter")
    await purses.execute(
        "SET LOCAL session_replication_role = replica;"
        f" DELETE FROM journal_event WHERE (data ->> 'tx_id')::bigint = {destroyed.tx_id}"
    )
    verdict = await purses.registry.supply()
    assert (verdict["status"], verdict["tokens_destroyed"], verdict["delta"]) == ("BREACH", "0", "250")
