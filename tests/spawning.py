"""Children of agents for tests: spawned and ended over HTTP, and lives that are over."""

from datetime import timedelta
from typing import Any

import httpx2

from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.rooms import agents, auditor
from hansa.rooms.spawn.ending import END_CHILDREN
from tests.registry import TestAgent, TestDeveloper, TestRegistry
from tests.running_jobs import run_scheduled_transactions

Caller = TestAgent | TestDeveloper

_AGE = """
UPDATE agents_spawn SET spawned_at = spawned_at - $2 * interval '1 second', expires_at = expires_at - $2 * interval '1 second',
  next_at = next_at - $2 * interval '1 second'
WHERE did = $1
"""
_DUE = "UPDATE agents_spawn SET next_at = clock_timestamp() WHERE ended_at IS NULL AND ending_at IS NOT NULL"


async def spawn(
    parent: TestAgent,
    by: Caller | None = None,
    *,
    key: str | None = None,
    approval: str | None = None,
    **body: Any,
) -> httpx2.Response:
    """Ask for a child, by default as the parent, of 10 units."""
    headers = dict((by or parent).headers)
    if key is not None:
        headers["Idempotency-Key"] = key
    if approval is not None:
        headers["X-Spend-Approval"] = approval
    asked = {"name": "Helper", "funding": "10", **body}
    return await parent.registry.post(f"/agents/{parent.did}/spawn", json=asked, headers=headers)


async def child_of(parent: TestAgent, by: Caller | None = None, **body: Any) -> TestAgent:
    """A new child with a token."""
    answer = await spawn(parent, by, **body)
    assert answer.status_code == 201, answer.text
    return await signed_in(parent.registry, answer.json())


async def signed_in(registry: TestRegistry, created: dict[str, Any]) -> TestAgent:
    """The agent of an answer to its creation, with a token."""
    session = await registry.database.transaction(
        lambda tx: agents.sign_in(tx, created["client_id"], created["client_secret"])
    )
    token = registry.runtime.tokens.issue(
        TokenKind.AGENT, session.did, session=session.session, now=session.at, lifetime=timedelta(hours=1)
    )
    return TestAgent(registry, session.did, token, created)


async def end(child: TestAgent, by: Caller) -> httpx2.Response:
    """Ask for the end of a child."""
    return await child.registry.post(f"/agents/{child.did}/spawn/end", headers=by.headers)


async def ended(child: TestAgent, by: Caller) -> dict[str, Any]:
    """The answer to an end that is carried out."""
    answer = await end(child, by)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def children(parent: TestAgent, by: Caller | None = None, **query: Any) -> list[dict[str, Any]]:
    """The children of an agent, as the agent or another caller reads them."""
    answer = await parent.registry.get(
        f"/agents/{parent.did}/spawn", params=query, headers=(by or parent).headers
    )
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def grow_older(child: TestAgent, seconds: float = 40 * 86_400) -> None:
    """Let so many seconds of the life of a child pass."""
    await child.registry.database.transaction(lambda tx: tx.execute(_AGE, child.did, seconds))


async def end_those_due(registry: TestRegistry) -> None:
    """Let the job go on with each end that is due or was put off."""
    await registry.database.transaction(lambda tx: tx.execute(_DUE))
    while await registry.database.query(agents.HAS_CHILD_DUE):
        await run_scheduled_transactions(registry.runtime, END_CHILDREN)


async def audited(registry: TestRegistry) -> None:
    """The auditor, from the first event on, finds that no unit was made or lost."""
    verdict = await registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.supply.delta) == ("OK", 0)
