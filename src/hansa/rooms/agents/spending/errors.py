"""Why a spend policy or an approval refuses."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class OverPaymentLimit(Forbidden):
    """The amount is more than the agent may pay at once."""

    code = "SPEND_OVER_PER_TX_MAX"
    sentence = "The amount is more than the agent's owner lets it pay at once."


class OverDayLimit(Forbidden):
    """The amount is more than what is left of what the agent may pay today (UTC)."""

    code = "SPEND_OVER_PER_DAY_MAX"
    sentence = "The amount is more than what is left of what the agent's owner lets it pay today (UTC)."


class PayeeNotAllowed(Forbidden):
    """The agent's owner lets it pay others only."""

    code = "SPEND_PAYEE_NOT_ALLOWED"
    sentence = "The agent's owner does not let it pay this receiver."


class ApprovalUnknown(NotFound):
    """No approval of this agent has that id."""

    code = "SPEND_APPROVAL_UNKNOWN"
    sentence = "No spend approval of this agent has that id."


class ApprovalUnusable(Conflict):
    """The approval is pending, denied, expired or used already; the context names its status."""

    code = "SPEND_APPROVAL_UNUSABLE"


class ApprovalForAnother(Forbidden):
    """The approval was given for another receiver or another amount."""

    code = "SPEND_APPROVAL_FOR_ANOTHER"
    sentence = "The spend approval was given for another receiver or another amount."


class ApprovalDecided(Conflict):
    """The approval is decided or expired already; the context names its status."""

    code = "SPEND_APPROVAL_DECIDED"


class ApprovalsPending(Conflict):
    """The owner has as many payments of this agent to decide on as it may have."""

    code = "SPEND_APPROVALS_PENDING"
