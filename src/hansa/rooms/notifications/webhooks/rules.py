"""Rules of webhooks: the events that are sent, their receivers, the number of attempts of a delivery."""

from enum import StrEnum
from typing import Literal

import msgspec

WEBHOOKS_MAX = 20
ATTEMPTS_MAX = 8
FAILURES_UNTIL_STOPPED = 20
FORMER_SECRET_HOURS = 24
DELIVERIES_KEPT_DAYS = 30
GONE = 410

# After the first failure, the second, and so on: the eighth and last try comes about a day after the first.
PAUSES_SECONDS = (5, 5 * 60, 30 * 60, 3600, 3 * 3600, 7 * 3600, 12 * 3600)
# Other deliveries to a receiver that fails wait no longer than this.
WEBHOOK_PAUSE_MAX_SECONDS = 15 * 60
# Deliveries that failed together are not all tried again at one moment.
JITTER = 0.1

StoppedBy = Literal["owner", "failures", "gone"]


class WebhookEvent(StrEnum):
    """The event types of webhooks; `*` in a subscription means all of them, including future ones."""

    AGENT_ONBOARDED = "agent.onboarded"
    AGENT_SUSPENDED = "agent.suspended"
    AGENT_REINSTATED = "agent.reinstated"
    AGENT_REVOKED = "agent.revoked"
    AGENT_VERSION_ACTIVATED = "agent.version_activated"
    AGENT_DEPLOYED = "agent.deployed"
    AGENT_DEPLOYMENT_FAILED = "agent.deployment_failed"
    APPROVAL_REQUESTED = "agent.approval_requested"
    BALANCE_CORRECTED = "balance.corrected"
    BOND_DEPOSITED = "bond.deposited"
    BOND_RELEASING = "bond.releasing"
    BOND_RELEASED = "bond.released"
    BOND_SLASHED = "bond.slashed"
    CARD_TOOLS_CHANGED = "card.tools_changed"
    CONNECTION_GRANTED = "connection.granted"
    CONNECTION_ENDED = "connection.ended"
    CROSSING_COMPLETED = "cross_registry_transfer.completed"
    CONTRACT_PROPOSED = "contract.proposed"
    CONTRACT_ACCEPTED = "contract.accepted"
    CONTRACT_SUBMITTED = "contract.submitted"
    CONTRACT_CHANGES_REQUESTED = "contract.changes_requested"
    CONTRACT_MILESTONE_APPROVED = "contract.milestone_approved"
    CONTRACT_OVERPAID = "contract.overpaid"
    CONTRACT_COMPLETED = "contract.completed"
    CONTRACT_FAILED = "contract.failed"
    CONTRACT_CANCELLED = "contract.cancelled"
    CONTRACT_EXPIRED = "contract.expired"
    CONTRACT_DISPUTED = "contract.disputed"
    CONTRACT_DISPUTE_DISMISSED = "contract.dispute_dismissed"
    CONTRACT_CLOSED = "contract.closed"
    DISPUTE_FILED = "dispute.filed"
    DISPUTE_EVIDENCE_ADDED = "dispute.evidence_added"
    DISPUTE_VOTING_OPENED = "dispute.voting_opened"
    DISPUTE_RULED = "dispute.ruled"
    AGENT_SPAWNED = "agent.spawned"
    FLARE_PURCHASED = "flare.purchased"
    DEVELOPER_SUSPENDED = "developer.suspended"
    DEVELOPER_REINSTATED = "developer.reinstated"
    ORGANIZATION_CREATED = "organization.created"
    ORGANIZATION_MEMBER_INVITED = "organization.member_invited"
    ORGANIZATION_MEMBER_JOINED = "organization.member_joined"
    ORGANIZATION_MEMBER_REMOVED = "organization.member_removed"
    ORGANIZATION_MEMBER_ROLE_CHANGED = "organization.member_role_changed"
    ORGANIZATION_AGENT_MOVED = "organization.agent_moved"
    WORK_ORDER_OPENED = "work_order.opened"
    WORK_ORDER_BID = "work_order.bid"
    WORK_ORDER_BID_LOST = "work_order.bid_lost"
    WORK_ORDER_AWARDED = "work_order.awarded"
    WORK_ORDER_CLOSED = "work_order.closed"
    PIPELINE_RUN_STARTED = "pipeline_run.started"
    PIPELINE_RUN_ENDED = "pipeline_run.ended"
    ATTESTATION_VERIFIED = "attestation.verified"
    ATTESTATION_REVOKED = "attestation.revoked"
    EXCHANGE_LISTING_APPROVED = "exchange.listing_approved"
    EXCHANGE_LAUNCH_CLOSED = "exchange.launch_closed"
    EXCHANGE_LISTING_HALTED = "exchange.listing_halted"
    EXCHANGE_LISTING_RESUMED = "exchange.listing_resumed"
    EXCHANGE_LISTING_DELISTED = "exchange.listing_delisted"
    EXCHANGE_LISTING_EXPIRED = "exchange.listing_expired"
    EXCHANGE_ORDER_PLACED = "exchange.order_placed"
    EXCHANGE_ORDER_ENDED = "exchange.order_ended"
    EXCHANGE_TRADE_EXECUTED = "exchange.trade_executed"
    EXCHANGE_POINTS_MOVED = "exchange.points_moved"
    EXCHANGE_REVENUE_LEVIED = "exchange.revenue_levied"
    EXCHANGE_REVENUE_DISTRIBUTED = "exchange.revenue_distributed"
    GOVERNANCE_PROPOSAL_CREATED = "governance.proposal_created"
    GOVERNANCE_VOTE_CAST = "governance.vote_cast"
    GOVERNANCE_PROPOSAL_TALLIED = "governance.proposal_tallied"
    GOVERNANCE_POLICY_SCHEDULED = "governance.policy_scheduled"
    GOVERNANCE_POLICY_APPLIED = "governance.policy_applied"
    GOVERNANCE_POLICY_VETOED = "governance.policy_vetoed"
    SUPPLY_BREACH = "supply.breach"
    PAYMENT_SETTLED = "payment.settled"
    PAYMENT_SETTLEMENT_FAILED = "payment.settlement_failed"
    SUPPORT_TICKET_OPENED = "support_ticket.opened"
    SUPPORT_TICKET_ANSWERED = "support_ticket.answered"
    SUPPORT_TICKET_MOVED = "support_ticket.moved"
    TREASURY_REQUEST_CREATED = "treasury.request_created"
    TREASURY_REQUEST_APPROVED = "treasury.request_approved"
    TREASURY_REQUEST_REJECTED = "treasury.request_rejected"
    TREASURY_REQUEST_EXECUTED = "treasury.request_executed"
    REWARDS_AUTO_COMPOUNDED = "rewards.auto_compounded"
    RETRY_EXHAUSTED = "webhook.retry_exhausted"
    TEST = "webhook.test"


EVERY_EVENT = "*"


class Outcome(msgspec.Struct, frozen=True):
    """How an attempt ended: with a status, or without one because of an error."""

    status: int | None
    error: str | None = None

    @property
    def is_taken(self) -> bool:
        """Return whether the receiver took the delivery."""
        return self.status is not None and 200 <= self.status <= 299  # noqa: PLR2004


def pause_after(event_type: str, attempts: int, jitter: float) -> float | None:
    """Seconds until a delivery that failed `attempts` times is tried again, or None; `jitter` is from -1 to 1."""
    if event_type == WebhookEvent.TEST or attempts >= ATTEMPTS_MAX:
        return None
    return PAUSES_SECONDS[attempts - 1] * (1 + JITTER * jitter)


def webhook_pause_after(consecutive_failures: int) -> float:
    """Seconds for which a receiver that failed so often in a row is left alone."""
    position = min(consecutive_failures, len(PAUSES_SECONDS)) - 1
    return min(PAUSES_SECONDS[position], WEBHOOK_PAUSE_MAX_SECONDS)


def stopped_by(outcome: Outcome, consecutive_failures: int) -> StoppedBy | None:
    """Return the reason that stops a webhook after an attempt with this outcome, the failure counted; None: nothing does."""
    if outcome.status == GONE:
        return "gone"
    return "failures" if consecutive_failures >= FAILURES_UNTIL_STOPPED else None
