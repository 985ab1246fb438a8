"""A party is suspended, reinstated or revoked. Contracts follow by a reactor, and end in jobs that it enqueues.

A hard suspension stops the deadlines of the agent's contracts and the expiry of their holds; both run on with the time that
remained. The moments are those of the events, so that the delay of the reactor moves no date.

Effects of a dispute on its contract: deadlines and hold are frozen until it is dismissed, or a ruling closes the contract.

The caller holds the contract locked, and writes the dispute in the same transaction.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from hansa.foundation.events import AgentReinstated, AgentRevoked, AgentSuspended
from hansa.foundation.plumbing.jobs import Job, LeasedKind, enqueue
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, journal, ledger

from . import paying, rules, store
from .contract import OPEN, Contract, Ending, Payment, Status
from .ending import fail, withdraw
from .payment_reference import message_of
from .transitions import Act, keep, move, take

REVOCATIONS = "commerce: contracts of revoked agents"
_WITH_DEADLINES = (*OPEN, Status.FAILED, Status.DISPUTED)


async def stop(tx: Tx, contract_id: int, did: str, since: datetime) -> None:
    """Stop the deadlines of a contract, and the expiry of its hold, while this party is suspended."""
    contract = await take(tx, contract_id)
    after = rules.stopped(contract, _reason(did), since)
    if after != contract:
        await on_hold(tx, contract, ledger.freeze_hold, _reason(did))
        await keep(tx, contract, after)


async def resume(tx: Tx, contract_id: int, did: str, at: datetime) -> None:
    """Let the deadlines of a contract run on, as far as this party is concerned."""
    contract = await take(tx, contract_id)
    after = rules.resumed(contract, _reason(did), at)
    if after != contract:
        await on_hold(tx, contract, ledger.thaw_hold, _reason(did))
        await keep(tx, contract, after)


async def end_of_revoked(tx: Tx, contract_id: int, did: str, settings: Settings) -> None:
    """End a contract of which a party was revoked; one that has ended, is disputed or being paid only runs on."""
    contract = await take(tx, contract_id)
    await resume(tx, contract_id, did, contract.now)
    contract = await take(tx, contract_id)
    act = Act("party_revoked", None)
    if contract.status == Status.PROPOSED:
        await withdraw(tx, contract, Status.CANCELLED, Ending.PARTY_REVOKED, act)
    elif contract.status in OPEN and contract.crossing is None:
        await fail(tx, contract, Ending.PARTY_REVOKED, act, settings)


async def on_hold(
    tx: Tx, contract: Contract, act: Callable[[Tx, int, str], Awaitable[None]], reason: str
) -> None:
    """Freeze or thaw the hold of a contract for this reason; one that has ended is left alone."""
    if contract.hold_id is None:
        return
    try:
        await act(tx, contract.hold_id, reason)
    except (ledger.HoldEnded, ledger.HoldExpired):
        return


async def _follow(tx: Tx, event: journal.StoredEvent) -> None:
    did = event.data["did"]
    if event.event_type == AgentRevoked.__name__:
        await enqueue(tx, REVOCATIONS, did, {"did": did})
    elif not event.data["soft"]:
        act = stop if event.event_type == AgentSuspended.__name__ else resume
        for contract_id in await store.of_party(tx, did, _WITH_DEADLINES):
            await act(tx, contract_id, did, event.timestamp)


async def _end_contracts(runtime: Runtime, job: Job) -> None:
    did = job.payload["did"]

    async def end(tx: Tx, contract_id: int) -> None:
        await end_of_revoked(tx, contract_id, did, runtime.settings)

    for contract_id in await runtime.database.read(lambda tx: store.of_party(tx, did, _WITH_DEADLINES)):
        await runtime.database.transaction(lambda tx, contract_id=contract_id: end(tx, contract_id))  # type: ignore[misc]


def _reason(did: str) -> str:
    return f"suspended {did}"


CONTRACTS_FOLLOW = journal.Reactor(
    "commerce: contracts follow their parties", (AgentSuspended, AgentReinstated, AgentRevoked), _follow
)
CONTRACTS_OF_REVOKED = LeasedKind(REVOCATIONS, _end_contracts)


async def dispute(tx: Tx, contract: Contract, dispute_id: int, complainant: str) -> Contract:
    """Stop the deadlines of a contract and freeze its hold."""
    reason = rules.reason_of_dispute(dispute_id)
    await on_hold(tx, contract, ledger.freeze_hold, reason)
    disputed = await move(tx, contract, rules.disputed(contract, dispute_id), Act("disputed", complainant))
    return disputed.contract


async def restore(tx: Tx, contract: Contract, status: Status, settings: Settings) -> Contract:
    """Return a contract to the state before its dispute, or end it where a party was revoked meanwhile."""
    assert contract.dispute_id is not None
    await on_hold(tx, contract, ledger.thaw_hold, rules.reason_of_dispute(contract.dispute_id))
    after = rules.restored(contract, status)
    restored = await move(tx, contract, after, Act("dispute_dismissed", None))
    statuses = await agents.statuses_of(tx, contract.parties)
    for did in contract.parties:
        if statuses.get(did) == "revoked":
            await end_of_revoked(tx, contract.id, did, settings)
    return restored.contract


async def held_for(tx: Tx, contract: Contract) -> int | None:
    """The hold of a contract, if it still holds units."""
    holds = await ledger.read_holds(tx, paying.OWNER_KIND, str(contract.id))
    return next((hold.id for hold in holds if hold.remaining > 0), None)


def award(contract: Contract, hold_id: int, winner: str) -> ledger.Order:
    """Order that gives the remaining units of a contract's hold to one of its parties."""
    if winner == contract.contractor_did:
        return ledger.orders.release(hold_id)
    return ledger.orders.award(hold_id, contract.unpaid, message=message_of(contract))


async def close(tx: Tx, contract: Contract, paid: ledger.Result | None) -> Contract:
    """Close a contract by a ruling; `paid` is the payment to the provider."""
    payment = None
    if paid is not None:
        assert paid.tx_id is not None
        payment = Payment(paid.tx_id, paid.moved, paid.fee)
    closed = await move(tx, contract, rules.closed(contract, payment), Act("closed", None))
    return closed.contract
