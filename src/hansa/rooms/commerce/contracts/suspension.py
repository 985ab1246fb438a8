"""A party is suspended, reinstated or revoked. Contracts follow by a reactor, and end in jobs that it enqueues.

A hard suspension stops the deadlines of the agent's contracts and the expiry of their holds; both run on with the time that
remained. The moments are those of the events, so that the delay of the reactor moves no date.
"""

from datetime import datetime

from hansa.foundation.events import AgentReinstated, AgentRevoked, AgentSuspended
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.jobs import Job, LeasedKind, enqueue
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms import journal, ledger

from . import rules, store
from .ending import end_of_revoked
from .moves import keep
from .rules import OPEN, Contract, Status

REVOCATIONS = "commerce: contracts of revoked agents"

_WITH_DEADLINES = (*OPEN, Status.FAILED, Status.DISPUTED)


async def stop(tx: Tx, contract_id: int, did: str, since: datetime) -> None:
    """Stop the deadlines of one contract, and its hold's expiry, while this party is suspended."""
    contract = await store.lock(tx, contract_id)
    assert contract is not None
    after = rules.stopped(contract, _reason(did), since)
    if after == contract:
        return
    if _is_held(contract):
        assert contract.hold_id is not None
        await _unless_ended(ledger.freeze_hold, tx, contract.hold_id, _reason(did))
    await keep(tx, contract, after)


async def resume(tx: Tx, contract_id: int, did: str, at: datetime) -> None:
    """Let the deadlines of one contract run on."""
    contract = await store.lock(tx, contract_id)
    assert contract is not None
    after = rules.resumed(contract, _reason(did), at)
    if after == contract:
        return
    if _is_held(contract):
        assert contract.hold_id is not None
        await _unless_ended(ledger.thaw_hold, tx, contract.hold_id, _reason(did))
    await keep(tx, contract, after)


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
    for contract_id in await runtime.database.read(lambda tx: store.of_party(tx, did, OPEN)):
        await runtime.database.act(
            lambda tx, contract_id=contract_id: end_of_revoked(tx, contract_id, runtime.settings)  # type: ignore[misc]
        )


def _reason(did: str) -> str:
    return f"suspended {did}"


def _is_held(contract: Contract) -> bool:
    return contract.hold_id is not None


CONTRACTS_FOLLOW = journal.Reactor(
    "commerce: contracts follow their parties", (AgentSuspended, AgentReinstated, AgentRevoked), _follow
)
CONTRACTS_OF_REVOKED = LeasedKind(REVOCATIONS, _end_contracts)
