"""Acts of agents of this registry on contracts that peers keep; the answer of the peer becomes the copy here.

- An acceptance is noted before it is relayed, under the lock of the agent: from then on the contract binds it. When the answer is
  lost, a job reads the contract until it is known whether the acceptance came about.
- A contract that its registry does not know any more leaves no copy.
"""

from datetime import datetime, timedelta

import msgspec
from pydantic import ValidationError

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Forbidden, Refused
from hansa.rooms import agents, federation
from hansa.rooms.commerce.contracts.contract import Status
from hansa.rooms.commerce.contracts.errors import ContractUnknown, ProviderUnknown
from hansa.rooms.commerce.contracts.replicas import keeping, store
from hansa.rooms.commerce.contracts.replicas.schemas import StatedContract
from hansa.rooms.commerce.contracts.replicas.store import CopyKey
from hansa.rooms.commerce.contracts.schemas import ContractOut, SubmissionIn
from hansa.rooms.commerce.relaying import ContractorRegistrySilent, RelayedAct, relay

ACCEPTANCES = "commerce: acceptances of contracts at other registries"
UNANSWERED = timedelta(seconds=30)
"""An acceptance whose call has ended without an answer is carried out by then, if it is at all."""


class _Accepting(msgspec.Struct, frozen=True):
    """An acceptance that is being relayed, and since when."""

    peer: federation.PeerRecord
    key: CopyKey
    since: datetime


async def accept_abroad(
    runtime: Runtime, peer: federation.PeerRecord, did: str, contract_id: int, key: str | None
) -> StatedContract:
    """Accept a proposal that a peer keeps. Raises: Forbidden, and the errors of `relay`."""
    begun = await runtime.database.transaction(lambda tx: _begin(tx, peer, did, contract_id))
    try:
        accepted = await relay(runtime, peer, did, RelayedAct(contract_id, "accept"), StatedContract, key=key)
    except ContractorRegistrySilent:
        raise
    except Refused:
        # Also the answer to an acceptance that came about before: the contract itself says it.
        await _settle(runtime, begun)
        raise
    await _keep_own(runtime, peer, _of(accepted, did, contract_id), is_relayed=True)
    return accepted


async def submit_abroad(
    runtime: Runtime,
    peer: federation.PeerRecord,
    did: str,
    contract_id: int,
    submission: SubmissionIn,
    *,
    key: str | None,
) -> StatedContract:
    """Submit work to a contract that a peer keeps. Raises: the errors of `relay`."""
    act = RelayedAct(contract_id, "submit", submission.model_dump(mode="json"))
    submitted = await relay(runtime, peer, did, act, StatedContract, key=key)
    await _keep_own(runtime, peer, _of(submitted, did, contract_id), is_relayed=True)
    return submitted


async def read_abroad(
    runtime: Runtime, peer: federation.PeerRecord, did: str, contract_id: int
) -> ContractOut:
    """Read a contract from the peer that keeps it. Raises: the errors of `relay`."""
    try:
        found = await relay(runtime, peer, did, RelayedAct(contract_id, "read"), ContractOut)
    except ContractUnknown:
        key = _key(peer, did, contract_id)
        await runtime.database.transaction(lambda tx: store.forget(tx, key))
        raise
    declared = _as_stated(found, did)
    if declared is not None:
        await _keep_own(runtime, peer, declared, is_relayed=False)
    return found


async def _begin(tx: Tx, peer: federation.PeerRecord, did: str, contract_id: int) -> _Accepting:
    # Locked, so that the agent does not end while the contract binds it.
    status = await agents.lock_status(tx, did)
    if status != "active":
        raise Forbidden("The agent is not active.")
    assert peer.ledger_id is not None
    key = _key(peer, did, contract_id)
    since = await store.note_accepting(tx, key, peer.ledger_id)
    payload = {"peer": key.peer, "contract_id": contract_id, "did": did}
    await jobs.enqueue(tx, ACCEPTANCES, f"{key.peer} {contract_id} {did}", payload, since + UNANSWERED)
    return _Accepting(peer, key, since)


async def _keep_own(
    runtime: Runtime, peer: federation.PeerRecord, stated: StatedContract, *, is_relayed: bool
) -> None:
    """Keep a contract of an own agent as its registry answered."""
    try:
        await keeping.keep_stated(runtime, peer, stated, is_relayed=is_relayed)
    except (keeping.ContractOfAnother, ProviderUnknown, federation.FrameUnavailable):
        raise ContractorRegistrySilent(retry_after=5) from None


async def _settle(runtime: Runtime, begun: _Accepting) -> bool:
    """Read whether an acceptance came about; false: there is no answer, and its job reads again."""
    did = begun.key.provider_did
    try:
        found = await relay(runtime, begun.peer, did, RelayedAct(begun.key.contract_id, "read"), ContractOut)
    except ContractUnknown:
        found = None
    except Refused:
        return False
    declared = None if found is None else _as_stated(found, did)
    if declared is not None and declared.status is not Status.PROPOSED:
        await _keep_own(runtime, begun.peer, declared, is_relayed=True)
    else:
        await runtime.database.transaction(lambda tx: store.note_not_accepted(tx, begun.key, begun.since))
    return True


async def _settle_again(runtime: Runtime, job: jobs.Job) -> None:
    """Raises: PutOff while the registry that keeps the contract does not answer."""
    key = CopyKey(job.payload["peer"], job.payload["contract_id"], job.payload["did"])
    since = await runtime.database.query(lambda tx: store.accepting_since(tx, key))
    peer = await runtime.database.query(lambda tx: federation.peer_by_spiffe_id(tx, key.peer))
    if since is None:
        return
    if peer is None:
        await runtime.database.transaction(lambda tx: store.note_not_accepted(tx, key, since))
    elif not await _settle(runtime, _Accepting(peer, key, since)):
        raise jobs.PutOff("no answer")


def _of(stated: StatedContract, did: str, contract_id: int) -> StatedContract:
    """Raises: ContractorRegistrySilent, where the answer is about another contract."""
    if (stated.provider_did, stated.id) != (did, contract_id):
        raise ContractorRegistrySilent(retry_after=5)
    return stated


def _as_stated(found: ContractOut, did: str) -> StatedContract | None:
    """The contract as a statement; None where the agent is not its provider."""
    if found.provider_did != did:
        return None
    try:
        return StatedContract.model_validate(found.model_dump(mode="json"))
    except ValidationError:
        raise ContractorRegistrySilent(retry_after=5) from None


def _key(peer: federation.PeerRecord, did: str, contract_id: int) -> CopyKey:
    assert peer.spiffe_id is not None
    return CopyKey(peer.spiffe_id, contract_id, did)


ACCEPTANCES_ABROAD = jobs.LeasedKind(
    ACCEPTANCES, _settle_again, retries=jobs.Retries(None, pause_seconds=5.0, pause_max_seconds=600.0)
)
