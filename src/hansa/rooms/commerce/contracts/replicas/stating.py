"""State contracts to the registries of their providers: enqueued in the commit of a move, repeated until there is an answer.

A statement is the contract as it is when it is sent, so that a repeated or a late statement does no harm.
"""

from typing import Any

import msgspec

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation, transfers
from hansa.rooms.commerce.contracts import reading, store
from hansa.rooms.commerce.contracts.contract import Contract
from hansa.rooms.commerce.contracts.schemas import ContractOut

PATH = "/api/v1/contracts/cross-registry/statement"
STATEMENTS = "commerce: contracts stated to the registry of their provider"
OK, NOT_FOUND = 200, 404
AT_ONCE = 4


class _Statement(msgspec.Struct, frozen=True):
    peer: federation.PeerRecord
    body: dict[str, Any]


async def let_state(tx: Tx, contract: Contract) -> None:
    """Let the provider's registry be sent the contract as it is after this transaction; nothing where that is this one."""
    if contract.is_across:
        await jobs.enqueue(tx, STATEMENTS, str(contract.id), {"contract_id": contract.id})


async def _state(runtime: Runtime, job: jobs.Job) -> None:
    """Raises: PutOff while the provider's registry does not take the statement."""
    statement = await runtime.database.query(lambda tx: _read(tx, job.payload["contract_id"], runtime))
    if statement is None:
        return
    try:
        answer = await federation.mailbox.post(runtime, statement.peer, PATH, statement.body)
    except federation.mailbox.PeerUnavailable as unavailable:
        raise jobs.PutOff(unavailable.reason) from None
    # 404: the registry has no such agent, or keeps no copies.
    if answer.status not in {OK, NOT_FOUND}:
        raise jobs.PutOff(f"status_{answer.status}")


async def _read(tx: Tx, contract_id: int, runtime: Runtime) -> _Statement | None:
    contract = await store.find(tx, contract_id)
    if contract is None or contract.provider_did is None:
        return None
    peer = await transfers.peer_of(tx, contract.provider_did, runtime.settings)
    if peer is None:
        return None
    shown = ContractOut.of(await reading.shown(tx, contract), runtime.settings.ledger_id)
    return _Statement(peer, {"contract": shown.model_dump(mode="json")})


CONTRACT_STATEMENTS = jobs.LeasedKind(
    STATEMENTS,
    _state,
    at_once=AT_ONCE,
    retries=jobs.Retries(None, pause_seconds=2.0, pause_max_seconds=3600.0),
)
