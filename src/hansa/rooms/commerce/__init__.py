"""Commerce: paid calls by payment tokens, contracts of two agents, disputes."""

from hansa.rooms.commerce.bonds import BOND_ADMITS
from hansa.rooms.commerce.contracts import (
    Contract,
    ContractOut,
    ContractShown,
    ContractUnknown,
    PageLinkInvalid,
    open_contracts_of,
    public_contracts_of,
    read_by_ticket,
    read_public_contract,
)
from hansa.rooms.commerce.descriptor import ROOM
from hansa.rooms.commerce.disputes import SLASH_BOND, BondSlash, BondSlashed, SlashBond, open_disputes_of
from hansa.rooms.commerce.payments import SIGNATORY, ReceiptUnknown, signed_receipt

__all__ = [
    "BOND_ADMITS",
    "ROOM",
    "SIGNATORY",
    "SLASH_BOND",
    "BondSlash",
    "BondSlashed",
    "Contract",
    "ContractOut",
    "ContractShown",
    "ContractUnknown",
    "PageLinkInvalid",
    "ReceiptUnknown",
    "SlashBond",
    "open_contracts_of",
    "open_disputes_of",
    "public_contracts_of",
    "read_by_ticket",
    "read_public_contract",
    "signed_receipt",
]
