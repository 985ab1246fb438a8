"""Events in sentences: `TokensTransferred` is "Lingua paid Redpen 1 AVT".

A template names members of an event's data between braces: a DID is shown as an agent with its name, an amount with its currency.
`static/event_rows.js` writes the rows of new events with the same templates.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

SENTENCES: Mapping[str, str] = {
    "A2APaymentSettled": "{caller} paid {payee} {amount} for a call",
    "AgentCardPulled": "The card of {did} was fetched from its host",
    "AgentKeyRotated": "{did} has a new signing key",
    "AgentMtlsEnrolled": "{did} has a workload identity",
    "AgentMtlsRevoked": "{did} lost its workload identity",
    "AgentOnboarded": "{did} was registered",
    "AgentReinstated": "{did} was reinstated",
    "AgentRevoked": "{did} ended",
    "AgentSecretRotated": "{did} has a new client secret",
    "AgentStatusChanged": "{did} is {status}, after {previous_status}",
    "AgentSuspended": "{did} was suspended",
    "AgentVersionActivated": "{did} runs version {version}",
    "BalanceCorrected": "An administrator corrected the balance of {account}: {direction} of {amount}",
    "BondDeposited": "{did} deposited {amount} as its bond",
    "BondReleaseStarted": "{did} began to release its bond of {amount}",
    "BondReleased": "The bond of {did}, {amount}, is liquid again",
    "BondSlashed": "{amount} of the bond of {did} were destroyed",
    "BookChanged": "The book of {ref} changed up to number {seq}",
    "ContractCompleted": "{contractor_did} paid {provider_did} {amount} for contract {contract_id}",
    "CrossRegistryTransferCompleted": "{sender_did} paid {receiver_did} {amount} between registries",
    "DeveloperReinstated": "A developer was reinstated",
    "DeveloperSuspended": "A developer was suspended",
    "DisputeCompensationMinted": "{did} received {amount} by a ruling",
    "DisputeCompensationRefused": "A compensation for {complainant_did} was refused at the other registry",
    "DisputeRuled": "A dispute of {complainant_did} with {defendant_did} was ruled",
    "DisputeSlash": "{amount} of {did} were destroyed by a ruling",
    "EventEmissionPolicyUpdated": "The publication of {event_type} was changed",
    "FederationLicenseIssued": "{trust_domain} received a licence",
    "FederationLicenseReinstated": "The licence of {trust_domain} was reinstated",
    "FederationLicenseRevoked": "The licence of {trust_domain} was revoked",
    "FederationLicenseSuspended": "The licence of {trust_domain} was suspended",
    "LedgerBalanceChanged": "Accounts changed with transaction {tx_id}",
    "LaunchClosed": "The launch of {ref} ended: {sold} points were sold at {price}",
    "ListingApproved": "The listing {ref} of {treasury_did} was approved",
    "ListingDelisted": "The listing {ref} was delisted: {reason}",
    "ListingExpired": "The term of the listing {ref} ended",
    "ListingHalted": "Trade of {ref} was halted: {reason}",
    "ListingResumed": "Trade of {ref} goes on: {reason}",
    "OrderEnded": "The order {order_id} of {did} at {ref} ended ({because}), {remaining} points of it not filled",
    "OrderPlaced": "{did} placed an order to {side} {qty} points of {ref}",
    "OrganizationAgentMoved": "{did} has another owner",
    "OrganizationCreated": "The organization {slug} was created with the treasury {treasury_did}",
    "PointsMoved": "{qty} points of {ref} left {from}",
    "PeerRegistryDeactivated": "{registry_name} is no peer any more",
    "PolicyApplied": "The change of proposal {proposal_id} has taken effect",
    "PolicyReset": "The setting {name} was given back to the environment: {before} becomes {after}",
    "PolicyScheduled": "The change of proposal {proposal_id} is to take effect",
    "PolicyVetoed": "Proposal {proposal_id} is not carried out",
    "ProjectionSnapshot": "A baseline of the balances was written",
    "ProposalCreated": "{proposer_did} proposed: {title}",
    "ProposalTallied": "The vote on proposal {proposal_id} ended: {status}",
    "RegistryFederated": "{registry_name} became a peer",
    "RegistryQuarantined": "{registry_name} was quarantined",
    "RevenueDistributed": "Each point of {ref} was given {per_point}",
    "RevenueLevied": "{taken} of {due} due was levied for the points of {ref}; arrears are {arrears}",
    "RewardsAutoCompounded": "{amount} that stakes of {account} earned were added to them",
    "RewardsDistributed": "{to} received {amount} for its stakes",
    "SupplyInvariantBreach": "The audit found a breach of the supply",
    "TokensDestroyed": "{amount} were destroyed",
    "TokensIssued": "{amount} were issued to {to}",
    "TokensStaked": "{account} staked {amount}",
    "TokensTransferred": "{from} paid {to} {amount}",
    "TokensUnstaked": "{account} released a stake of {amount}",
    "TradeExecuted": "{buyer} bought {qty} points of {ref} from {seller} at {price}",
    "TransactionFeeCollected": "{payer} paid a fee of {fee}",
    "UnitsUnwrapped": "{sender_did} returned {amount} over the bridge to {receiver_did}",
    "UnitsWrapped": "{sender_did} sent {amount} over the bridge to {receiver_did}",
    "VoteCast": "{voter_did} voted {vote} on proposal {proposal_id}",
    "WorkOrderAwarded": "{treasury_did} awarded work for {amount} to {provider_did}",
    "WorkOrderClosed": "A work order of {treasury_did} ended: {reason}",
    "WorkOrderOpened": "{treasury_did} offers work for at most {amount}: {title}",
}
PRIVATE_SENTENCES: Mapping[str, str] = {
    "A2APaymentFailed": "The payment of {amount} by {caller} to {payee} failed",
    "AgentActTokenIssued": "The owner acted as {did} on a page",
    "AgentVersionActivated": "{did} runs version {version}",
    "AgentWalletBound": "The wallet {address} was bound to {did}",
    "AgentWalletUnbound": "The wallet {address} was unbound from {did}",
    "ContractAccepted": "{provider_did} accepted contract {contract_id} of {contractor_did}",
    "ContractCancelled": "{contractor_did} withdrew contract {contract_id}",
    "ContractChangesRequested": "{contractor_did} requested changes of contract {contract_id}",
    "ContractExpired": "Contract {contract_id} of {contractor_did} was not accepted in time",
    "ContractFailed": "Contract {contract_id} of {contractor_did} failed",
    "ContractMilestoneApproved": "{contractor_did} paid {provider_did} {amount} for a milestone of contract {contract_id}",
    "ContractOfPeerMoved": "Contract {contract_id} of {contractor_did}, kept at {registry}, moved",
    "ContractOverpaid": "{contractor_did} paid {provider_did} {amount} too much for contract {contract_id}",
    "ContractProposed": "{contractor_did} proposed contract {contract_id} of {amount}",
    "ContractSubmitted": "{provider_did} submitted work for contract {contract_id}",
    "DisputeEvidenceAdded": "{by} added evidence in a dispute of {complainant_did} with {defendant_did}",
    "DisputeFiled": "{complainant_did} filed a dispute with {defendant_did}",
    "DisputeVotingOpened": "A dispute of {complainant_did} with {defendant_did} waits for a ruling",
    "OrganizationMemberInvited": "Somebody was invited to the organization of {treasury_did}",
    "OrganizationMemberJoined": "A member joined the organization of {treasury_did}",
    "OrganizationMemberRemoved": "A member left the organization of {treasury_did}",
    "OrganizationMemberRoleChanged": "A member of the organization of {treasury_did} has another role",
    "AgentSpawned": "{did} spawned {child_did} with {funding} {currency}",
    "FlarePurchased": "{did} bought the flare {variant} for {price} {currency}",
    "SpendApprovalRequested": "{did} asked its owner to approve {amount} to {receiver}",
    "TreasuryRequestApproved": "A request of {treasury_did} was approved by a member",
    "TreasuryRequestCreated": "A member made a request of {treasury_did}",
    "TreasuryRequestExecuted": "A request of {treasury_did} was carried out",
    "TreasuryRequestRejected": "A request of {treasury_did} was rejected",
    "AttestationRevoked": "An attestation of {did} by the circuit {circuit_id} was revoked",
    "AttestationVerified": "A proof of {did} for the circuit {circuit_id} was verified",
    "PipelineRunEnded": "A run of a pipeline of {did} is {status}; it spent {spent}",
    "PipelineRunStarted": "A run of a pipeline of {did} started with a budget of {budget}",
    "WorkOrderBid": "{provider_did} bid {amount} for work of {treasury_did}; the bid is {status}",
    "WorkOrderBidLost": "A bid of {provider_did} lost: the work order was {reason}",
}
"""Sentences of events that only their parties see."""
MOVEMENTS: Mapping[str, str] = {
    "capture": "{account} took part in the payment of {amount} from a hold",
    "expire": "{amount} that {account} had set aside are liquid again",
    "grant": "{account} received {amount} from the registry",
    "hold": "{account} set {amount} aside",
    "in": "{account} received {amount} from another registry",
    "launch": "{account} took part in a launch of points with {amount}",
    "out": "{account} sent {amount} to another registry",
    "release": "{amount} that {account} had set aside are liquid again",
    "return": "{amount} came back to {account} from another registry",
    "trade": "{account} took part in a trade of points with {amount}",
}
"""Transactions of which the ledger alone records an event, by their type."""
ENTRIES_OF_THE_LEDGER = ("LedgerBalanceChanged", "ProjectionSnapshot", "TransactionFeeCollected")
"""Events that repeat others in the form of the ledger; the list shows them on request."""
AMOUNTS = frozenset({"amount", "fee"})

_MEMBER = re.compile(r"\{(\w+)\}")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Piece(msgspec.Struct, frozen=True):
    """Part of a sentence: `text`, `value` (of the event), `party` (a DID), `amount` or `contract` (its number)."""

    kind: str
    text: str


def title_of(event_type: str) -> str:
    """The type in words: `TokensTransferred` is `Tokens Transferred`."""
    return _WORDS.sub(" ", event_type)


def sentence_of(event_type: str, subject: str, data: Mapping[str, Any]) -> list[Piece]:
    """The sentence of an event; of a type without one, or without its members, its title and its subject."""
    template = SENTENCES.get(event_type) or PRIVATE_SENTENCES.get(event_type, "")
    if not template or any(_text_of(data, member) is None for member in _MEMBER.findall(template)):
        return [Piece("text", f"{title_of(event_type)}: "), Piece("party", subject)]
    return list(_pieces(template, data))


def sentence_of_movement(data: Mapping[str, Any], own: Collection[str]) -> list[Piece] | None:
    """The sentence of a transaction of the ledger for the owner of these accounts, from the data of its `LedgerBalanceChanged`.

    None where its type has none, or no entry is of such an account.
    """
    entries = [entry for entry in data["entries"] if entry["account"] in own]
    entry = next((one for one in entries if one["bucket"] == "liquid"), next(iter(entries), None))
    template = MOVEMENTS.get(data["tx_type"])
    if template is None or entry is None:
        return None
    amount = str(entry["delta"]).removeprefix("-")
    return list(
        _pieces(template, {"account": entry["account"], "amount": amount, "currency": data["currency"]})
    )


def _pieces(template: str, data: Mapping[str, Any]) -> Iterator[Piece]:
    end = 0
    for found in _MEMBER.finditer(template):
        if found.start() > end:
            yield Piece("text", template[end : found.start()])
        member, text, end = found[1], _text_of(data, found[1]), found.end()
        assert text is not None
        if member in AMOUNTS:
            yield Piece("amount", f"{text} {data.get('currency') or ''}".strip())
        elif member == "contract_id":
            yield Piece("contract", text)
        else:
            yield Piece("party" if text.startswith("did:") else "value", text)
    if end < len(template):
        yield Piece("text", template[end:])


def _text_of(data: Mapping[str, Any], member: str) -> str | None:
    value = data.get(member)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
