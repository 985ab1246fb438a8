"""The support in a browser: own tickets of a person, and reports about agents by anybody."""

from . import report_pages, ticket_pages

ROUTERS = (ticket_pages.router, report_pages.router)

__all__ = ["ROUTERS"]
