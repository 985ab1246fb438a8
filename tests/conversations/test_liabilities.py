"""Liabilities: each audit cycle commits to a Merkle-sum tree over all accounts, and an agent proves its balance in it."""

import json

import pytest
from msgspec.structs import replace

from hansa.foundation.values.errors import Unavailable
from hansa.rooms import auditor
from hansa.rooms.auditor.liabilities import placement, store
from hansa_verify import read_amount, read_auditor_keys, read_json, verify_attestations, verify_liabilities
from tests.registry import TestRegistry, another_process, at_once
from tests.rooms.ledger.treasury import destroy

AGED = "SET LOCAL session_replication_role = replica; UPDATE auditor_verdict SET checked_at = '2026-01-01'"


async def sql(registry: TestRegistry, statements: str) -> None:
    await registry.database.transaction(lambda tx: tx.execute(statements))


async def cycle(registry: TestRegistry, runtime=None) -> None:
    """A cycle of the auditor, also when there was one a moment ago."""
    await sql(registry, AGED)
    await auditor.run_cycle(runtime or registry.runtime)


async def keys(registry: TestRegistry):
    return read_auditor_keys((await registry.http.get("/.well-known/auditor-jwks.json")).json())


async def committed(registry: TestRegistry):
    """Return the payload of the newest attestation."""
    (record,) = (await registry.http.get("/api/auditor/attestations?limit=1")).json()["attestations"]
    return json.loads(record["payload"], parse_float=str)


async def proof_of(registry: TestRegistry, agent):
    answer = await registry.get("/teg/balance/proof", headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return read_json(answer.text)


async def judged(registry: TestRegistry, agent, balance=None):
    expected = None if balance is None else read_amount(balance)
    return verify_liabilities(await proof_of(registry, agent), await keys(registry), balance=expected)


async def blocks_verdict(registry: TestRegistry):
    answer = await registry.http.get("/api/auditor/liabilities")
    assert answer.status_code == 200, answer.text
    assert answer.headers["access-control-allow-origin"] == "*"
    return verify_liabilities(read_json(answer.text), await keys(registry))


async def rows(registry: TestRegistry):
    found = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT did AS account, slot_a, slot_b, balance FROM auditor_liability JOIN ledger_account ON id = account_id"
        )
    )
    return {row["account"]: row for row in found}


async def test_an_agent_proves_its_whole_balance_under_the_attestation_of_each_cycle(registry):
    payer, payee = await registry.agent(), await registry.agent()
    assert (await registry.get("/teg/balance/proof", headers=payer.headers)).status_code == 404
    assert (await registry.http.get("/api/auditor/liabilities")).status_code == 404
    await cycle(registry)
    before = read_amount((await proof_of(registry, payee))["balance"])
    assert (await payer.transfer(payee, "1.5")).status_code == 200
    await cycle(registry)
    proof = await proof_of(registry, payee)
    assert read_amount(proof["balance"]) == before + read_amount("1.5")
    said = await committed(registry)
    assert said["as_of_event_seq"] == proof["as_of_event_seq"]
    assert said["liabilities"]["total"] == str(said["terms"]["circulating"])
    assert said["liabilities"]["accounts"] == len(await rows(registry))
    for agent in (payer, payee):
        assert (await judged(registry, agent)).code == "verified"
    assert (await judged(registry, payee, proof["balance"])).code == "verified"
    assert (await blocks_verdict(registry)).code == "verified"
    assert proof["attestation"]["proof"] is not None


async def test_what_changed_since_a_cycle_is_brought_into_the_tree_whichever_process_runs_it(registry):
    payer, payee = await registry.agent(), await registry.agent()
    other = another_process(registry.runtime)
    for number, runtime in enumerate((registry.runtime, other, other, registry.runtime)):
        assert (await payer.transfer(payee, "0.1")).status_code == 200
        late = await registry.agent()
        await cycle(registry, runtime)
        for agent in (payer, payee, late):
            balance = (await registry.get("/teg/balance", headers=agent.headers)).json()["balance"]
            assert (await judged(registry, agent, balance)).code == "verified", number
        assert (await blocks_verdict(registry)).code == "verified"
    placed = await rows(registry)
    await at_once(*(cycle(registry, runtime) for runtime in (registry.runtime, other) * 2))
    assert {name: row["slot_a"] for name, row in (await rows(registry)).items()} == {
        name: row["slot_a"] for name, row in placed.items()
    }
    assert (await judged(registry, payer)).code == "verified"


async def test_a_cycle_that_was_rolled_back_leaves_no_trace_in_the_tree(registry):
    payer, payee = await registry.agent(), await registry.agent()
    await cycle(registry)

    async def undone(tx) -> None:
        await auditor.audit(tx, forest)
        raise ZeroDivisionError

    forest = auditor.FOREST.of(registry.runtime)
    assert (await payer.transfer(payee, "2")).status_code == 200
    with pytest.raises(ZeroDivisionError):
        await registry.database.transaction(undone, one_snapshot=True)
    await cycle(registry)
    assert (await judged(registry, payee)).code == "verified"
    assert (await blocks_verdict(registry)).code == "verified"


@pytest.mark.parametrize("act", ["forget_tree", "owed", "add", "add_blocks", "keep_tree"])
async def test_a_placement_whose_connection_is_lost_leaves_the_former_tree_in_use(registry, monkeypatch, act):
    agent = await registry.agent()
    await cycle(registry)
    places = await rows(registry)
    before = await proof_of(registry, agent)
    done = getattr(store, act)

    async def lost(tx, *values):
        await done(tx, *values)
        await tx.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    await sql(registry, "UPDATE auditor_liability_tree SET placed_at = placed_at - interval '25 hours'")
    monkeypatch.setattr(store, act, lost)
    with pytest.raises(Unavailable):
        await cycle(registry)
    monkeypatch.undo()
    assert await rows(registry) == places
    assert (await proof_of(registry, agent))["leaves"] == before["leaves"]
    assert (await judged(registry, agent)).code == "verified"
    await cycle(registry)
    assert (await proof_of(registry, agent))["leaves"] != before["leaves"]
    assert (await judged(registry, agent)).code == "verified"
    assert (await blocks_verdict(registry)).code == "verified"


async def test_leaves_move_every_day_and_their_salts_and_splits_with_them(registry):
    agent = await registry.agent()
    await cycle(registry)
    first, places = await proof_of(registry, agent), await rows(registry)
    await cycle(registry)
    second = await proof_of(registry, agent)
    assert [leaf["index"] for leaf in first["leaves"]] == [leaf["index"] for leaf in second["leaves"]]
    await sql(registry, "UPDATE auditor_liability_tree SET placed_at = placed_at - interval '25 hours'")
    await cycle(registry)
    third, moved = await proof_of(registry, agent), await rows(registry)
    assert {leaf["salt"] for leaf in first["leaves"]}.isdisjoint(leaf["salt"] for leaf in third["leaves"])
    assert {row["slot_a"] for row in places.values()} != {row["slot_a"] for row in moved.values()}
    assert (await judged(registry, agent)).code == "verified"


async def test_an_auditor_that_hides_one_unit_or_one_account_is_caught_by_the_agent_or_by_the_sum(
    registry, monkeypatch
):
    victim, other = await registry.agent(), await registry.agent()
    await cycle(registry)
    balance = (await registry.get("/teg/balance", headers=victim.headers)).json()["balance"]
    honest = placement.put

    def short(leaves, secret, placed):
        less = [
            held - (name == victim.did.encode())
            for name, held in zip(placed.names, placed.balances, strict=True)
        ]
        honest(leaves, secret, replace(placed, balances=less))

    # The tree holds a unit less: the public level no longer adds up to the total, and the path no longer leads to the root.
    monkeypatch.setattr(placement, "put", short)
    await sql(registry, "UPDATE auditor_liability_tree SET placed_at = placed_at - interval '25 hours'")
    await cycle(registry)
    assert (await blocks_verdict(registry)).code == "sum"
    assert not (await judged(registry, victim, balance)).is_valid
    # It also admits to the smaller sum: then it is not what circulates, and the chain of attestations fails.
    liabilities = (await committed(registry))["liabilities"]
    lowered = f"{(read_amount(liabilities['total']) - 1) / 10**8:.8f}"
    assert await chain_code(registry, {"total": lowered}) == "C6"
    monkeypatch.undo()
    await sql(registry, "UPDATE auditor_liability_tree SET placed_at = placed_at - interval '25 hours'")
    await cycle(registry)
    assert (await judged(registry, victim, balance)).code == "verified"
    the_victims = f"account_id = (SELECT id FROM ledger_account WHERE did = '{victim.did}')"
    # One account is left out, and another one gets its units so that the sum is right.
    await sql(registry, f"UPDATE auditor_liability SET balance = 0 WHERE {the_victims}")
    assert not (await judged(registry, victim, balance)).is_valid
    await sql(registry, f"DELETE FROM auditor_liability WHERE {the_victims}")
    answer = await registry.get("/teg/balance/proof", headers=victim.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_COUNTED")
    assert not (await judged(registry, other)).is_valid


async def chain_code(registry: TestRegistry, lie) -> str:
    """Return the verifier's code for a chain whose newest record has these liabilities instead, signed or not."""
    listed = (await registry.http.get("/api/auditor/attestations")).json()["attestations"][::-1]
    payload = listed[-1]["payload"]
    said = json.loads(payload)["liabilities"]
    for name, value in lie.items():
        payload = payload.replace(json.dumps(said[name]), json.dumps(value))
    listed[-1]["payload"] = payload
    steps = verify_attestations(listed, await keys(registry), exact=True).steps
    return next(step.name for step in steps if not step.holds and step.name not in {"C2", "C3"})


async def test_units_that_are_destroyed_leave_the_total_and_an_emptied_account_stays_with_zero(registry):
    await registry.agent()
    await cycle(registry)
    await destroy(registry, 25_000_000_001, "board")
    await cycle(registry)
    said = await committed(registry)
    assert said["liabilities"]["total"] == said["terms"]["circulating"]
    assert (await blocks_verdict(registry)).code == "verified"


async def test_balances_that_no_tree_can_hold_give_no_commitment_and_the_proof_is_refused(registry):
    agent = await registry.agent()
    await cycle(registry)
    tampered = (
        "SET LOCAL session_replication_role = replica;"
        f" UPDATE ledger_account SET liquid = 9223372036854775807 WHERE did = '{agent.did}'"
    )
    await sql(registry, tampered)
    await cycle(registry)
    said = await committed(registry)
    assert (said["live_status"], said["liabilities"]) == ("BREACH", None)
    answer = await registry.get("/teg/balance/proof", headers=agent.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NO_LIABILITIES")
    assert (await registry.http.get("/api/auditor/liabilities")).status_code == 404


async def test_a_tree_of_many_blocks_shows_only_nodes_over_more_than_1024_accounts(registry):
    agent = await registry.agent()
    many = (
        "SET LOCAL session_replication_role = replica; INSERT INTO ledger_account (did, kind, liquid)"
        " SELECT 'did:hansa:hansa.local:many-' || n, 'agent', n FROM generate_series(1, 4000) n"
    )
    await sql(registry, many)
    await cycle(registry)
    shown = (await registry.http.get("/api/auditor/liabilities")).json()["blocks"]
    assert len(shown) == 3
    placed = await registry.database.query(lambda tx: _accounts_of_blocks(tx, len(shown)))
    assert min(placed) > 1024
    late = await registry.agent()
    await cycle(registry)
    for one in (agent, late):
        assert (await judged(registry, one)).code == "verified"
    assert (await blocks_verdict(registry)).code == "verified"
    found = await registry.database.query(lambda tx: _accounts_of_blocks(tx, len(shown)))
    assert sum(found) > sum(placed)


async def _accounts_of_blocks(tx, count):
    return [len(await store.in_block(tx, block)) for block in range(count)]
