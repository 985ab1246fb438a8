"""Connected clients (OAuth): the consent of a person, the list of connections, and the payments that wait for the person."""

from . import approval_pages, authorize_pages, connect_page, connection_pages

ROUTERS = (authorize_pages.router, connection_pages.router, approval_pages.router, connect_page.router)

__all__ = ["ROUTERS"]
