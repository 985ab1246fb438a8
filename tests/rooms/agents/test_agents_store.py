"""Guarantees of the tables of the agents room themselves, and the order of two transactions at once."""

import asyncio

import asyncpg
import pytest

from hansa.foundation.values.secrets import fingerprint
from hansa.rooms.agents import grants_store, store
from hansa.rooms.agents.keys import store as keys_store


async def token_of(registry, developer_id=1, token="bst_test"):
    await registry.database.transaction(
        lambda tx: store.insert_bootstrap_token(
            tx,
            token_sha256=fingerprint(token),
            developer_id=developer_id,
            agent_type_hint=None,
            requested_by=None,
            organization_id=None,
            lifetime_seconds=300,
        )
    )
    return fingerprint(token)


async def test_a_token_is_burned_once(registry):
    token = await token_of(registry)
    assert await registry.database.transaction(lambda tx: store.burn_bootstrap_token(tx, token))
    assert not await registry.database.transaction(lambda tx: store.burn_bootstrap_token(tx, token))


async def until_another_waits_for(tx):
    """Wait until another transaction waits for the locks of this one."""
    while not await tx.fetchval(
        "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
    ):
        pass


async def test_the_second_of_two_burns_waits_and_succeeds_when_the_first_gives_up(registry):
    token = await token_of(registry)
    burned = asyncio.Event()

    async def burn_and_give_up(tx):
        assert await store.burn_bootstrap_token(tx, token)
        burned.set()
        await until_another_waits_for(tx)
        raise RuntimeError

    first = asyncio.create_task(registry.database.transaction(burn_and_give_up))
    await burned.wait()
    assert await registry.database.transaction(lambda tx: store.burn_bootstrap_token(tx, token))
    with pytest.raises(RuntimeError):
        await first


async def test_a_claim_falls_to_the_second_when_the_first_gives_up(registry):
    agent = await registry.agent()
    agent_id = await registry.database.read(
        lambda tx: tx.fetchval("SELECT id FROM agents_agent WHERE did = $1", agent.did)
    )
    claimed = asyncio.Event()

    async def claim_and_give_up(tx):
        assert await grants_store.claim_grant(tx, 777, agent_id)
        claimed.set()
        await until_another_waits_for(tx)
        raise RuntimeError

    first = asyncio.create_task(registry.database.transaction(claim_and_give_up))
    await claimed.wait()
    assert await registry.database.transaction(lambda tx: grants_store.claim_grant(tx, 777, agent_id))
    assert not await registry.database.transaction(lambda tx: grants_store.claim_grant(tx, 777, agent_id))
    with pytest.raises(RuntimeError):
        await first


async def test_unused_tokens_are_forgotten_a_day_after_their_end_and_used_ones_are_kept(registry):
    used, unused = await token_of(registry, token="bst_used"), await token_of(registry, token="bst_unused")
    await registry.database.transaction(lambda tx: store.burn_bootstrap_token(tx, used))
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE agents_bootstrap_token SET issued_at = now() - interval '3 days',"
            " expires_at = now() - interval '2 days'"
        )
    )
    await token_of(registry, token="bst_new")
    found = await registry.database.read(lambda tx: store.find_bootstrap_token(tx, used))
    assert found is not None
    assert found.is_used
    assert await registry.database.read(lambda tx: store.find_bootstrap_token(tx, unused)) is None


async def test_an_agent_has_one_present_key_and_keeps_the_earlier_ones(registry):
    agent = await registry.agent()
    add = """
    INSERT INTO agents_key (agent_id, number, public_key)
    SELECT id, 2, $2 FROM agents_agent WHERE did = $1
    """
    with pytest.raises(asyncpg.UniqueViolationError):
        await registry.database.transaction(lambda tx: tx.execute(add, agent.did, bytes(32)))
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE agents_key SET valid_until = clock_timestamp()")
    )
    await registry.database.transaction(lambda tx: tx.execute(add, agent.did, bytes(32)))
    assert await registry.database.read(lambda tx: keys_store.present_key(tx, agent.did)) == bytes(32)


async def test_the_bearer_is_found_by_its_key_without_a_scan(registry):
    async def plan_among_many(tx):
        await tx.execute(MANY_AGENTS)
        await tx.execute("ANALYZE agents_agent")
        return await tx.fetch("EXPLAIN " + store._FIND_BEARERS.replace("$1", "ARRAY['did:hansa:x:7']"))

    lines = "\n".join(row[0] for row in await registry.database.transaction(plan_among_many))
    assert "agents_agent_did_key" in lines
    assert "Seq Scan" not in lines


MANY_AGENTS = """
WITH agent AS (
  INSERT INTO agents_agent (did, developer_id, client_id, client_secret_sha256, name, roles)
  SELECT 'did:hansa:x:' || n, n, 'agent-' || lpad(n::text, 16, '0'), sha256(n::text::bytea), 'Many', '{}'
  FROM generate_series(1, 5000) n RETURNING id, client_secret_sha256
)
INSERT INTO agents_key (agent_id, number, public_key) SELECT id, 1, client_secret_sha256 FROM agent
"""
