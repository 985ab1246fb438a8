"""Contracts: two agents agree on work; it is paid in the commit that approves it."""

from hansa.rooms.commerce.contracts.accept import accept
from hansa.rooms.commerce.contracts.account_end import ACCOUNT_END_OF_CONTRACTS, require_unbound
from hansa.rooms.commerce.contracts.attestation_store import attestations_state
from hansa.rooms.commerce.contracts.contract import Contract, Status
from hansa.rooms.commerce.contracts.cross_registry_payment import end_by_decision, forgotten_part
from hansa.rooms.commerce.contracts.deadlines import CONTRACT_DEADLINES
from hansa.rooms.commerce.contracts.errors import (
    ContractUnknown,
    DeadlinePassed,
    FundedAcross,
    PageLinkInvalid,
    ProviderUnknown,
    SelfContract,
    TermsInvalid,
    TooManyProposals,
    WrongState,
)
from hansa.rooms.commerce.contracts.evidence import read_attested_contract
from hansa.rooms.commerce.contracts.link_routes import router as link_router
from hansa.rooms.commerce.contracts.listing import Listed, find_copy, list_contracts, open_contracts_of
from hansa.rooms.commerce.contracts.page_link import (
    public_contracts_of,
    read_by_ticket,
    read_public_contract,
)
from hansa.rooms.commerce.contracts.payment_reference import DIGITS_MAX, names_of_parts
from hansa.rooms.commerce.contracts.payment_store import (
    is_last_submission_stated,
    overpaid_at,
    paid_by,
    paid_by_transfers,
    rulings_about,
    surplus_of,
)
from hansa.rooms.commerce.contracts.propose import Proposal, propose
from hansa.rooms.commerce.contracts.read_routes import router as read_router
from hansa.rooms.commerce.contracts.reading import (
    ContractShown,
    parties_of,
    read_contract,
    read_contract_as,
    shown,
)
from hansa.rooms.commerce.contracts.records import ContractFilter
from hansa.rooms.commerce.contracts.replicas.stating import CONTRACT_STATEMENTS
from hansa.rooms.commerce.contracts.routes import router
from hansa.rooms.commerce.contracts.rules import require_state
from hansa.rooms.commerce.contracts.schemas import ContractIn, ContractOut, ProxyIn, SubmissionIn
from hansa.rooms.commerce.contracts.store import counts, find
from hansa.rooms.commerce.contracts.suspension import (
    CONTRACTS_FOLLOW,
    CONTRACTS_OF_REVOKED,
    award,
    close,
    dispute,
    held_for,
    restore,
)
from hansa.rooms.commerce.contracts.transitions import require_in_time, take
from hansa.rooms.commerce.contracts.work import submit

__all__ = [
    "ACCOUNT_END_OF_CONTRACTS",
    "CONTRACTS_FOLLOW",
    "CONTRACTS_OF_REVOKED",
    "CONTRACT_DEADLINES",
    "CONTRACT_STATEMENTS",
    "DIGITS_MAX",
    "Contract",
    "ContractFilter",
    "ContractIn",
    "ContractOut",
    "ContractShown",
    "ContractUnknown",
    "DeadlinePassed",
    "FundedAcross",
    "Listed",
    "PageLinkInvalid",
    "Proposal",
    "ProviderUnknown",
    "ProxyIn",
    "SelfContract",
    "Status",
    "SubmissionIn",
    "TermsInvalid",
    "TooManyProposals",
    "WrongState",
    "accept",
    "attestations_state",
    "award",
    "close",
    "counts",
    "dispute",
    "end_by_decision",
    "find",
    "find_copy",
    "forgotten_part",
    "held_for",
    "is_last_submission_stated",
    "link_router",
    "list_contracts",
    "names_of_parts",
    "open_contracts_of",
    "overpaid_at",
    "paid_by",
    "paid_by_transfers",
    "parties_of",
    "propose",
    "public_contracts_of",
    "read_attested_contract",
    "read_by_ticket",
    "read_contract",
    "read_contract_as",
    "read_public_contract",
    "read_router",
    "require_in_time",
    "require_state",
    "require_unbound",
    "restore",
    "router",
    "rulings_about",
    "shown",
    "submit",
    "surplus_of",
    "take",
]
