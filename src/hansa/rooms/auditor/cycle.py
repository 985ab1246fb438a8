"""The audit cycle: every check in one snapshot, its verdict kept, a breach recorded in the same commit."""

from datetime import datetime

import msgspec
import structlog
from msgspec.structs import replace

from hansa.foundation.events import SupplyInvariantBreach
from hansa.foundation.plumbing.jobs import SCHEDULE, enqueue
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import audit_checked, audit_status, supply_delta
from hansa.foundation.values.money import format_amount
from hansa.rooms import exchange, governance, journal, ledger, treasury

from . import rules, store
from .alarm import raise_alarm
from .attestations import (
    Attestor,
    attest_failed_reading,
    attest_newest_cycle,
    checkpoint_keys,
    initialize_attestations,
)
from .liabilities import FOREST, CachedForest, Commitment, Origin, commit_liabilities, keep_liabilities
from .supply import Advance, SupplyVerdict, advance, weigh
from .transparency import LEAVES_AT_ONCE, append_and_sign, lock_log
from .witnessing import ASK, initialize_witness

CYCLE = "auditor: audit cycle"
CYCLE_SECONDS = 60
# A cycle that comes this soon after a verdict has nothing to add.
RECENT_SECONDS = 50

_log = structlog.get_logger()


class AuditVerdict(msgspec.Struct, frozen=True):
    """Result of one cycle. `findings` names the differences, minor units, the first of each kind."""

    id: int
    checked_at: datetime
    status: str
    supply: SupplyVerdict
    checks: dict[str, str]
    findings: dict[str, list[str]]


async def initialize_auditor(tx: Tx, frame: str, seal: Seal) -> None:
    """Open the chain of attestations; the first cycle of a registry is due at once."""
    await initialize_witness(tx, seal)
    if not await initialize_attestations(tx, frame, seal):
        await enqueue(tx, CYCLE, SCHEDULE)


async def run_cycle(runtime: Runtime) -> None:
    """Run a cycle unless there was one a moment ago, then append its record to the chain in a separate transaction.

    Where the process dies in between, the next one attests the cycle.
    """
    database, attestor = runtime.database, Attestor.in_process(runtime)
    try:
        forest = FOREST.of(runtime)
        await database.transaction(lambda tx: audit_when_due(tx, forest), one_snapshot=True)
    except Exception:
        await database.transaction(lambda tx: attest_failed_reading(tx, attestor))
        raise
    await database.transaction(lambda tx: attest_newest_cycle(tx, attestor))
    while await database.transaction(lambda tx: _extend_log(tx, attestor)) == LEAVES_AT_ONCE:
        pass


async def _extend_log(tx: Tx, attestor: Attestor) -> int:
    """Append the pending records to the log, sign its checkpoint and let it be cosigned; returns how many leaves were appended."""
    size = await lock_log(tx)
    appended = await append_and_sign(tx, attestor.frame, size, await checkpoint_keys(tx, attestor.seal))
    if appended:
        await enqueue(tx, ASK, SCHEDULE)
    return appended


async def audit_when_due(tx: Tx, kept: CachedForest | None = None) -> None:
    """A cycle, unless there was one a moment ago; `tx` must be one snapshot. `kept` is the forest of this process."""
    latest = await store.latest_verdict(tx, RECENT_SECONDS)
    is_recent = latest is not None and latest.is_recent
    if not is_recent and await store.take_turn(tx):
        await audit(tx, kept)


async def show_last_audit(runtime: Runtime) -> None:
    """Let the metrics of this process show the last verdict, whichever process audited."""
    latest = await runtime.database.query(store.latest_verdict)
    if latest is not None:
        _show(latest.status, latest.delta)
        audit_checked.set(latest.checked_at.timestamp())


async def audit_from_zero(tx: Tx) -> AuditVerdict:
    """A cycle that trusts no checkpoint and makes a new one. It holds off the other cycles meanwhile.

    Raises: asyncpg.LockNotAvailableError when another one is at work for long.
    """
    await store.wait_for_turn(tx)
    return await audit(tx, from_zero=True)


async def audit_on_request(tx: Tx) -> AuditVerdict:
    """A cycle now, after any other that is running; a breach that is known already is not logged again.

    Raises: asyncpg.LockNotAvailableError when another one is at work for long.
    """
    await store.wait_for_turn(tx)
    return await audit(tx, logs_known_breach=False)


async def audit(
    tx: Tx, kept: CachedForest | None = None, *, from_zero: bool = False, logs_known_breach: bool = True
) -> AuditVerdict:
    """One cycle: from the checkpoint on, or from the first event. `tx` must be one snapshot that may write."""
    await store.allow_minutes(tx)
    horizon = await journal.horizon(tx)
    reached = await advance(tx, horizon, from_zero=from_zero)
    supply = await weigh(tx, reached.terms, horizon.as_of_seq)
    checks, findings = await _check(tx, supply, reached, horizon)
    forest = kept or CachedForest()
    commitment = await _commit(tx, forest, supply, reached, horizon, from_zero=from_zero)
    status = rules.status_of(checks)
    error = {
        "delta": supply.delta,
        "log": reached.terms.circulating - supply.circulating,
        "unbalanced": reached.terms.unbalanced_transactions,
        "checks": checks,
        "findings": findings,
    }
    digest = None if status == rules.SOUND else rules.breach_digest(error)
    before = await store.latest_verdict(tx)
    verdict_id, checked_at = await store.add_verdict(
        tx,
        store.NewVerdict(
            as_of_seq=horizon.as_of_seq,
            from_zero=from_zero,
            status=status,
            terms=reached.terms,
            circulating=supply.circulating,
            delta=supply.delta,
            agent_count=supply.agent_count,
            checks=checks,
            findings=findings,
            breach_digest=digest,
            typed=await journal.typed_supply(tx),
            liabilities=commitment,
        ),
    )
    await keep_liabilities(tx, forest, commitment, verdict_id)
    verdict = AuditVerdict(verdict_id, checked_at, status, supply, checks, findings)
    known = before.breach_digest if before else None
    _log_verdict(verdict, digest, known, logs_known_breach=logs_known_breach)
    if digest not in (None, known):
        breach = _breach_of(verdict)
        await journal.append(tx, breach)
        await raise_alarm(tx, breach)
    return verdict


async def _commit(
    tx: Tx,
    kept: CachedForest,
    supply: SupplyVerdict,
    reached: Advance,
    horizon: journal.Horizon,
    *,
    from_zero: bool,
) -> Commitment | None:
    origin = Origin(horizon.as_of_seq, horizon.cluster, reached.checkpoint.folded_from)
    return await commit_liabilities(tx, kept, horizon, origin, supply.circulating, from_zero=from_zero)


async def _check(
    tx: Tx, supply: SupplyVerdict, reached: Advance, horizon: journal.Horizon
) -> tuple[dict[str, str], dict[str, list[str]]]:
    accounts = await store.account_gaps(tx, reached.pending)
    stakes = await ledger.stake_gaps(tx)
    escrows = await ledger.escrow_gaps(tx)
    requests = await treasury.request_gaps(tx, reached.checkpoint.compared.to_tx)
    orders = await treasury.work_order_gaps(tx)
    is_whole = reached.checkpoint.compared.to_tx == 0
    votes = await governance.vote_gaps(tx, is_whole=is_whole, most=store.FINDINGS_MAX)
    subscriptions, orders_of_points, points = await exchange.gaps(
        tx, is_whole=is_whole, most=store.FINDINGS_MAX
    )
    solvency, insolvent = await exchange.solvency(tx, store.FINDINGS_MAX)
    strays = await _compare_transactions(tx, reached, horizon)
    checks = {
        "supply": rules.SOUND if supply.is_ok else rules.BREACH,
        "per_user": rules.BREACH if accounts else rules.SOUND,
        "staked_guard": (
            rules.BREACH if votes else rules.staked_guard([gap.staked - gap.in_positions for gap in stakes])
        ),
        "escrow": rules.BREACH if escrows or orders or subscriptions or orders_of_points else rules.SOUND,
        # A payment of an organization without its request is a transaction that nobody asked for.
        "transactions": rules.BREACH if strays or requests else rules.SOUND,
        "shares": rules.BREACH if points else rules.SOUND,
        "solvency": solvency,
    }
    findings = {
        "accounts": [f"{gap.account} {gap.bucket} {gap.difference}" for gap in accounts],
        "stakes": [f"{gap.did} {gap.staked - gap.in_positions:+d}" for gap in stakes[: store.FINDINGS_MAX]],
        "escrows": [f"{gap.did} {gap.escrow - gap.in_holds:+d}" for gap in escrows[: store.FINDINGS_MAX]],
        "work_orders": [f"{gap.work_order_id} {gap.hold_id}" for gap in orders[: store.FINDINGS_MAX]],
        "transactions": [str(tx_id) for tx_id in strays],
        "votes": votes,
        "requests": requests[: store.FINDINGS_MAX],
        "subscriptions": subscriptions,
        "orders_of_points": orders_of_points,
        "points": points,
        "insolvent": insolvent,
    }
    return checks, findings


async def _compare_transactions(tx: Tx, reached: Advance, horizon: journal.Horizon) -> list[int]:
    stored = reached.checkpoint
    strays = await store.strays(tx, stored.compared, stored.folded_from.relics_to_seq, reached.numbers)
    if not strays:
        compared = rules.compared_on(
            stored.compared,
            newest_tx=await ledger.newest_transaction(tx),
            oldest_open=horizon.oldest_open,
            not_begun=horizon.not_begun,
        )
        await store.keep_checkpoint(tx, replace(stored, compared=compared))
    return strays


def _log_verdict(
    verdict: AuditVerdict, digest: str | None, known: str | None, *, logs_known_breach: bool
) -> None:
    """A breach is logged at every cycle, and the first sound cycle after it."""
    delta = verdict.supply.delta
    _show(verdict.status, delta)
    if digest is None and known is not None:
        _log.warning("supply invariant restored", verdict=verdict.id)
    elif digest is not None and (logs_known_breach or digest != known):
        _log.critical(
            "supply invariant breached",
            verdict=verdict.id,
            delta_minor=delta,
            **verdict.checks,
            findings=verdict.findings,
        )


def _breach_of(verdict: AuditVerdict) -> SupplyInvariantBreach:
    supply = verdict.supply
    return SupplyInvariantBreach(
        verdict_id=verdict.id,
        as_of_event_seq=supply.as_of_seq,
        delta=format_amount(supply.delta),
        net_supply=format_amount(supply.net_supply),
        total_circulating=format_amount(supply.circulating),
        checks=verdict.checks,
        findings=verdict.findings,
    )


def _show(status: str, delta: int) -> None:
    audit_status.set(1 if status == rules.SOUND else 0)
    supply_delta.set(delta)
