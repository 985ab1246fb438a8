"""Account statements: an agent's own transactions, and the published fees."""

from .reading import as_csv, latest_counterparties, lines_of, newest_lines
from .records import Line, StatementFilter
from .routes import CSV, router, statement_answer
from .schemas import Statement, StatementQuery

__all__ = [
    "CSV",
    "Line",
    "Statement",
    "StatementFilter",
    "StatementQuery",
    "as_csv",
    "latest_counterparties",
    "lines_of",
    "newest_lines",
    "router",
    "statement_answer",
]
