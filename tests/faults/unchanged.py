"""An act whose statements fail one after the other: nothing has changed after each, and a repetition does it once.

The acts of a subject are a table (`FailingActs`); `test_acts_of_one_registry_fail_once.py` and
`test_acts_between_registries_fail_once.py` run the rows of all tables.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import asyncpg
import httpx2
import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from tests.faults.completed import CompletedActs
from tests.faults.failing import Fault, Plan, put_under_plan
from tests.properties.proof import prove_book
from tests.registry import DatabaseFarm, TestRegistry

POOL_SIZE = 2
HANG_SECONDS = 30
# A batch of the ledger is a statement that commits by itself.
COMMITTING = ("COMMIT", "ledger_apply_extended(")

_WRITTEN = """
SELECT (SELECT md5(string_agg(d::text, ',' ORDER BY id)) FROM commerce_dispute d) AS disputes,
  (SELECT count(*) FROM commerce_dispute_evidence) AS evidence,
  (SELECT md5(string_agg(c::text, ',' ORDER BY id)) FROM commerce_contract c) AS contracts,
  (SELECT md5(string_agg(m::text, ',' ORDER BY contract_id, index)) FROM commerce_contract_milestone m) AS milestones,
  (SELECT count(*) FROM commerce_contract_history) AS history,
  (SELECT md5(string_agg(k::text, ',' ORDER BY k::text)) FROM commerce_contract_copy k) AS copies,
  (SELECT md5(string_agg(concat(status, tx_id), ',' ORDER BY id)) FROM commerce_payment_token) AS tokens,
  (SELECT md5(string_agg(concat_ws(' ', liquid, escrow, transit), ',' ORDER BY id)) FROM ledger_account) AS balances,
  (SELECT md5(string_agg(c::text, ',' ORDER BY c::text)) FROM ledger_crossing c) AS crossings,
  (SELECT md5(string_agg(r::text, ',' ORDER BY r::text)) FROM transfers_received r) AS received,
  (SELECT md5(string_agg(s::text, ',' ORDER BY s::text)) FROM transfers_sent s) AS sent,
  (SELECT md5(string_agg(e::text, ',' ORDER BY e::text)) FROM transfers_entry e) AS entries,
  (SELECT md5(string_agg(p::text, ',' ORDER BY peer)) FROM transfers_pair p) AS pairs,
  (SELECT md5(string_agg(p::text, ',' ORDER BY peer)) FROM transfers_pool p) AS pools,
  (SELECT md5(string_agg(m::text, ',' ORDER BY peer, minute)) FROM transfers_pool_minute m) AS minutes,
  (SELECT count(*) FROM transfers_pool_act) AS acts,
  (SELECT md5(string_agg(concat(saga_id, state, history), ',' ORDER BY saga_id)) FROM transfers_bridge_saga) AS sagas,
  (SELECT md5(string_agg(d::text, ',' ORDER BY saga_id)) FROM transfers_bridge_decision d) AS decisions,
  (SELECT md5(string_agg(w::text, ',' ORDER BY w::text)) FROM transfers_wrapped w) AS wrapped,
  (SELECT md5(string_agg(b::text, ',' ORDER BY b::text)) FROM transfers_wrapped_balance b) AS wrapped_balances,
  (SELECT count(*) FROM transfers_wrapped_posting) AS wrapped_postings,
  (SELECT md5(string_agg(l::text, ',' ORDER BY l::text)) FROM transfers_locked l) AS locked,
  (SELECT md5(string_agg(s::text, ',' ORDER BY settlement_id)) FROM commerce_settlement s) AS settlements,
  (SELECT md5(string_agg(k::text, ',' ORDER BY transit_id)) FROM ledger_corridor k) AS corridors,
  (SELECT md5(string_agg(concat(remaining, freezes), ',' ORDER BY id)) FROM ledger_hold) AS holds,
  (SELECT md5(string_agg(b::text, ',' ORDER BY id)) FROM reputation_bond b) AS bonds,
  (SELECT md5(string_agg(concat(bonded, bond_state, bond_amount), ',' ORDER BY did)) FROM catalogue_card) AS cards,
  (SELECT md5(string_agg(concat(digest, holder, state), ',' ORDER BY digest)) FROM federation_did_claim) AS claims,
  (SELECT md5(string_agg(h::text, ',' ORDER BY holder)) FROM federation_did_holder h) AS did_holders,
  (SELECT md5(string_agg(l::text, ',')) FROM federation_held_operator_licence l) AS operator_licence,
  (SELECT md5(string_agg(n.hash, ',')) FROM federation_network_certificate n) AS network_certificate,
  (SELECT md5(string_agg(concat(id, status, quarantined_at, quarantine_reason), ',' ORDER BY id)) FROM federation_peer) AS peers,
  (SELECT md5(string_agg(l::text, ',' ORDER BY ref)) FROM exchange_listing l) AS listings,
  (SELECT md5(string_agg(s::text, ',' ORDER BY id)) FROM exchange_subscription s) AS subscriptions,
  (SELECT md5(string_agg(h::text, ',' ORDER BY ref, agent_did)) FROM exchange_holding h) AS holdings,
  (SELECT count(*) FROM exchange_point_posting) AS point_postings,
  (SELECT md5(string_agg(o::text, ',' ORDER BY id)) FROM exchange_order o) AS orders,
  (SELECT count(*) FROM exchange_trade) AS trades,
  (SELECT md5(string_agg(r::text, ',' ORDER BY ref)) FROM exchange_revenue r) AS revenue,
  (SELECT md5(string_agg(c::text, ',' ORDER BY c::text)) FROM exchange_credit c) AS credits,
  (SELECT count(*) FROM exchange_levy) AS levies,
  (SELECT md5(string_agg(s::text, ',' ORDER BY agent_id, day)) FROM agents_spending s) AS spending,
  (SELECT md5(string_agg(a::text, ',' ORDER BY id)) FROM agents_spend_approval a) AS approvals,
  (SELECT count(*) FROM journal_event WHERE event_type LIKE 'Dispute%' OR event_type LIKE 'Bond%'
    OR event_type LIKE 'Contract%' OR event_type LIKE 'CrossRegistry%' OR event_type LIKE 'Units%'
    OR event_type LIKE '%Registry%' OR event_type LIKE 'Order%' OR event_type LIKE 'Listing%' OR event_type LIKE 'Revenue%'
    OR event_type IN ('TradeExecuted', 'PointsMoved', 'LaunchClosed')) AS events
"""

World = TypeVar("World")
Asking = Callable[[], Awaitable[int]]
"""Does an act, or tries to; returns the status."""
FailingAct: TypeAlias = tuple[Callable[[World], Awaitable[Asking]], set[int]]
"""What prepares an act, and what its repetition is answered after it was done and its answer was lost."""
FEW_CONNECTIONS: Mapping[str, Any] = {"database_pool_size": POOL_SIZE, "rate_limit_writes": "off"}


@dataclass(frozen=True)
class FaultStage(Generic[World]):
    """Agents of a registry whose statements fail as planned, and a connection that reads the writes."""

    world: World
    plan: Plan
    observer: "asyncpg.Connection[asyncpg.Record]"

    async def fail_each(self, act: "FailingAct[World]") -> None:
        """Fail every statement of the act once; the books stay sound."""
        prepare, repeated = act
        await fail_each_statement(lambda: prepare(self.world), self.plan, self.observer, repeated)
        await prove_book(self.observer)


@dataclass(frozen=True)
class FailingActs(Generic[World]):
    """Acts of one subject by name, the opening of the stage that they share, and the proof of its books after each act."""

    subject: str
    acts: "Mapping[str, FailingAct[World]]"
    open_stage: Callable[[DatabaseFarm, Path], AbstractAsyncContextManager[FaultStage[World]]]
    prove: Callable[[FaultStage[World], str], Awaitable[None]]

    async def fail(self, name: str, stage: FaultStage[World]) -> None:
        """Fail every statement of this act once, then prove the books."""
        await stage.fail_each(self.acts[name])
        await self.prove(stage, name)


def rows_of(*tables: FailingActs[Any] | CompletedActs) -> list[Any]:
    """Return the parameters `failing` and `name` of a test, one row for each act."""
    return [
        pytest.param(table, name, id=f"{table.subject}: {name}") for table in tables for name in table.acts
    ]


@asynccontextmanager
async def fault_stage(registry: TestRegistry, world: World) -> AsyncIterator[FaultStage[World]]:
    """The registry under a plan. It needs few connections, so that a spoilt one is met again at once."""
    observer = await asyncpg.connect(registry.runtime.database.dsn)
    plan = Plan(observer)
    await put_under_plan(registry.database, plan)
    yield FaultStage(world, plan, observer)
    await observer.close()


def status_of(ask: Callable[[], Awaitable[httpx2.Response]]) -> Asking:
    """Return the status of the answer of a route."""

    async def asked() -> int:
        return (await ask()).status_code

    return asked


def status_of_work(registry: TestRegistry, work: Callable[[Tx], Awaitable[object]]) -> Asking:
    """Return the status of work without a route, in a transaction, as a route would answer it."""

    async def asked() -> int:
        try:
            await registry.database.transaction(work)
        except Refused as refusal:
            return refusal.status
        return 200

    return asked


async def fail_each_statement(
    prepare: Callable[[], Awaitable[Asking]],
    plan: Plan,
    observer: "asyncpg.Connection[asyncpg.Record]",
    repeated: set[int],
) -> None:
    """Fail every statement of an act once; then lose the answer of its commit, after which repetition is answered `repeated`."""
    plan.watch()
    statements = await _undisturbed(await prepare(), plan)
    asked = await prepare()
    before = await observer.fetchrow(_WRITTEN)
    for number, statement in enumerate(statements):
        plan.fail(number, Fault.REFUSED)
        status = await _within_reason(asked)
        assert plan.has_failed, (number, statement)
        assert status >= 500, (status, statement)
        assert await observer.fetchrow(_WRITTEN) == before, (number, statement)
    commit = max(
        number
        for number, statement in enumerate(statements)
        if any(words in statement for words in COMMITTING)
    )
    plan.fail(commit, Fault.ANSWER_LOST)
    assert await _within_reason(asked) >= 500
    plan.watch()
    done = await observer.fetchrow(_WRITTEN)
    assert done != before
    statuses = [await _within_reason(asked) for _ in range(POOL_SIZE + 1)]
    assert statuses[-1] in repeated, statuses
    if 201 not in repeated:
        assert await observer.fetchrow(_WRITTEN) == done


async def _undisturbed(asked: Asking, plan: Plan) -> list[str]:
    plan.watch()
    assert await asked() in {200, 201}
    return list(plan.listed)


async def _within_reason(asked: Asking) -> int:
    async with asyncio.timeout(HANG_SECONDS):
        return await asked()
