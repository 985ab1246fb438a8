"""Account statements: an agent's own transactions, and the published fees."""

from .reading import as_csv, latest_counterparties, lines_of, newest_lines
from .records import Line, StatementFilter
from .routes import router

__all__ = ["Line", "StatementFilter", "as_csv", "latest_counterparties", "lines_of", "newest_lines", "router"]
