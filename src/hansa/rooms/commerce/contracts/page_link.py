"""Access to the page of a contract: everyone for an attestation contract, its parties by a link.

The ticket of a link is sealed, not stored. It names the party and its end; whether the agent is still a party is read with
the contract.
"""

import base64
import binascii
import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.storage.database import Tx

from . import rules, store
from .contract import Contract
from .errors import ContractUnknown, PageLinkInvalid
from .reading import ContractShown, shown

LINK_LIFETIME = timedelta(hours=24)
_END = struct.Struct(">q")


class PageLink(msgspec.Struct, frozen=True):
    """Link that opens the page of a contract until `expires_at`."""

    contract_id: int
    ticket: str
    expires_at: datetime


async def issue_page_link(tx: Tx, seal: Seal, did: str, contract_id: int) -> PageLink:
    """A link for a party. Raises: ContractUnknown, also where the agent is no party."""
    contract = await store.find(tx, contract_id)
    if contract is None or did not in contract.parties:
        raise ContractUnknown
    ends = int((contract.now + LINK_LIFETIME).timestamp())
    sealed = seal.close(_END.pack(ends) + did.encode(), _purpose(contract_id))
    ticket = base64.urlsafe_b64encode(sealed).decode().rstrip("=")
    return PageLink(contract_id, ticket, datetime.fromtimestamp(ends, UTC))


async def read_by_ticket(tx: Tx, seal: Seal, contract_id: int, ticket: str) -> ContractShown:
    """The contract, for the party that a ticket names. Raises: PageLinkInvalid."""
    contract = await store.find(tx, contract_id)
    if contract is None or not _admits(seal, contract, ticket):
        raise PageLinkInvalid
    return await shown(tx, contract)


async def read_public_contract(tx: Tx, contract_id: int) -> ContractShown:
    """An attestation contract. Raises: ContractUnknown, for every other one."""
    contract = await store.find(tx, contract_id)
    if contract is None or contract.contract_type != rules.ATTESTATION:
        raise ContractUnknown
    return await shown(tx, contract)


async def public_contracts_of(tx: Tx, did: str, limit: int) -> Sequence[Contract]:
    """The newest attestation contracts of an agent."""
    return await store.attestations_of(tx, did, limit)


def _admits(seal: Seal, contract: Contract, ticket: str) -> bool:
    try:
        sealed = base64.b64decode(ticket + "=" * (-len(ticket) % 4), altchars=b"-_", validate=True)
        opened = seal.open(sealed, _purpose(contract.id))
    except (binascii.Error, ValueError, BadSeal):
        return False
    (ends,) = _END.unpack_from(opened)
    did = opened[_END.size :].decode()
    return contract.now.timestamp() < ends and did in contract.parties


def _purpose(contract_id: int) -> str:
    return f"page of contract {contract_id}"
