"""Store the statements of other registries about a contract, and notify the provider's owner of its moves, in one commit.

Changes that a statement about a contract of another registry makes, without I/O.

A statement is the whole contract with its history. One whose history is the beginning of a longer one that is known is
outdated. Any other replaces the known state: the registry that keeps the contract decides, also after it was restored.
"""

from collections.abc import Sequence
from itertools import takewhile

from hansa.foundation.events import ContractOfPeerMoved
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Forbidden
from hansa.rooms import agents, federation, journal
from hansa.rooms.commerce.contracts.contract import Status
from hansa.rooms.commerce.contracts.errors import ProviderUnknown
from hansa.rooms.commerce.contracts.schemas import ContractMoveOut, ContractOut

from . import store
from .schemas import StatedContract
from .store import Copy, CopyKey, Facts

# The moves that have another name than their act.
_ENDINGS = {
    "marked_failed": "failed",
    "not_submitted": "failed",
    "not_reviewed": "failed",
    "proposal_expired": "expired",
}


class ContractOfAnother(Forbidden):
    """The contractor does not belong to the calling registry, which therefore does not keep the contract."""

    code = "FOREIGN_NAMESPACE"
    sentence = "contractor_did is not in the namespace of the calling registry, which states contracts of its own agents only."


async def require_kept_by(
    tx: Tx, peer: federation.PeerRecord, contract: StatedContract, settings: Settings
) -> None:
    """The contract is one that this peer keeps. Raises: ContractOfAnother."""
    if not await federation.speaks_for(tx, peer, contract.contractor_did, settings):
        raise ContractOfAnother


async def keep_stated(
    runtime: Runtime, peer: federation.PeerRecord, stated: StatedContract, *, is_relayed: bool = False
) -> None:
    """Do the same as `keep`, in a transaction of its own, after the frame was asked whose agent a contractor of this trust domain is.

    Never within a transaction. Raises: ContractOfAnother, ProviderUnknown, federation.FrameUnavailable.
    """
    await federation.learn_holders(runtime, [stated.contractor_did])
    settings = runtime.settings
    await runtime.database.transaction(lambda tx: keep(tx, peer, stated, settings, is_relayed=is_relayed))


async def keep(
    tx: Tx,
    peer: federation.PeerRecord,
    stated: StatedContract,
    settings: Settings,
    *,
    is_relayed: bool = False,
) -> None:
    """Keep the contract as it is stated; an outdated statement changes nothing.

    `is_relayed`: the provider has acted on it through this registry, so that it binds the provider while it is open.

    Raises: ContractOfAnother, ProviderUnknown.
    """
    await require_kept_by(tx, peer, stated, settings)
    if await agents.owner_of(tx, stated.provider_did) is None:
        raise ProviderUnknown(context={"did": stated.provider_did})
    assert peer.spiffe_id is not None
    key = CopyKey(peer.spiffe_id, stated.id, stated.provider_did)
    stored = await store.lock(tx, key)
    if stored is None:
        if await store.add(tx, key, _facts(peer, stated, settings, is_relayed=is_relayed)):
            await _follow(tx, peer, key, None, stated)
            return
        stored = await store.lock(tx, key)
        assert stored is not None, "another transaction added it"
    await _change(tx, peer, key, stored, stated, settings=settings, is_relayed=is_relayed)


async def _change(
    tx: Tx,
    peer: federation.PeerRecord,
    key: CopyKey,
    kept: Copy,
    stated: StatedContract,
    *,
    settings: Settings,
    is_relayed: bool,
) -> None:
    known = None if kept.document is None else ContractOut.model_validate_json(kept.document)
    current = known if known is not None and is_outdated(known, stated) else stated
    was_relayed = kept.is_relayed and (known is None or known.created_at == stated.created_at)
    is_accepted = kept.accepting_since is not None and current.status != Status.PROPOSED
    facts = _facts(peer, current, settings, is_relayed=is_relayed or was_relayed or is_accepted)
    await store.write(tx, key, facts)
    if current is stated:
        await _follow(tx, peer, key, known, stated)


async def _follow(
    tx: Tx,
    peer: federation.PeerRecord,
    key: CopyKey,
    known: ContractOut | None,
    stated: StatedContract,
) -> None:
    assert peer.ledger_id is not None
    await store.forget_others(tx, key)
    moves = [
        ContractOfPeerMoved(
            contract_id=stated.id,
            contractor_did=stated.contractor_did,
            provider_did=stated.provider_did,
            registry=peer.ledger_id,
            move=name_of(line, stated),
            milestone=line.milestone,
        )
        for line in new_moves(known, stated)
    ]
    await journal.append(tx, *moves)


def _facts(
    peer: federation.PeerRecord, contract: ContractOut, settings: Settings, *, is_relayed: bool
) -> Facts:
    assert peer.ledger_id is not None
    registries = {"contractor_registry": peer.ledger_id, "provider_registry": settings.ledger_id}
    return Facts(
        peer.ledger_id,
        contract.contractor_did,
        str(contract.status),
        contract.created_at,
        contract.model_copy(update=registries).model_dump_json(),
        is_relayed,
    )


def is_outdated(known: ContractOut, stated: ContractOut) -> bool:
    """Return whether the known state is a later one of the same contract."""
    common = _common_moves(known, stated)
    return common == len(stated.history) < len(known.history)


def new_moves(known: ContractOut | None, stated: ContractOut) -> Sequence[ContractMoveOut]:
    """The lines of the history that are not known yet, the oldest first."""
    return stated.history[0 if known is None else _common_moves(known, stated) :]


def _common_moves(known: ContractOut, stated: ContractOut) -> int:
    """How many moves both histories begin with; none where the number was given to another contract."""
    if known.created_at != stated.created_at:
        return 0
    pairs = zip(known.history, stated.history, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].model_dump() == pair[1].model_dump(), pairs))


def name_of(line: ContractMoveOut, contract: ContractOut) -> str:
    """The name of a move in events and webhooks, such as `accepted`, `milestone_approved` or `failed`."""
    if line.act == "approved":
        parts = len(contract.milestones)
        return "milestone_approved" if parts and line.milestone != parts - 1 else "completed"
    if line.act == "party_revoked":
        return "failed" if contract.accepted_at else "cancelled"
    return _ENDINGS.get(line.act, line.act)
