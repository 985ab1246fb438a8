"""Lists of contracts: those of this registry, and of an agent's own also those that other registries keep."""

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .contract import UNDER_WAY, Contract
from .reading import ContractShown
from .records import ContractFilter
from .replicas import store as copies
from .replicas.binding import count_binding_abroad
from .schemas import ContractOut


class Listed(msgspec.Struct, frozen=True):
    """A contract, and the ledger id of the registry that keeps it; None: this one."""

    contract: ContractOut
    keeper: str | None


async def list_contracts(tx: Tx, filters: ContractFilter, settings: Settings) -> tuple[list[Listed], int]:
    """A page of contracts, newest first, and how many there are in all."""
    found, total, abroad = await store.page(tx, filters)
    if not abroad or not _has_copies(filters):
        return await _shown(tx, found, settings), total
    entries = await copies.page(tx, filters)
    missing = [entry.contract_id for entry in entries if entry.document is None]
    own = {one.contract.id: one for one in await _shown(tx, await store.find_all(tx, missing), settings)}
    listed = [
        own[entry.contract_id]
        if entry.document is None
        else Listed(ContractOut.model_validate_json(entry.document), entry.frame)
        for entry in entries
    ]
    return listed, total + abroad


async def open_contracts_of(tx: Tx, did: str) -> int:
    """How many contracts an agent is a party to, here or at a peer, that are under way or after their failure may still be disputed."""
    abroad = await count_binding_abroad(tx, [did], UNDER_WAY)
    return await store.count_open(tx, did) + abroad.get(did, 0)


async def find_copy(tx: Tx, keeper: str, contract_id: int, provider_did: str) -> ContractOut | None:
    """The copy of a contract that the registry with this ledger id keeps; None where there is none."""
    document = await copies.find_document(tx, keeper, contract_id, provider_did)
    return None if document is None else ContractOut.model_validate_json(document)


def _has_copies(filters: ContractFilter) -> bool:
    """Copies are listed for their provider and for administrators who ask for its contracts."""
    is_own = filters.of is not None and filters.reader in {None, filters.of}
    return is_own and not filters.is_open and filters.role != "contractor"


async def _shown(tx: Tx, found: list[Contract], settings: Settings) -> list[Listed]:
    histories = await store.history(tx, [contract.id for contract in found])
    return [
        Listed(ContractOut.of(ContractShown(one, histories[one.id]), settings.ledger_id), None)
        for one in found
    ]
