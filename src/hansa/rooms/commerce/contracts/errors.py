"""Why an act on a contract is refused."""

from hansa.foundation.values.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refused,
    Unauthorized,
)


class ContractUnknown(NotFound):
    """No contract has this id, or the caller is not one of its parties."""

    code = "CONTRACT_UNKNOWN"
    sentence = "There is no contract with this id that you may read."


class PageLinkInvalid(Unauthorized):
    """The ticket in the link has expired, was changed, or belongs to another contract."""

    code = "PAGE_LINK_INVALID"
    sentence = "This link has expired or is invalid; a party can request a new one."
    remedy = "Request a new link at POST /contracts/{contract_id}/page-link as a party to the contract."


class PaymentUnderWay(Conflict):
    """The approved part is being paid to another registry; the contract is not changed before that is decided."""

    code = "PAYMENT_UNDER_WAY"
    sentence = "A payment of this contract to another registry is under way; retry when it is decided."
    remedy = "Read GET /contracts/{contract_id} until its status changes or payment_tx_id is null."


class ProviderUnknown(NotFound):
    """No active agent of this registry has the provider's DID, and no active peer speaks for it."""

    code = "PROVIDER_UNKNOWN"
    sentence = (
        "No active agent of this registry has the DID of the provider, and no active peer speaks for it."
    )


class SelfContract(BadRequest):
    """Contractor and provider are the same agent."""

    code = "OWN_CONTRACT"
    sentence = "An agent cannot make a contract with itself."


class WrongParty(Forbidden):
    """The other party of the contract does this."""

    code = "WRONG_PARTY"
    sentence = "Only the other party of the contract may do this."


class TermsInvalid(Invalid):
    """The terms of a proposal contradict each other."""

    code = "CONTRACT_TERMS_INVALID"


class WrongState(Conflict):
    """The contract is not in a state in which this can be done."""

    code = "CONTRACT_WRONG_STATE"


class DeadlinePassed(Conflict):
    """A deadline of the contract has passed; its consequence is being carried out."""

    code = "CONTRACT_DEADLINE_PASSED"
    sentence = "A deadline of the contract has passed; read the contract for its new state."


class MilestoneNotNext(Conflict):
    """Milestones are submitted and approved one by one, in order."""

    code = "MILESTONE_NOT_NEXT"


class ContractUnfunded(Conflict):
    """The contractor's balance does not cover the amount and its fee; the proposal stays open."""

    code = "CONTRACT_UNFUNDED"
    sentence = "The contractor's balance does not cover the amount and its fee; the proposal stays open."


class FundedAcross(Invalid):
    """Units are held only for a provider of this registry."""

    code = "FUNDED_ACROSS"
    sentence = "A funded contract needs a provider of the contractor's own registry."
    remedy = "Propose the contract without `funded`."


class TooManyProposals(Conflict):
    """The agent has as many open proposals as one agent may."""

    code = "TOO_MANY_PROPOSALS"
    sentence = "This agent has too many open proposals; cancel some first."


class TooManyAccepted(Conflict):
    """The provider has as many accepted open, funded proposals under way as one agent may."""

    code = "TOO_MANY_ACCEPTED"
    sentence = "This agent has accepted too many open, funded proposals that are under way."
    remedy = "Complete or end one of them first."


class TooManySubmissions(Conflict):
    """The work of this contract was submitted as often as it may be."""

    code = "TOO_MANY_SUBMISSIONS"
    sentence = "The work of this contract was submitted too often."


class PaymentNeedsApproval(Forbidden):
    """The owner of the contractor has to approve this payment first; repeat the request with `approval_id`."""

    code = "APPROVAL_REQUIRED"
    sentence = "The owner of this agent has to approve the payment; repeat the request with approval_id."


class AgentHasContracts(Conflict):
    """Open contracts bind the agent; it cannot end before they do."""

    code = "AGENT_HAS_CONTRACTS"
    sentence = "Open contracts bind this agent; cancel its proposals and complete or end its contracts first."


class BondRequired(Forbidden):
    """The provider has no active bond, which the registry or the proposal requires, nor the record that the proposal states."""

    code = "BOND_REQUIRED"
    sentence = "A provider needs an active reputation bond, or the record that the proposal states, to accept this contract."
    remedy = (
        "Deposit a bond at POST /agents/{did}/reputation-bond/deposit, then accept again. A record has the verified jobs, and the"
        " fees that the context states."
    )


class RelatedParty(Forbidden):
    """The provider and the contractor have the same owner, or owners that are affiliated."""

    code = "RELATED_PARTY"
    sentence = "An agent with the same owner, or with an affiliated one, cannot be the provider of this work."


class TokenForFunded(Invalid):
    """A funded contract is paid from its hold, not by a payment token."""

    code = "TOKEN_FOR_FUNDED_CONTRACT"
    sentence = "A funded contract is paid from its hold: send no payment_token."


ACT_REFUSALS: tuple[type[Refused], ...] = (
    WrongParty,
    ContractUnknown,
    WrongState,
    PaymentUnderWay,
    DeadlinePassed,
)
"""Refusals of every act on a contract."""
