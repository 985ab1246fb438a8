"""Support: tickets of developers, reports about agents, and the work of administrators on them."""

from .acting import close, reopen, write_message
from .admin_schemas import NOBODY, SupportAnswerIn, SupportCasesQuery, SupportTicketChangesIn
from .administering import answer_ticket, change_ticket, list_cases, read_case, write_note
from .closing import close_resolved
from .descriptor import ROOM
from .errors import TicketUnknown
from .opening import open_ticket, report_agent
from .reading import list_tickets, read_ticket
from .records import Case, Changes, Status, Thread, Ticket, TicketFilter, Waiting
from .routes import REPORTS
from .rules import BY_SUPPORT, OPEN_MAX, is_live
from .schemas import AgentReportIn, SupportMessageIn, SupportTicketIn
from .waiting import count_waiting, show_waiting

__all__ = [
    "BY_SUPPORT",
    "NOBODY",
    "OPEN_MAX",
    "REPORTS",
    "ROOM",
    "AgentReportIn",
    "Case",
    "Changes",
    "Status",
    "SupportAnswerIn",
    "SupportCasesQuery",
    "SupportMessageIn",
    "SupportTicketChangesIn",
    "SupportTicketIn",
    "Thread",
    "Ticket",
    "TicketFilter",
    "TicketUnknown",
    "Waiting",
    "answer_ticket",
    "change_ticket",
    "close",
    "close_resolved",
    "count_waiting",
    "is_live",
    "list_cases",
    "list_tickets",
    "open_ticket",
    "read_case",
    "read_ticket",
    "reopen",
    "report_agent",
    "show_waiting",
    "write_message",
    "write_note",
]
