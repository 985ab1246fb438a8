"""Contracts as evidence: the part of a countersigned contract that never changes, and its digest.

Contracts belong to a room above, which fills `ATTESTED_CONTRACT`.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any, TypeAlias

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .errors import ContractNoProof, NoContractProof
from .records import Authorization


class AttestedContract(msgspec.Struct, frozen=True):
    """The immutable subset of a contract, and in one sentence why it is no evidence; None where it is."""

    subset: Mapping[str, Any]
    problem: str | None


ReadAttestedContract: TypeAlias = Callable[[Tx, int], Awaitable[AttestedContract | None]]
ATTESTED_CONTRACT: Slot[ReadAttestedContract] = Slot("federation: a contract as evidence of an authorization")


class ContractProof(msgspec.Struct, frozen=True):
    """The proof of a contract that an authorization references."""

    contract_id: int
    contract: AttestedContract
    digest: bytes
    authorization: Authorization


def contract_digest(subset: Mapping[str, Any]) -> bytes:
    """SHA-256 of the subset: keys sorted at every level, no blanks, non-ASCII escaped."""
    text = json.dumps(subset, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode("ascii")).digest()


def problem_of(contract: AttestedContract | None, authorization: Authorization) -> str | None:
    """Why the contract is not the evidence that was recorded, in one sentence; None where it is."""
    if contract is None:
        return "The contract does not exist any more."
    if contract.problem is None and contract_digest(contract.subset) != authorization.contract_digest:
        return "The contract is not the one whose digest was recorded."
    return contract.problem


async def prove_contract(tx: Tx, contract_id: int, read_contract: ReadAttestedContract) -> ContractProof:
    """The proof of a contract. Raises: NoContractProof, ContractNoProof."""
    authorizations = await store.referencing(tx, contract_id)
    if not authorizations:
        raise NoContractProof
    contract = await read_contract(tx, contract_id)
    problem = problem_of(contract, authorizations[0])
    if contract is None or problem is not None:
        raise ContractNoProof(problem, context={"contract_id": contract_id, "problem": problem})
    return ContractProof(contract_id, contract, contract_digest(contract.subset), authorizations[0])
