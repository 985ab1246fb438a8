"""Contracts: two agents agree on work; it is paid in the commit that approves it."""

from hansa.rooms.commerce.contracts.accept import accept, bonded_holds
from hansa.rooms.commerce.contracts.account_end import ACCOUNT_END_OF_CONTRACTS, require_unbound
from hansa.rooms.commerce.contracts.approve import Approval, approve
from hansa.rooms.commerce.contracts.attestation_store import attestations_state
from hansa.rooms.commerce.contracts.awarding import OfferedWork, award_work, require_bidder
from hansa.rooms.commerce.contracts.contract import Contract, Milestone, Status
from hansa.rooms.commerce.contracts.cross_registry_payment import end_by_decision, forgotten_part
from hansa.rooms.commerce.contracts.deadlines import CONTRACT_DEADLINES
from hansa.rooms.commerce.contracts.ending import cancel, mark_failed
from hansa.rooms.commerce.contracts.errors import (
    ACT_REFUSALS,
    BondRequired,
    ContractUnknown,
    DeadlinePassed,
    FundedAcross,
    MilestoneNotNext,
    PageLinkInvalid,
    ProviderUnknown,
    RelatedParty,
    SelfContract,
    TermsInvalid,
    TokenForFunded,
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
    history_of,
    parties_of,
    read_contract,
    read_contract_as,
)
from hansa.rooms.commerce.contracts.records import ContractFilter
from hansa.rooms.commerce.contracts.replicas.stating import CONTRACT_STATEMENTS
from hansa.rooms.commerce.contracts.routes import router
from hansa.rooms.commerce.contracts.rules import MILESTONES_MAX, require_state
from hansa.rooms.commerce.contracts.schemas import (
    ApprovalIn,
    ContractIn,
    ContractOut,
    NoteIn,
    ProxyIn,
    ReasonIn,
    SubmissionIn,
)
from hansa.rooms.commerce.contracts.store import counts, find, statuses_of
from hansa.rooms.commerce.contracts.suspension import (
    CONTRACTS_FOLLOW,
    CONTRACTS_OF_REVOKED,
    award,
    close,
    dispute,
    held_for,
    restore,
)
from hansa.rooms.commerce.contracts.term_rules import scaled
from hansa.rooms.commerce.contracts.transitions import require_in_time, take
from hansa.rooms.commerce.contracts.window import dispute_window
from hansa.rooms.commerce.contracts.work import request_changes, submit

__all__ = [
    "ACCOUNT_END_OF_CONTRACTS",
    "ACT_REFUSALS",
    "CONTRACTS_FOLLOW",
    "CONTRACTS_OF_REVOKED",
    "CONTRACT_DEADLINES",
    "CONTRACT_STATEMENTS",
    "DIGITS_MAX",
    "MILESTONES_MAX",
    "Approval",
    "ApprovalIn",
    "BondRequired",
    "Contract",
    "ContractFilter",
    "ContractIn",
    "ContractOut",
    "ContractShown",
    "ContractUnknown",
    "DeadlinePassed",
    "FundedAcross",
    "Listed",
    "Milestone",
    "MilestoneNotNext",
    "NoteIn",
    "OfferedWork",
    "PageLinkInvalid",
    "Proposal",
    "ProviderUnknown",
    "ProxyIn",
    "ReasonIn",
    "RelatedParty",
    "SelfContract",
    "Status",
    "SubmissionIn",
    "TermsInvalid",
    "TokenForFunded",
    "TooManyProposals",
    "WrongState",
    "accept",
    "approve",
    "attestations_state",
    "award",
    "award_work",
    "bonded_holds",
    "cancel",
    "close",
    "counts",
    "dispute",
    "dispute_window",
    "end_by_decision",
    "find",
    "find_copy",
    "forgotten_part",
    "held_for",
    "history_of",
    "is_last_submission_stated",
    "link_router",
    "list_contracts",
    "mark_failed",
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
    "request_changes",
    "require_bidder",
    "require_in_time",
    "require_state",
    "require_unbound",
    "restore",
    "router",
    "rulings_about",
    "scaled",
    "statuses_of",
    "submit",
    "surplus_of",
    "take",
]
