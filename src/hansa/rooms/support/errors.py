"""Refusals of the support."""

from hansa.foundation.values.errors import Conflict, NotFound, QuotaReached

from .rules import HOURLY_MAX, OPEN_MAX, REOPEN_DAYS, THREAD_MAX


class TicketUnknown(NotFound):
    """There is no ticket with this id, or it is another account's."""

    code = "TICKET_UNKNOWN"
    sentence = "Your account has no ticket with this id."


class RelatedUnknown(NotFound):
    """The thing that the ticket names does not exist, or the account has no part in it."""

    code = "RELATED_UNKNOWN"
    sentence = "The account has no part in anything with this type and id."
    remedy = "Name a contract, dispute, payment token or transaction of an own agent, or an own organization; or leave `related` out."


class TicketState(Conflict):
    """The state of the ticket does not allow this."""

    code = "TICKET_STATE"
    remedy = "Read the ticket. A resolved or closed ticket takes messages again once it is open; otherwise open another one."


class ReopenTooLate(TicketState):
    """The ticket closed too long ago."""

    sentence = f"The ticket closed more than {REOPEN_DAYS} days ago."
    remedy = "Open another ticket, and name the number of this one in it."


class ReportUnanswerable(TicketState):
    """A report about an agent has no author to read an answer."""

    sentence = "A report has no author: it takes internal notes, and no answers."
    remedy = "Write an internal note."


class AssigneeUnknown(NotFound):
    """No administrator of the support has this number."""

    code = "ASSIGNEE_UNKNOWN"
    sentence = "No administrator of the area admin_support has this number."
    remedy = "Name an administrator who has the area admin_support."


class OpenTicketsReached(QuotaReached):
    """The account has the maximum number of open tickets."""

    sentence = f"An account has at most {OPEN_MAX} open tickets."
    remedy = "Close a ticket that is done, or write a message in one that is open."


class HourlyReached(QuotaReached):
    """The account has written the maximum number of messages, or opened that of tickets, in the last hour."""

    sentence = (
        f"An account writes at most {HOURLY_MAX} messages, and opens at most {HOURLY_MAX} tickets, an hour."
    )
    remedy = "Send the message after the time in the Retry-After header."


class ThreadFull(QuotaReached):
    """The ticket has the maximum number of messages or notes."""

    sentence = f"A ticket has at most {THREAD_MAX} messages, and as many internal notes."
    remedy = "Close the ticket and open another one, which names its number."
