"""Why a spend policy or an approval refuses."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class OverPaymentLimit(Forbidden):
    """The amount exceeds the agent's limit per transaction."""

    code = "SPEND_OVER_PER_TX_MAX"
    sentence = "The amount exceeds the limit per transaction that the agent's owner set."
    remedy = "Pay a smaller amount, or ask the owner to change the spend policy."


class OverDayLimit(Forbidden):
    """The amount exceeds the rest of the agent's daily limit (UTC)."""

    code = "SPEND_OVER_PER_DAY_MAX"
    sentence = "The amount exceeds the rest of the daily limit (UTC) that the agent's owner set."
    remedy = "Wait until midnight UTC, pay a smaller amount, or ask the owner to change the spend policy."


class PayeeNotAllowed(Forbidden):
    """The receiver is not in the agent's list of allowed payees."""

    code = "SPEND_PAYEE_NOT_ALLOWED"
    sentence = "The receiver is not in the list of payees that the agent's owner allowed."
    remedy = "Ask the owner to add the payee to the spend policy."


class ApprovalUnknown(NotFound):
    """No spend approval of this agent has this id."""

    code = "SPEND_APPROVAL_UNKNOWN"
    sentence = "No spend approval of this agent has this id."


class ApprovalUnusable(Conflict):
    """The approval is pending, denied, expired or already used; the context names its status."""

    code = "SPEND_APPROVAL_UNUSABLE"


class ApprovalForAnother(Forbidden):
    """The approval is for a different receiver or amount."""

    code = "SPEND_APPROVAL_FOR_ANOTHER"
    sentence = "The spend approval is for a different receiver or amount."


class ApprovalDecided(Conflict):
    """The approval is already decided or expired; the context names its status."""

    code = "SPEND_APPROVAL_DECIDED"


class ApprovalInBrowser(Forbidden):
    """The payment was requested by a connected client; its owner decides on it in the browser alone."""

    code = "SPEND_APPROVAL_IN_BROWSER"
    sentence = (
        "The owner decides on payments of a connected client in the browser, not by an API key or a token."
    )
    remedy = "Log in to the console and open /account/approvals/<approval_id>."


class ApprovalsPending(Conflict):
    """The agent has the maximum number of pending spend approvals."""

    code = "SPEND_APPROVALS_PENDING"
