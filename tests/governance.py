"""Governance for tests: agents that stake, propose and vote, and the clock of proposals and stakes."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from hansa.foundation.values.canonical import digest
from hansa.rooms import auditor
from hansa.rooms.governance.deadlines import MEET_DEADLINES
from tests.governed_values import time_passed as values_grow_older
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry
from tests.running_jobs import run_due, time_passes

ROLES = ["trader", "client", "staker", "governor"]
HOUR = 3600
DAYS_3 = 72 * HOUR
DIFF = {"bond_minimum": {"from": "100", "to": "50"}}
"""A change of policy."""


def refused(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@dataclass(frozen=True)
class Assembly:
    """The routes of governance, and the clock of what has begun."""

    registry: TestRegistry

    async def agent(self, staked: str | None = None, *, hours_ago: float = 0) -> TestAgent:
        """An agent with the genesis grant of which so much is staked, for so many hours."""
        agent = await self.registry.agent()
        if staked is not None:
            await self.stake(agent, staked, hours_ago=hours_ago)
        return agent

    async def agent_staked_before(self, proposal: Any, staked: str) -> TestAgent:
        """An agent whose stake has weight on this proposal."""
        created = datetime.fromisoformat(proposal["created_at"])
        return await self.agent(staked, hours_ago=(datetime.now(UTC) - created).total_seconds() / HOUR + 1)

    async def stake(self, agent: TestAgent, amount: str, *, hours_ago: float = 0) -> None:
        body = {"amount": amount, "lock_period": 0}
        made = await self.registry.post("/staking/stake", json=body, headers=agent.headers)
        assert made.status_code == 200, made.text
        if hours_ago:
            await self._age(int(made.json()["transaction_id"].removeprefix("tx-")), hours_ago)

    async def _age(self, tx_id: int, hours: float) -> None:
        """Let a transaction be so many hours older."""

        async def older(tx: Any) -> None:
            await tx.execute("SET LOCAL session_replication_role = replica")
            await tx.execute(
                "UPDATE ledger_transaction SET recorded_at = recorded_at - $2::interval WHERE id = $1",
                tx_id,
                timedelta(hours=hours),
            )

        await self.registry.database.transaction(older)

    async def unstake(self, agent: TestAgent, amount: str) -> httpx2.Response:
        return await self.registry.post("/staking/unstake", json={"amount": amount}, headers=agent.headers)

    async def try_propose(self, agent: TestAgent, **more: Any) -> httpx2.Response:
        body = {"title": "Meet on Mondays", "description": "At ten.", "duration_seconds": HOUR, **more}
        return await self.post(agent, "/proposals", body)

    async def propose(self, agent: TestAgent, **more: Any) -> Any:
        made = await self.try_propose(agent, **more)
        assert made.status_code == 201, made.text
        return made.json()

    async def try_vote(
        self, agent: TestAgent, proposal: Any, vote: str = "for", **more: Any
    ) -> httpx2.Response:
        return await self.post(agent, f"/proposals/{proposal['id']}/vote", {"vote": vote, **more})

    async def vote(self, agent: TestAgent, proposal: Any, vote: str = "for", **more: Any) -> Any:
        cast = await self.try_vote(agent, proposal, vote, **more)
        assert cast.status_code == 200, cast.text
        return cast.json()

    async def tally(self, agent: TestAgent, proposal: Any) -> httpx2.Response:
        return await self.post(agent, f"/proposals/{proposal['id']}/tally", None)

    async def cancel(self, agent: TestAgent, proposal: Any) -> httpx2.Response:
        return await self.post(agent, f"/proposals/{proposal['id']}/cancel", None)

    async def post(self, agent: TestAgent, path: str, body: Any, key: str | None = None) -> httpx2.Response:
        headers = {**agent.headers, **({"Idempotency-Key": key} if key else {})}
        return await self.registry.post(f"/governance{path}", json=body, headers=headers)

    async def read(self, proposal: Any) -> Any:
        answer = await self.registry.get(f"/governance/proposals/{proposal['id']}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def votes(self, proposal: Any) -> list[Any]:
        answer = await self.registry.get(f"/governance/proposals/{proposal['id']}/votes")
        assert answer.status_code == 200, answer.text
        return answer.json()["items"]

    async def power(self, agent: TestAgent) -> Any:
        answer = await self.registry.get("/governance/voting-power", headers=agent.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def elapse(self, proposal: Any, hours: float) -> None:
        """Let so many hours pass for this proposal, for stakes, and for the jobs of governance."""
        time = timedelta(hours=hours)

        async def later(tx: Any) -> None:
            await tx.execute(
                "UPDATE governance_proposal SET created_at = created_at - $2::interval,"
                " snapshot_at = snapshot_at - $2::interval, ends_at = ends_at - $2::interval,"
                " ended_at = ended_at - $2::interval, effective_at = effective_at - $2::interval WHERE id = $1",
                proposal["id"],
                time,
            )
            await tx.execute("SET LOCAL session_replication_role = replica")
            await tx.execute(
                "UPDATE ledger_transaction SET recorded_at = recorded_at - $1::interval"
                " WHERE tx_type IN ('stake', 'unstake')",
                time,
            )

        await self.registry.database.transaction(later)
        await time_passes(self.registry.runtime, hours * HOUR)

    async def run_jobs(self) -> None:
        await run_due(self.registry.runtime, MEET_DEADLINES)

    async def events(self, proposal: Any) -> list[tuple[str, dict[str, Any]]]:
        newest = {"sort_order": "asc", "limit": 500}
        found = await self.registry.get("/events/", params=newest, headers=self.registry.internal)
        return [
            (event["event_type"], event["data"])
            for event in found.json()["items"]
            if event["data"].get("proposal_id") == proposal["id"]
        ]

    async def reset_event(self) -> dict[str, Any]:
        """The data of the one reset of a setting, which is a leaf of the log."""
        wanted = {"event_type": "PolicyReset", "limit": 500}
        found = await self.registry.get("/events/", params=wanted, headers=self.registry.internal)
        (data,) = [one["data"] for one in found.json()["items"]]
        leaves = await self.registry.database.query(
            lambda tx: tx.fetch("SELECT sha256 FROM plumbing_log_outbox WHERE kind = 'policy_reset'")
        )
        assert [one["sha256"] for one in leaves] == [digest(data)]
        return data

    async def require_leaf(self, kind: str, object_id: str, data: dict[str, Any]) -> None:
        """The event waits to be a leaf of the log, by the hash of its canonical data."""
        found = await self.registry.database.query(
            lambda tx: tx.fetchval(
                "SELECT sha256 FROM plumbing_log_outbox WHERE kind = $1 AND object_id = $2", kind, object_id
            )
        )
        assert found == digest(data)

    async def audited(self) -> auditor.AuditVerdict:
        return await self.registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)


async def assembly(start_registry: StartRegistry, **settings: Any) -> Assembly:
    """A registry whose agents may stake, propose and vote."""
    return Assembly(await start_registry(agent_rbac_default_roles=ROLES, **settings))


async def proposed(agents: Assembly, agent: TestAgent, **more: Any) -> Any:
    """A change of policy that an agent proposed."""
    body = {"kind": "policy_change", "duration_seconds": DAYS_3, "policy_diff": DIFF, **more}
    return await agents.propose(agent, **body)


async def passed(agents: Assembly, **more: Any) -> Any:
    """A change that an agent proposed and voted for, tallied."""
    alice = await agents.agent("500", hours_ago=30)
    proposal = await proposed(agents, alice, **more)
    await agents.vote(alice, proposal)
    await agents.elapse(proposal, 96)
    tallied = await agents.tally(alice, proposal)
    assert tallied.status_code == 200, tallied.text
    assert tallied.json()["status"] == "PASSED"
    return tallied.json()


async def platform(agents: Assembly) -> TestDeveloper:
    """An administrator who may decide."""
    return await agents.registry.administrator("admin_platform")


async def decide(
    agents: Assembly, by: TestDeveloper, proposal: Any, act: str, reason: str = "Agreed."
) -> httpx2.Response:
    """Apply, decline or veto."""
    return await agents.registry.post(
        f"/admin/governance/proposals/{proposal['id']}/{act}", json={"reason": reason}, headers=by.headers
    )


async def value_of(agents: Assembly, name: str) -> tuple[Any, str]:
    """The value of a setting, and its source."""
    answer = await agents.registry.get("/governance/parameters")
    assert answer.status_code == 200, answer.text
    (found,) = [one for one in answer.json()["items"] if one["name"] == name]
    return found["value"], found["source"]


async def take_effect(agents: Assembly, proposal: Any) -> None:
    """Let the delay of a scheduled change be over."""
    await values_grow_older(agents.registry.database, timedelta(hours=49))
    await agents.elapse(proposal, 49)
    await agents.run_jobs()
