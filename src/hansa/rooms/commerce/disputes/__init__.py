"""Disputes: an agent complains about another, and an administrator rules."""

from hansa.rooms.commerce.bonds import (
    SLASH_BOND,
    BondSlash,
    BondSlashed,
    SlashBond,
)
from hansa.rooms.commerce.disputes.account_end import (
    ACCOUNT_END,
    disputed_of,
    open_disputes_of,
    require_unbound,
)
from hansa.rooms.commerce.disputes.award_routes import award_router
from hansa.rooms.commerce.disputes.bundle import proposal_for, signed_bundle, signed_verdict
from hansa.rooms.commerce.disputes.deciding import DISPUTE_DEADLINES, Ordered, open_voting, rule
from hansa.rooms.commerce.disputes.deposits import OWNER_KIND as DEPOSIT_HOLD
from hansa.rooms.commerce.disputes.dispute import (
    AwardFilter,
    AwardStatus,
    Dispute,
    DisputeFilter,
    DisputeStatus,
)
from hansa.rooms.commerce.disputes.errors import (
    AttestationsTooMany,
    CitedUnknown,
    DisputeUnknown,
    EvidenceClosed,
    TooMuchEvidence,
)
from hansa.rooms.commerce.disputes.filing import add_evidence, file
from hansa.rooms.commerce.disputes.pending_awards import (
    approve_award,
    count_open_decisions,
    list_awards,
    reject_award,
)
from hansa.rooms.commerce.disputes.reading import list_disputes, parties_of_dispute, read_dispute
from hansa.rooms.commerce.disputes.routes import (
    DISPUTE_REFUSALS,
    admin_router,
    malpractice_router,
    router,
)
from hansa.rooms.commerce.disputes.schemas import (
    AwardOut,
    AwardReasonIn,
    BundleOut,
    DisputeIn,
    DisputeOut,
    EvidenceIn,
    RulingIn,
)
from hansa.rooms.commerce.disputes.store import OpenDecisions

__all__ = [
    "ACCOUNT_END",
    "DEPOSIT_HOLD",
    "DISPUTE_DEADLINES",
    "DISPUTE_REFUSALS",
    "SLASH_BOND",
    "AttestationsTooMany",
    "AwardFilter",
    "AwardOut",
    "AwardReasonIn",
    "AwardStatus",
    "BondSlash",
    "BondSlashed",
    "BundleOut",
    "CitedUnknown",
    "Dispute",
    "DisputeFilter",
    "DisputeIn",
    "DisputeOut",
    "DisputeStatus",
    "DisputeUnknown",
    "EvidenceClosed",
    "EvidenceIn",
    "OpenDecisions",
    "Ordered",
    "RulingIn",
    "SlashBond",
    "TooMuchEvidence",
    "add_evidence",
    "admin_router",
    "approve_award",
    "award_router",
    "count_open_decisions",
    "disputed_of",
    "file",
    "list_awards",
    "list_disputes",
    "malpractice_router",
    "open_disputes_of",
    "open_voting",
    "parties_of_dispute",
    "proposal_for",
    "read_dispute",
    "reject_award",
    "require_unbound",
    "router",
    "rule",
    "signed_bundle",
    "signed_verdict",
]
