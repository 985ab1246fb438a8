"""Owner notices: webhooks of owners about their agents and their account. A reactor follows the journal."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hansa.foundation.events import (
    A2APaymentFailed,
    A2APaymentSettled,
    AgentCardPulled,
    AgentDeployed,
    AgentDeploymentFailed,
    AgentOnboarded,
    AgentReinstated,
    AgentRevoked,
    AgentSpawned,
    AgentSuspended,
    AgentVersionActivated,
    AttestationRevoked,
    AttestationVerified,
    BalanceCorrected,
    BondDeposited,
    BondReleased,
    BondReleaseStarted,
    BondSlashed,
    ConnectionEnded,
    ConnectionGranted,
    ContractAccepted,
    ContractCancelled,
    ContractChangesRequested,
    ContractCompleted,
    ContractExpired,
    ContractFailed,
    ContractMilestoneApproved,
    ContractOfPeerMoved,
    ContractOverpaid,
    ContractProposed,
    ContractSubmitted,
    CrossRegistryTransferCompleted,
    DeveloperReinstated,
    DeveloperSuspended,
    DisputeEvidenceAdded,
    DisputeFiled,
    DisputeRuled,
    DisputeVotingOpened,
    Event,
    FlarePurchased,
    LaunchClosed,
    ListingApproved,
    ListingDelisted,
    ListingExpired,
    ListingHalted,
    ListingResumed,
    OrderEnded,
    OrderPlaced,
    OrganizationAgentMoved,
    OrganizationCreated,
    OrganizationMemberInvited,
    OrganizationMemberJoined,
    OrganizationMemberRemoved,
    OrganizationMemberRoleChanged,
    PipelineRunEnded,
    PipelineRunStarted,
    PointsMoved,
    PolicyApplied,
    PolicyScheduled,
    PolicyVetoed,
    ProposalCreated,
    ProposalTallied,
    RevenueDistributed,
    RevenueLevied,
    RewardsAutoCompounded,
    SpendApprovalRequested,
    SupportTicketAnswered,
    SupportTicketMoved,
    SupportTicketOpened,
    TradeExecuted,
    TreasuryRequestApproved,
    TreasuryRequestCreated,
    TreasuryRequestExecuted,
    TreasuryRequestRejected,
    VoteCast,
    WorkOrderAwarded,
    WorkOrderBid,
    WorkOrderBidLost,
    WorkOrderClosed,
    WorkOrderOpened,
)
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents

from .webhooks import WebhookEvent, enqueue_webhook, having_webhooks


def _as_recorded(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return data


def _as_settle_answer(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members of the answer to a settle, with `task_id` and `reason`."""
    tx_id = data.get("tx_id")
    settlement = None if tx_id is None else data.get("transfer_id") or f"tx-{tx_id}"
    return {
        "token_id": data["token_id"],
        "status": "failed" if tx_id is None else "settled",
        "settlement_tx_id": settlement,
        "amount": data["amount"],
        "currency": data["currency"],
        "caller_did": data["caller"],
        "target_agent_did": data["payee"],
        "task_id": data["task_id"],
        "reason": data.get("reason"),
    }


_OF_MOVE = {
    "proposed": WebhookEvent.CONTRACT_PROPOSED,
    "accepted": WebhookEvent.CONTRACT_ACCEPTED,
    "submitted": WebhookEvent.CONTRACT_SUBMITTED,
    "changes_requested": WebhookEvent.CONTRACT_CHANGES_REQUESTED,
    "milestone_approved": WebhookEvent.CONTRACT_MILESTONE_APPROVED,
    "overpaid": WebhookEvent.CONTRACT_OVERPAID,
    "completed": WebhookEvent.CONTRACT_COMPLETED,
    "failed": WebhookEvent.CONTRACT_FAILED,
    "cancelled": WebhookEvent.CONTRACT_CANCELLED,
    "expired": WebhookEvent.CONTRACT_EXPIRED,
    "disputed": WebhookEvent.CONTRACT_DISPUTED,
    "dispute_dismissed": WebhookEvent.CONTRACT_DISPUTE_DISMISSED,
    "closed": WebhookEvent.CONTRACT_CLOSED,
}


def _of_move(data: Mapping[str, Any]) -> WebhookEvent | None:
    return _OF_MOVE.get(data["move"])


def _of_tools(data: Mapping[str, Any]) -> WebhookEvent | None:
    """Tools that differ from those of the last check; the first list changes nothing that anybody knew."""
    former = data.get("former_tools_sha256")
    is_change = former is not None and former != data["tools_sha256"]
    return WebhookEvent.CARD_TOOLS_CHANGED if is_change else None


class Notice(msgspec.Struct, frozen=True):
    """Webhook of an event; `payload` makes the `data` of the webhook of the members of the event."""

    webhook: WebhookEvent | Callable[[Mapping[str, Any]], WebhookEvent | None]
    payload: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _as_recorded

    def webhook_of(self, data: Mapping[str, Any]) -> WebhookEvent | None:
        """Return the webhook event that this event is sent as; None: no owner is notified."""
        return self.webhook if isinstance(self.webhook, WebhookEvent) else self.webhook(data)


# Of a developer's suspension each agent's own event notifies as well.
NOTICES: dict[type[Event], Notice] = {
    AgentOnboarded: Notice(WebhookEvent.AGENT_ONBOARDED),
    AgentSuspended: Notice(WebhookEvent.AGENT_SUSPENDED),
    AgentReinstated: Notice(WebhookEvent.AGENT_REINSTATED),
    AgentRevoked: Notice(WebhookEvent.AGENT_REVOKED),
    AgentVersionActivated: Notice(WebhookEvent.AGENT_VERSION_ACTIVATED),
    AgentDeployed: Notice(WebhookEvent.AGENT_DEPLOYED),
    AgentDeploymentFailed: Notice(WebhookEvent.AGENT_DEPLOYMENT_FAILED),
    AgentSpawned: Notice(WebhookEvent.AGENT_SPAWNED),
    FlarePurchased: Notice(WebhookEvent.FLARE_PURCHASED),
    AgentCardPulled: Notice(_of_tools),
    SpendApprovalRequested: Notice(WebhookEvent.APPROVAL_REQUESTED),
    A2APaymentSettled: Notice(WebhookEvent.PAYMENT_SETTLED, _as_settle_answer),
    A2APaymentFailed: Notice(WebhookEvent.PAYMENT_SETTLEMENT_FAILED, _as_settle_answer),
    CrossRegistryTransferCompleted: Notice(WebhookEvent.CROSSING_COMPLETED),
    BalanceCorrected: Notice(WebhookEvent.BALANCE_CORRECTED),
    RewardsAutoCompounded: Notice(WebhookEvent.REWARDS_AUTO_COMPOUNDED),
    BondDeposited: Notice(WebhookEvent.BOND_DEPOSITED),
    BondReleaseStarted: Notice(WebhookEvent.BOND_RELEASING),
    BondReleased: Notice(WebhookEvent.BOND_RELEASED),
    BondSlashed: Notice(WebhookEvent.BOND_SLASHED),
    ConnectionGranted: Notice(WebhookEvent.CONNECTION_GRANTED),
    ConnectionEnded: Notice(WebhookEvent.CONNECTION_ENDED),
    ContractProposed: Notice(WebhookEvent.CONTRACT_PROPOSED),
    ContractAccepted: Notice(WebhookEvent.CONTRACT_ACCEPTED),
    ContractSubmitted: Notice(WebhookEvent.CONTRACT_SUBMITTED),
    ContractChangesRequested: Notice(WebhookEvent.CONTRACT_CHANGES_REQUESTED),
    ContractMilestoneApproved: Notice(WebhookEvent.CONTRACT_MILESTONE_APPROVED),
    ContractOverpaid: Notice(WebhookEvent.CONTRACT_OVERPAID),
    ContractCompleted: Notice(WebhookEvent.CONTRACT_COMPLETED),
    ContractFailed: Notice(WebhookEvent.CONTRACT_FAILED),
    ContractCancelled: Notice(WebhookEvent.CONTRACT_CANCELLED),
    ContractExpired: Notice(WebhookEvent.CONTRACT_EXPIRED),
    ContractOfPeerMoved: Notice(_of_move),
    DisputeFiled: Notice(WebhookEvent.DISPUTE_FILED),
    DisputeEvidenceAdded: Notice(WebhookEvent.DISPUTE_EVIDENCE_ADDED),
    DisputeVotingOpened: Notice(WebhookEvent.DISPUTE_VOTING_OPENED),
    DisputeRuled: Notice(WebhookEvent.DISPUTE_RULED),
    OrganizationCreated: Notice(WebhookEvent.ORGANIZATION_CREATED),
    OrganizationMemberInvited: Notice(WebhookEvent.ORGANIZATION_MEMBER_INVITED),
    OrganizationMemberJoined: Notice(WebhookEvent.ORGANIZATION_MEMBER_JOINED),
    OrganizationMemberRemoved: Notice(WebhookEvent.ORGANIZATION_MEMBER_REMOVED),
    OrganizationMemberRoleChanged: Notice(WebhookEvent.ORGANIZATION_MEMBER_ROLE_CHANGED),
    OrganizationAgentMoved: Notice(WebhookEvent.ORGANIZATION_AGENT_MOVED),
    TreasuryRequestCreated: Notice(WebhookEvent.TREASURY_REQUEST_CREATED),
    TreasuryRequestApproved: Notice(WebhookEvent.TREASURY_REQUEST_APPROVED),
    TreasuryRequestRejected: Notice(WebhookEvent.TREASURY_REQUEST_REJECTED),
    TreasuryRequestExecuted: Notice(WebhookEvent.TREASURY_REQUEST_EXECUTED),
    WorkOrderOpened: Notice(WebhookEvent.WORK_ORDER_OPENED),
    WorkOrderBid: Notice(WebhookEvent.WORK_ORDER_BID),
    WorkOrderBidLost: Notice(WebhookEvent.WORK_ORDER_BID_LOST),
    WorkOrderAwarded: Notice(WebhookEvent.WORK_ORDER_AWARDED),
    WorkOrderClosed: Notice(WebhookEvent.WORK_ORDER_CLOSED),
    PipelineRunStarted: Notice(WebhookEvent.PIPELINE_RUN_STARTED),
    PipelineRunEnded: Notice(WebhookEvent.PIPELINE_RUN_ENDED),
    AttestationVerified: Notice(WebhookEvent.ATTESTATION_VERIFIED),
    AttestationRevoked: Notice(WebhookEvent.ATTESTATION_REVOKED),
    ListingApproved: Notice(WebhookEvent.EXCHANGE_LISTING_APPROVED),
    LaunchClosed: Notice(WebhookEvent.EXCHANGE_LAUNCH_CLOSED),
    ListingHalted: Notice(WebhookEvent.EXCHANGE_LISTING_HALTED),
    ListingResumed: Notice(WebhookEvent.EXCHANGE_LISTING_RESUMED),
    ListingDelisted: Notice(WebhookEvent.EXCHANGE_LISTING_DELISTED),
    ListingExpired: Notice(WebhookEvent.EXCHANGE_LISTING_EXPIRED),
    OrderPlaced: Notice(WebhookEvent.EXCHANGE_ORDER_PLACED),
    OrderEnded: Notice(WebhookEvent.EXCHANGE_ORDER_ENDED),
    TradeExecuted: Notice(WebhookEvent.EXCHANGE_TRADE_EXECUTED),
    PointsMoved: Notice(WebhookEvent.EXCHANGE_POINTS_MOVED),
    RevenueLevied: Notice(WebhookEvent.EXCHANGE_REVENUE_LEVIED),
    RevenueDistributed: Notice(WebhookEvent.EXCHANGE_REVENUE_DISTRIBUTED),
    ProposalCreated: Notice(WebhookEvent.GOVERNANCE_PROPOSAL_CREATED),
    VoteCast: Notice(WebhookEvent.GOVERNANCE_VOTE_CAST),
    ProposalTallied: Notice(WebhookEvent.GOVERNANCE_PROPOSAL_TALLIED),
    PolicyScheduled: Notice(WebhookEvent.GOVERNANCE_POLICY_SCHEDULED),
    PolicyApplied: Notice(WebhookEvent.GOVERNANCE_POLICY_APPLIED),
    PolicyVetoed: Notice(WebhookEvent.GOVERNANCE_POLICY_VETOED),
    SupportTicketOpened: Notice(WebhookEvent.SUPPORT_TICKET_OPENED),
    SupportTicketAnswered: Notice(WebhookEvent.SUPPORT_TICKET_ANSWERED),
    SupportTicketMoved: Notice(WebhookEvent.SUPPORT_TICKET_MOVED),
    DeveloperSuspended: Notice(WebhookEvent.DEVELOPER_SUSPENDED),
    DeveloperReinstated: Notice(WebhookEvent.DEVELOPER_REINSTATED),
}
# The members of an event that name those who are notified: a developer, or agents whose owners are.
DEVELOPER = "developer_id"
TREASURY = "treasury_did"
PARTIES = (
    "did",
    "account",
    "caller",
    "payee",
    "sender_did",
    "receiver_did",
    "contractor_did",
    "provider_did",
    "complainant_did",
    "defendant_did",
    "treasury_did",
    "proposer_did",
    "voter_did",
)

_BY_NAME = {kind.__name__: notice for kind, notice in NOTICES.items()}


async def _notify_owners(tx: Tx, /, *events: StoredEvent) -> None:
    readers = await agents.readers_of(tx, sorted({did for event in events for did in _parties(event)}))
    concerned = [_developers(event, readers) for event in events]
    # Most owners have no webhooks.
    notified = await having_webhooks(tx, set().union(*concerned))
    for event, developers in zip(events, concerned, strict=True):
        notice = _BY_NAME[event.event_type]
        webhook = notice.webhook_of(event.data)
        if webhook is None:
            continue
        # By id: their webhooks are locked in that order.
        for developer in sorted(developers & notified):
            await enqueue_webhook(tx, developer, webhook, notice.payload(event.data))


def _parties(event: StoredEvent) -> list[str]:
    return [event.data[name] for name in PARTIES if event.data.get(name) is not None]


def _developers(event: StoredEvent, readers: Mapping[str, set[int]]) -> set[int]:
    """The developers to notify, each once: the one who is named, the owners of the parties, the members of an organization."""
    named = event.data.get(DEVELOPER)
    concerned = set() if named is None else {named}
    if named is not None and TREASURY not in event.data:
        return concerned
    return concerned.union(*(readers.get(did, ()) for did in _parties(event)))


OWNER_NOTICES = Reactor(
    "notifications: owner notices", tuple(NOTICES), _notify_owners, together=_notify_owners
)
